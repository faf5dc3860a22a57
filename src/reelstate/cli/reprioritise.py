"""`reel reprioritise`: set the priority of jobs."""

from __future__ import annotations

from reelstate.cli.operations import JobChoice, operate
from reelstate.cli.options import AsJson, Database, Expected, JobIds, OfPipeline, OfStatus, OfUser, Priority, Reason


def reprioritise(
    priority: Priority,
    job_ids: JobIds = None,
    reason: Reason = None,
    status: OfStatus = None,
    pipeline: OfPipeline = None,
    user: OfUser = None,
    expect: Expected = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Set the priority of jobs and of their present and later tasks.

    Example: `reel reprioritise 244813922304 --priority high --reason "live tonight"`
    """
    operate(
        database,
        JobChoice(job_ids, status, pipeline, user, expect),
        lambda engine, operation: engine.reprioritise_many(operation, priority),
        reason=reason,
        done=f"priority is now {priority}",
        as_json=as_json,
    )
