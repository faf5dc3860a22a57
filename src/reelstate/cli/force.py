"""`reel force`: say what a job is, whatever it was."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from reelstate.cli.operations import JobChoice, operate
from reelstate.cli.options import AsJson, Database, JobId, RequiredReason
from reelstate.core.machine import JobStatus


class Target(StrEnum):
    """What a job may be forced to be."""

    PENDING = "pending"
    FAILED = "failed"
    COMPLETED = "completed"


def force(
    job_id: JobId,
    status: Annotated[
        Target, typer.Argument(metavar="STATUS", help="pending, failed or completed: what it is from now on.")
    ],
    reason: RequiredReason,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Set a job to pending, failed or completed, whatever it was. Tasks that run are stopped.

    Example: `reel force 244813922304 completed --reason "finished by hand"`
    """
    operate(
        database,
        JobChoice([job_id]),
        lambda engine, operation: engine.force_many(operation, JobStatus(status)),
        reason=reason,
        done=f"is now {status}",
        as_json=as_json,
    )
