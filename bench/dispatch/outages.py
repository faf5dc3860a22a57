"""Outages of Redis in hybrid mode: the start latency while it is unreachable, and the time until it is used again."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from reelstate import Pipeline, Run
from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.dispatch.redis import RedisDispatch
from reelstate.engine import Engine
from tests.redis_server import RedisServer

POLL = 1.0
FAULTS: dict[str, tuple[Callable[[RedisServer], None], Callable[[RedisServer], None]]] = {
    "killed": (RedisServer.stop, RedisServer.start),
    "frozen": (RedisServer.freeze, RedisServer.thaw),
}
"""The faults of Redis: how each begins and how it ends."""


@dataclass(frozen=True)
class Outage:
    """The times of one outage, in seconds."""

    fault: str
    first: float
    """From the submit of the first job after the fault to its start."""
    later: float
    """The same for a job that is submitted after the outage was detected."""
    back: float
    """From the moment when Redis is reachable again to its use."""


async def outage(fault: str, database: str, redis: RedisServer) -> Outage:
    """Measure one outage with a worker and a client in separate engines."""
    starts: asyncio.Queue[float] = asyncio.Queue()
    pipeline = Pipeline("timed")

    @pipeline.stage()
    async def run(_: Run) -> None:
        starts.put_nowait(time.perf_counter())

    async def start_of_one(client: Engine) -> float:
        began = time.perf_counter()
        await client.submit("timed")
        return await starts.get() - began

    go, come = FAULTS[fault]
    with TemporaryDirectory() as folder:
        prefix = f"bench-{os.urandom(4).hex()}"
        options = {"dispatch": "hybrid", "redis_url": redis.url, "redis_prefix": prefix, "storage_url": folder}
        settings = Settings(database_url=database, poll=POLL, **options)  # type: ignore[arg-type]
        async with (
            open_engine(database, migrate=True, pipelines=[pipeline], settings=settings, workers=1),
            open_engine(database, migrate=True, pipelines=[pipeline], settings=settings) as client,
        ):
            await start_of_one(client)
            await asyncio.to_thread(go, redis)
            first, later = await start_of_one(client), await start_of_one(client)
            await asyncio.to_thread(come, redis)
            returned = time.perf_counter()
            await _until_used(client)
            return Outage(fault, first, later, time.perf_counter() - returned)


async def _until_used(engine: Engine) -> None:
    assert isinstance(engine.dispatch, RedisDispatch)
    async with asyncio.timeout(120):
        while not engine.dispatch.redis.breaker.is_closed:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.01)
