"""The latency from commit to subscriber: another process writes, this one subscribes."""

import asyncio
import json
import statistics
import sys
import time
from contextlib import aclosing

from reelstate.app import open_engine
from reelstate.core.model import Event
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.core.state import State
from reelstate.feed.subscriber import MessageKind
from reelstate.services.feed import FeedItem

GRAPH = Graph.of("bench", [StageSpec(name="work")])
TIMEOUT = 300.0


async def measure(url: str, dispatch: str, count: int) -> dict[str, float]:
    """Return the milliseconds from the answer to a commit until a subscriber has received it."""
    arrived: dict[str, float] = {}
    async with (
        open_engine(url, migrate=True, dispatch=dispatch, pipelines=[GRAPH]) as engine,
        asyncio.timeout(TIMEOUT),
    ):
        async with aclosing(engine.subscribe(only=["job", "state"])) as messages:
            assert (await anext(messages)).kind is MessageKind.REPLAY_COMPLETE
            writing = asyncio.create_task(written(url, dispatch, count))
            async for message in messages:
                if (name := named(message.item)) is not None:
                    arrived[name] = time.time()
                if len(arrived) == count:
                    break
        committed = await writing
    seconds = [max(0.0, arrived[name] - at) for name, at in committed.items()]
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return {"p50": 1000 * cuts[49], "p95": 1000 * cuts[94], "p99": 1000 * cuts[98]}


def named(item: FeedItem | None) -> str | None:
    """Return the name that the writer gave to an item."""
    if isinstance(item, State):
        return f"state {item.version}"
    return f"job {item.job_id}" if isinstance(item, Event) and item.version == 1 else None


async def written(url: str, dispatch: str, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.states.writer", url, dispatch, str(count)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return dict(map(json.loads, output.splitlines()))
