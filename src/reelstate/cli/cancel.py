"""`reel cancel`: cancel jobs."""

from __future__ import annotations

from reelstate.cli.operations import JobChoice, operate
from reelstate.cli.options import AsJson, Database, Expected, JobIds, OfPipeline, OfStatus, OfUser, Reason


def cancel(
    job_ids: JobIds = None,
    reason: Reason = None,
    status: OfStatus = None,
    pipeline: OfPipeline = None,
    user: OfUser = None,
    expect: Expected = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Cancel jobs and stop their running tasks.

    Example: `reel cancel 244813922304 --reason "wrong file"`
    """
    operate(
        database,
        JobChoice(job_ids, status, pipeline, user, expect),
        lambda engine, operation: engine.cancel_many(operation),
        reason=reason,
        done="cancelled",
        as_json=as_json,
    )
