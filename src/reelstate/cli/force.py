"""`reel force`: set the status of a job."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from reelstate.cli.operations import Change, JobOptions, operate
from reelstate.cli.options import AsJson, Database, JobId, RequiredReason
from reelstate.core.machine import JobStatus


class Target(StrEnum):
    """The statuses that a job can be forced to."""

    PENDING = "pending"
    FAILED = "failed"
    COMPLETED = "completed"


def force(
    job_id: JobId,
    status: Annotated[Target, typer.Argument(metavar="STATUS", help="The new status: pending, failed or completed.")],
    reason: RequiredReason,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Set a job to pending, failed or completed, and stop its running tasks.

    Example: `reel force 244813922304 completed --reason "finished manually"`
    """
    operate(
        JobOptions([job_id], reason, database=database, as_json=as_json),
        Change(lambda engine, jobs: engine.force_many(jobs, JobStatus(status)), f"is now {status}"),
    )
