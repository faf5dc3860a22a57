"""Oban for Python, the open-source package, on psycopg and uvloop. It needs Python 3.12."""

import asyncio
import time
from importlib.metadata import version
from typing import Any

from oban import Oban as ObanInstance
from oban import schema, worker

from bench.engine.stopwatch import Stopwatch, batches
from bench.engine.system import BATCH, IDLE, EventLoop, System, payload

LIMIT = 50
UNFINISHED = "SELECT EXISTS (SELECT FROM oban_jobs WHERE state <> 'completed')"
handled: asyncio.Queue[float] = asyncio.Queue()
watch = Stopwatch(0)


@worker(queue="default")
class Noop:
    new: Any

    async def process(self, _: Any) -> None:
        if watch.handle():
            handled.put_nowait(time.perf_counter())


@worker(queue="default")
class Start:
    new: Any

    async def process(self, _: Any) -> None:
        handled.put_nowait(time.perf_counter())


class Oban:
    """`enqueue_many` of 1,000 in, a queue with a limit of 50 out."""

    event_loop: EventLoop = "uvloop"
    settings = f"psycopg, uvloop, enqueue_many of 1,000, queue limit {LIMIT}, pool of 10"

    def versions(self) -> dict[str, str]:
        return {name: version(name) for name in ("oban", "psycopg", "uvloop")}

    async def prepare(self, url: str) -> None:
        self._pool = await ObanInstance.create_pool(url, min_size=10, max_size=10)
        await schema.install(self._pool)
        self._client = ObanInstance(pool=self._pool)

    async def submit_simple(self, count: int) -> float:
        started = time.perf_counter()
        for numbers in batches(count, BATCH):
            await self._client.enqueue_many([Noop.new(payload(number)) for number in numbers])
        return count / (time.perf_counter() - started)

    async def drain_simple(self, count: int) -> float:
        watch.expected, watch.handled = count, 0
        async with ObanInstance(pool=self._pool, queues={"default": LIMIT}):
            await handled.get()
            return await self._rate_when_finished()

    async def dispatch(self, count: int) -> list[float]:
        async with ObanInstance(pool=self._pool, queues={"default": LIMIT}) as server:
            await asyncio.sleep(1)  # there is no signal that it listens
            return [await self._dispatched(server) for _ in range(count)]

    async def _dispatched(self, server: ObanInstance) -> float:
        await asyncio.sleep(IDLE)
        enqueued = time.perf_counter()
        await server.enqueue(Start.new(payload(0)))
        return await handled.get() - enqueued

    async def _rate_when_finished(self) -> float:
        async with self._pool.connection() as connection:
            while (await (await connection.execute(UNFINISHED)).fetchone())[0]:  # noqa: ASYNC110 - rows can't be awaited
                await asyncio.sleep(0.001)
        return watch.rate()

    async def close(self) -> None:
        await self._pool.close()


system: type[System] = Oban
