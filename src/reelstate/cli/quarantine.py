"""`reel quarantine`: put jobs aside."""

from __future__ import annotations

from reelstate.cli.operations import operate
from reelstate.cli.options import AsJson, Database, JobIds, RequiredReason


def quarantine(job_ids: JobIds, reason: RequiredReason, database: Database = None, as_json: AsJson = False) -> None:
    """Put jobs aside: nothing automatic touches them until somebody retries or cancels them.

    Example: `reel quarantine 244813922304 --reason "its source is damaged"`
    """
    operate(
        database,
        job_ids,
        lambda engine, operation: engine.quarantine_many(operation),
        reason=reason,
        done="quarantined",
        as_json=as_json,
    )
