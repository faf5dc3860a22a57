"""The pipeline of the worker processes: its tasks do nothing."""

from reelstate import Pipeline, Run

noop = Pipeline("noop")


@noop.stage()
async def run(_: Run) -> None:
    """Do nothing."""
