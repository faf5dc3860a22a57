"""Procrastinate on psycopg."""

import time
from importlib.metadata import version

import procrastinate

from bench.engine.stopwatch import Stopwatch, batches
from bench.engine.system import BATCH, EventLoop, System, payload


class Procrastinate:
    """`batch_defer_async` of 1,000 in, a worker of concurrency 50 out."""

    event_loop: EventLoop = "uvloop"
    settings = "psycopg, uvloop, batch_defer_async of 1,000, concurrency 50, pool of 10"

    def versions(self) -> dict[str, str]:
        return {name: version(name) for name in ("procrastinate", "psycopg")}

    async def prepare(self, url: str) -> None:
        connector = procrastinate.PsycopgConnector(conninfo=url, min_size=10, max_size=10)
        self._app = procrastinate.App(connector=connector)
        self._noop = self._app.task(name="noop")(self._handle)
        await self._app.open_async()
        await self._app.schema_manager.apply_schema_async()

    async def _handle(self, **_: str | int) -> None:
        self._watch.handle()

    async def submit_simple(self, count: int) -> float:
        started = time.perf_counter()
        for numbers in batches(count, BATCH):
            await self._noop.batch_defer_async(*[payload(number) for number in numbers])
        return count / (time.perf_counter() - started)

    async def drain_simple(self, count: int) -> float:
        self._watch = Stopwatch(count)
        await self._app.run_worker_async(concurrency=50, wait=False, install_signal_handlers=False)
        return self._watch.rate()

    async def close(self) -> None:
        await self._app.close_async()


system: type[System] = Procrastinate
