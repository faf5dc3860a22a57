"""The engine itself, on PostgreSQL or SQLite by the URL it is given.

Everything measured goes through the engine's public verbs: submit, claim, complete. Nothing here
may touch its tables, except `fill_history`, which writes finished work in bulk before the clock runs.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

from psycopg import AsyncConnection, pq

from bench.engine.stopwatch import Stopwatch, batches
from bench.engine.system import BATCH, IDLE, EventLoop, HistorySystem, payload
from reelstate.app import open_engine, worker_for
from reelstate.cli.process import freeze_garbage
from reelstate.config import Settings
from reelstate.core.model import Completion, Submission, Verdict
from reelstate.core.month import Month
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.pipelines.declaration import Handler, Pipeline
from reelstate.worker.run import Run

TABLES = ("jobs", "stages", "tasks", "events")
CLAIM = 500
CHAINS = 4
"""Batches under way at once in one process: one is claimed while others complete."""
SIMPLE = Graph.of("simple", [StageSpec(name="main")])
PARTITIONED = Graph.of("partitioned", [StageSpec(name="part", each="spec.parts")])


class Ours:
    """One engine; with several claimers, one engine (and so one connection at a time) each."""

    event_loop: EventLoop = "uvloop"
    settings = "the engine's verbs, psycopg, uvloop, submit by 1,000, claim and complete by 500, 4 batches under way"

    def versions(self) -> dict[str, str]:
        return {"reelstate": version("reelstate"), "psycopg": f"{version('psycopg')} ({pq.__impl__})"}

    async def prepare(self, url: str) -> None:
        self._url = url
        self._stack = AsyncExitStack()
        self._engine = await self._connect()

    async def _connect(self) -> Engine:
        return await self._stack.enter_async_context(
            open_engine(self._url, migrate=True, pipelines=[SIMPLE, PARTITIONED])
        )

    async def submit_simple(self, count: int) -> float:
        started = time.perf_counter()
        for numbers in batches(count, BATCH):
            await self._engine.submit_many(
                [Submission(pipeline=SIMPLE.name, spec=payload(number)) for number in numbers]
            )
        return count / (time.perf_counter() - started)

    async def drain_simple(self, count: int) -> float:
        return await self._drain(count, [self._engine] * CHAINS, await _registered(self._engine))

    async def submit_partitioned(self, count: int) -> float:
        started = time.perf_counter()
        await self._engine.submit(PARTITIONED.name, {"parts": count})
        return count / (time.perf_counter() - started)

    async def drain_partitioned(self, count: int) -> float:
        return await self._drain(count, [self._engine] * CHAINS, await _registered(self._engine))

    async def drain_by_claimers(self, count: int, claimers: int) -> float:
        engines = [self._engine, *[await self._connect() for _ in range(claimers - 1)]]
        return await self._drain(count, engines, None)

    async def drain_by_worker(self, count: int) -> float:
        watch = Stopwatch(count)

        async def noop(_: Run) -> None:
            watch.handle()

        async with self._working(PARTITIONED.name, "part", noop, concurrency=50):
            job = (await self._engine.jobs(limit=1)).items[0]
            await self._engine.wait(job.id)
            return watch.rate()

    async def dispatch(self, count: int) -> list[float]:
        started: asyncio.Queue[float] = asyncio.Queue()

        async def noop(_: Run) -> None:
            started.put_nowait(time.perf_counter())

        async with self._working(SIMPLE.name, "main", noop, concurrency=10):
            return [await _dispatched(self._engine, started) for _ in range(count)]

    @asynccontextmanager
    async def _working(self, name: str, stage: str, handler: Handler, concurrency: int) -> AsyncIterator[None]:
        """Run a worker like that of `reel worker` in this process."""
        pipeline = Pipeline(name)
        pipeline.stage(name=stage, each="spec.parts" if stage == "part" else None)(handler)
        settings = Settings(database_url=self._url, worker_name="bench", worker_concurrency=concurrency)
        worker = worker_for(self._engine, [pipeline], settings)
        freeze_garbage()
        running = asyncio.create_task(worker.run())
        await worker.registered.wait()
        try:
            yield
        finally:
            worker.stop()
            await running

    async def fill_history(self, count: int) -> None:
        """Create tasks that were finished long ago: their rows are vacuumed and written to disk."""
        while count > 0:
            part = min(count, 100_000)
            await self.submit_partitioned(part)
            await self.drain_partitioned(part)
            count -= part
        async with await AsyncConnection.connect(self._url, autocommit=True) as connection:
            await connection.execute("VACUUM (ANALYZE) " + ", ".join(f"reelstate.{table}" for table in TABLES))
            await connection.execute("CHECKPOINT")

    async def prepare_months(self, months: Iterable[Month]) -> None:
        """Create months of the archive."""
        await self._engine.store.archive.prepare(months)

    async def _drain(self, count: int, engines: list[Engine], worker: int | None) -> float:
        workers = [worker or await _registered(engine) for engine in engines]
        started = time.perf_counter()
        chains = [_run_until_empty(engine, worker) for engine, worker in zip(engines, workers, strict=True)]
        done = sum(await asyncio.gather(*chains))
        rate = count / (time.perf_counter() - started)
        if done != count:
            raise RuntimeError(f"completed {done} tasks, expected {count}")
        return rate

    async def close(self) -> None:
        await self._stack.aclose()


async def _registered(engine: Engine) -> int:
    return await engine.register("bench", hostname="localhost", software="bench", slots=CHAINS * CLAIM)


async def _dispatched(engine: Engine, started: asyncio.Queue[float]) -> float:
    await asyncio.sleep(IDLE)
    enqueued = time.perf_counter()
    await engine.submit(SIMPLE.name, payload(0))
    return await started.get() - enqueued


async def _run_until_empty(engine: Engine, worker: int) -> int:
    done = 0
    while (claim := await engine.claim(worker, CLAIM)).tasks:
        verdicts = await engine.complete([Completion(key=task.key, token=task.token) for task in claim.tasks])
        done += verdicts.count(Verdict.OK)
    return done


system: type[HistorySystem] = Ours
