"""`reel quarantine`: quarantine jobs."""

from reelstate.cli.operations import Change, operation_with_reason
from reelstate.engine import Engine


@operation_with_reason
def quarantine() -> Change:
    """Quarantine jobs: they do not run until an operator retries or cancels them.

    Example: `reel quarantine 244813922304 --reason "its source is damaged"`
    """
    return Change(Engine.quarantine_many, "quarantined")
