"""The time to replay the states of many tasks."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from reelstate.app import open_engine
from reelstate.core.model import Progress, TaskState
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.feed.subscriber import FeedMessage, MessageKind

GRAPH = Graph.of("bench", [StageSpec(name="work", each="spec.parts")])
PARTS = 8
SAID = 500
"""States of a task in one report."""
T = TypeVar("T")


async def measure(url: str, count: int) -> dict[str, float]:
    """Return the seconds of a full replay: from the states of a stage, and from the feed of its job."""
    async with open_engine(url, migrate=True, pipelines=[GRAPH]) as engine:
        job_id = await fill(engine, count)
        async with await engine.state_manager(f"{job_id}.work") as monitor:
            by_manager = await replayed(monitor.subscribe(after="0"), count)
        return {"manager": by_manager, "feed": await replayed(engine.subscribe(job_id, only=["state"]), count)}


async def fill(engine: Engine, count: int) -> int:
    """Create a job whose tasks have reported this many states."""
    job_id = (await engine.submit("bench", {"parts": PARTS})).job_id
    worker = await engine.register("bench", hostname="bench", software="bench", slots=PARTS)
    tasks = (await engine.claim(worker, PARTS)).tasks
    for first in range(0, count // PARTS, SAID):
        numbers = range(first + 1, min(first + SAID, count // PARTS) + 1)
        states = tuple(TaskState(tag=f"tag-{number % 5}", number=number, status=number) for number in numbers)
        await engine.report(worker, [Progress(key=task.key, token=task.token, states=states) for task in tasks])
    return job_id


async def replayed(messages: AsyncGenerator[FeedMessage[T], None], count: int) -> float:
    began, found = time.perf_counter(), 0
    async with asyncio.timeout(300), aclosing(messages):
        async for message in messages:
            found += message.kind is MessageKind.ITEM
            if message.kind is MessageKind.REPLAY_COMPLETE:
                break
    if found != count // PARTS * PARTS:
        raise AssertionError(f"{found} of {count} states were replayed")
    return time.perf_counter() - began
