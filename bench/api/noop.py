"""A pipeline whose tasks do nothing: only the transport is measured."""

import reelstate as rs

noop = rs.Pipeline("noop")


@noop.stage(each="spec.parts")
async def nothing(task: rs.Run) -> int:
    return task.part
