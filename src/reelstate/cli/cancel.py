"""`reel cancel`: end jobs for good."""

from __future__ import annotations

from reelstate.cli.operations import operate
from reelstate.cli.options import AsJson, Database, JobIds, Reason


def cancel(job_ids: JobIds, reason: Reason = None, database: Database = None, as_json: AsJson = False) -> None:
    """End jobs for good; tasks that run are stopped.

    Example: `reel cancel 244813922304 --reason "wrong film"`
    """
    operate(
        database,
        job_ids,
        lambda engine, operation: engine.cancel_many(operation),
        reason=reason,
        done="cancelled",
        as_json=as_json,
    )
