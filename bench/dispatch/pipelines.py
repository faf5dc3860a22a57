"""What the worker processes run: nothing, as fast as they can."""

from reelstate import Pipeline, Run

noop = Pipeline("noop")


@noop.stage()
async def run(_: Run) -> None:
    """Done."""
