"""A pipeline whose tasks do nothing: what is left is the way there and back."""

import reelstate as rs

noop = rs.Pipeline("noop")


@noop.stage(each="spec.parts")
async def nothing(task: rs.Run) -> int:
    return task.part
