"""PgQueuer on asyncpg and uvloop, all tables durable."""

import asyncio
import json
import time
from importlib.metadata import version

import asyncpg
from pgqueuer import QueueManager
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.engine.stopwatch import Stopwatch, batches
from bench.engine.system import BATCH, IDLE, EventLoop, System, payload

ENTRYPOINT = "noop"


class PgQueuer:
    """Lists of 1,000 in, `run(batch_size=500)` out."""

    event_loop: EventLoop = "uvloop"
    settings = "asyncpg, uvloop, durable, enqueue lists of 1,000, run(batch_size=500), pool of 4"

    def versions(self) -> dict[str, str]:
        return {name: version(name) for name in ("pgqueuer", "asyncpg", "uvloop")}

    async def prepare(self, url: str) -> None:
        self._pool = await asyncpg.create_pool(url, min_size=4, max_size=4)
        self._queries = Queries(AsyncpgPoolDriver(self._pool))
        await self._queries.install()

    async def submit_simple(self, count: int) -> float:
        started = time.perf_counter()
        for numbers in batches(count, BATCH):
            payloads: list[bytes | None] = [json.dumps(payload(n)).encode() for n in numbers]
            size = len(payloads)
            await self._queries.enqueue([ENTRYPOINT] * size, payloads, [0] * size)
        return count / (time.perf_counter() - started)

    async def drain_simple(self, count: int) -> float:
        watch = Stopwatch(count)
        manager = QueueManager(Queries(AsyncpgPoolDriver(self._pool)))
        all_handled = asyncio.Event()

        @manager.entrypoint(ENTRYPOINT)
        async def noop(_: Job) -> None:
            if watch.handle():
                all_handled.set()

        run = asyncio.create_task(manager.run(batch_size=500))
        await all_handled.wait()
        manager.shutdown.set()  # writes what is buffered at once instead of after a while
        rate = await self._rate_when_empty(watch)
        await run
        return rate

    async def dispatch(self, count: int) -> list[float]:
        manager = QueueManager(Queries(AsyncpgPoolDriver(self._pool)))
        started: asyncio.Queue[float] = asyncio.Queue()

        @manager.entrypoint(ENTRYPOINT)
        async def noop(_: Job) -> None:
            started.put_nowait(time.perf_counter())

        run = asyncio.create_task(manager.run(batch_size=10))
        await asyncio.sleep(1)  # there is no signal that it listens
        seconds = [await self._dispatched(started) for _ in range(count)]
        manager.shutdown.set()
        await run
        return seconds

    async def _dispatched(self, started: asyncio.Queue[float]) -> float:
        await asyncio.sleep(IDLE)
        enqueued = time.perf_counter()
        await self._queries.enqueue(ENTRYPOINT, json.dumps(payload(0)).encode(), 0)
        return await started.get() - enqueued

    async def _rate_when_empty(self, watch: Stopwatch) -> float:
        while await self._pool.fetchval("SELECT EXISTS (SELECT FROM pgqueuer)"):  # noqa: ASYNC110 - rows can't be awaited
            await asyncio.sleep(0.001)
        return watch.rate()

    async def close(self) -> None:
        await self._pool.close()


system: type[System] = PgQueuer
