"""`reel quarantine`: quarantine jobs."""

from __future__ import annotations

from reelstate.cli.operations import JobChoice, operate
from reelstate.cli.options import AsJson, Database, Expected, JobIds, OfPipeline, OfStatus, OfUser, RequiredReason


def quarantine(
    reason: RequiredReason,
    job_ids: JobIds = None,
    status: OfStatus = None,
    pipeline: OfPipeline = None,
    user: OfUser = None,
    expect: Expected = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Quarantine jobs: they do not run until an operator retries or cancels them.

    Example: `reel quarantine 244813922304 --reason "its source is damaged"`
    """
    operate(
        database,
        JobChoice(job_ids, status, pipeline, user, expect),
        lambda engine, operation: engine.quarantine_many(operation),
        reason=reason,
        done="quarantined",
        as_json=as_json,
    )
