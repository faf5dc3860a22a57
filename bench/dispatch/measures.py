"""The measures of a dispatch mode: start latency, load of idle workers on the database, and throughput."""

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from bench.dispatch.pipelines import noop
from reelstate import Pipeline, Run
from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.core.machine import JobStatus
from reelstate.core.model import Submission
from reelstate.engine import Engine

POLL = 1.0
ROOM = 4


@dataclass(frozen=True)
class Mode:
    """A dispatch mode."""

    name: str
    options: dict[str, Any]

    def settings(self, database: str, redis: str, **more: Any) -> Settings:
        given = {"dispatch": "database", "redis_url": redis, "redis_prefix": f"bench-{os.urandom(4).hex()}"}
        return Settings(database_url=database, **{**given, **self.options, **more})


MODES = (
    Mode("poll", {"dispatch": "poll"}),
    Mode("NOTIFY", {"dispatch": "database"}),
    Mode("sorted", {"dispatch": "redis", "redis_queue": "sorted"}),
    Mode("streams", {"dispatch": "redis", "redis_queue": "streams"}),
)


async def latency(mode: Mode, database: str, redis: str, count: int) -> list[float]:
    """Return the milliseconds from before a submit to the start of its handler in another engine."""
    started: asyncio.Queue[float] = asyncio.Queue()
    pipeline = Pipeline("timed")

    @pipeline.stage()
    async def run(_: Run) -> None:
        started.put_nowait(time.perf_counter())

    found = []
    with TemporaryDirectory() as folder:
        settings = mode.settings(database, redis, poll=POLL, storage_url=folder)
        async with (
            open_engine(database, migrate=True, pipelines=[pipeline], settings=settings, workers=1),
            open_engine(database, migrate=True, pipelines=[pipeline], settings=settings) as client,
        ):
            for _ in range(count + 5):
                await asyncio.sleep(random.uniform(0.06, 0.12))  # every wake-up is the first after a pause
                began = time.perf_counter()
                await client.submit("timed")
                found.append(1000 * (await started.get() - began))
    return found[5:]


async def idle(mode: Mode, database: str, redis: str, *, workers: int, seconds: float) -> float:
    """Return the transactions per second that claims of idle workers cost the database, without heartbeats."""
    settings = mode.settings(database, redis)
    async with open_engine(database, migrate=True, pipelines=[noop], settings=settings) as engine:
        ids = [await engine.register(f"worker-{number}", hostname="host", software="0") for number in range(workers)]
        await engine.mirror()
        looking = [asyncio.create_task(_claim_forever(engine, worker)) for worker in ids]
        await asyncio.sleep(3)
        before = await _transactions(database)
        await asyncio.sleep(seconds)
        after = await _transactions(database)
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
    return max(0.0, (after - before - 1) / seconds)


async def _claim_forever(engine: Engine, worker: int) -> None:
    """Claim and wait for wake-ups, as an idle worker does."""
    listener = engine.dispatch.listen()
    while True:
        await listener.wait(POLL * random.uniform(0.8, 1.2))
        await engine.claim(worker, ROOM)


async def _transactions(database: str) -> int:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await asyncio.sleep(1.1)  # a session publishes its statistics at most once a second
        cursor = await connection.execute(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        )
        row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def throughput(mode: Mode, database: str, redis: str, *, processes: int, jobs: int) -> float:
    """Return the jobs of one task per second, from the first submit to the last completion."""
    settings = mode.settings(database, redis)
    async with open_engine(database, migrate=True, pipelines=[noop], settings=settings) as engine:
        with _workers(settings, processes):
            async with asyncio.timeout(60):
                while len(await engine.workers()) < processes:  # noqa: ASYNC110 - other processes register
                    await asyncio.sleep(0.1)
            began = time.perf_counter()
            for at in range(0, jobs, 250):
                await engine.submit_many([Submission(pipeline="noop")] * min(250, jobs - at))
            async for left in _left(engine):
                if not left:
                    break
            return jobs / (time.perf_counter() - began)


async def _left(engine: Engine) -> AsyncIterator[bool]:
    others = [status for status in JobStatus if status is not JobStatus.COMPLETED]
    while True:
        yield bool((await engine.jobs(limit=1, statuses=others)).items)
        await asyncio.sleep(0.05)


@contextmanager
def _workers(settings: Settings, count: int) -> Iterator[None]:
    options = {
        "REEL_DATABASE_URL": settings.database_url,
        "REEL_DISPATCH": settings.dispatch,
        "REEL_REDIS_URL": settings.redis_url,
        "REEL_REDIS_PREFIX": settings.redis_prefix,
        "REEL_REDIS_QUEUE": settings.redis_queue,
        "REEL_APP": "bench.dispatch.pipelines:noop",
    }
    command = [sys.executable, "-m", "reelstate", "worker", "-c", "50"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [
        subprocess.Popen([*command, "--name", f"worker-{number}"], env={**os.environ, **options}, **quiet)  # type: ignore[call-overload]
        for number in range(count)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(60)
