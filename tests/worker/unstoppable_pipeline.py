"""A pipeline whose handler ignores cancellation."""

import asyncio
import contextlib
import time

import reelstate as rs
from tests.waiting import forever

unstoppable = rs.Pipeline("unstoppable")


@unstoppable.stage
async def step(task: rs.Run) -> None:
    task.log("started")
    if task.spec == "thread":
        await asyncio.to_thread(time.sleep, 1000)
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await forever()
