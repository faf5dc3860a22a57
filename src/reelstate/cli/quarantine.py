"""`reel quarantine`: quarantine jobs."""

from reelstate.cli.operations import Change, operation_with_reason


@operation_with_reason
def quarantine() -> Change:
    """Quarantine jobs: they do not run until an operator retries or cancels them.

    Example: `reel quarantine 244813922304 --reason "its source is damaged"`
    """
    return Change(lambda engine, jobs: engine.quarantine_many(jobs), "quarantined")
