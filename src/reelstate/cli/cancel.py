"""`reel cancel`: cancel jobs."""

from reelstate.cli.operations import Change, operation


@operation
def cancel() -> Change:
    """Cancel jobs and stop their running tasks.

    Example: `reel cancel 244813922304 --reason "wrong file"`
    """
    return Change(lambda engine, jobs: engine.cancel_many(jobs), "cancelled")
