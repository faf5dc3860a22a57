"""Handlers that do not stop, for workers that are told to."""

import asyncio
import contextlib
import time

import reelstate as rs

stubborn = rs.Pipeline("stubborn")


@stubborn.stage
async def step(task: rs.Run) -> None:
    task.log("here")
    if task.spec == "thread":
        await asyncio.to_thread(time.sleep, 1000)
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(1000)
