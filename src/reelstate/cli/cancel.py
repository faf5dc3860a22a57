"""`reel cancel`: cancel jobs."""

from reelstate.cli.operations import Change, operation
from reelstate.core.machine import ACTIVE_JOBS


@operation
def cancel() -> Change:
    """Cancel jobs and stop their running tasks.

    Example: `reel cancel 244813922304 --reason "wrong file"`

    Example: `reel cancel --group nightly-2026-11-19 --expect 12`
    """
    return Change(lambda engine, jobs: engine.cancel_many(jobs), "cancelled", ACTIVE_JOBS)
