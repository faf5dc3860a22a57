"""`reel reprioritise`: set the priority of jobs."""

from reelstate.cli.operations import Change, operation
from reelstate.cli.options import Priority


@operation
def reprioritise(priority: Priority) -> Change:
    """Set the priority of jobs and of their present and later tasks.

    Example: `reel reprioritise 244813922304 --priority high --reason "live tonight"`
    """
    return Change(lambda engine, jobs: engine.reprioritise_many(jobs, priority), f"priority is now {priority}")
