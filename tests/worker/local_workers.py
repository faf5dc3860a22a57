"""Workers inside the test process, on either store, with short timings."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import reelstate as rs
from reelstate.app import open_engine, worker_for
from reelstate.core.machine import STOPPED_JOBS
from reelstate.core.model import JobDetail
from reelstate.engine import Engine
from reelstate.worker.loop import WorkerLoop

QUICK = rs.Settings(
    poll=0.05, heartbeat=0.2, worker_grace=5.0, worker_kill_after=1.0, worker_capabilities="-ffmpeg", gpu_grace=0.2
)


@asynccontextmanager
async def engine_for(url: str, *pipelines: rs.Pipeline) -> AsyncIterator[Engine]:
    async with open_engine(url, pipelines=pipelines) as engine:
        yield engine


@asynccontextmanager
async def run_worker(
    engine: Engine,
    url: str,
    pipelines: Sequence[rs.Pipeline],
    *,
    timings: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[WorkerLoop]:
    """Run a worker until the block is left. Options are those of `Settings`, timings those of `WorkerSettings`."""
    settings = replace(QUICK, database_url=url, **{"worker_name": "worker", "worker_concurrency": 4, **options})
    worker = worker_for(engine, pipelines, settings)
    worker.settings = replace(worker.settings, **(timings or {}))
    running = asyncio.create_task(worker.run())
    await asyncio.wait_for(worker.registered.wait(), 300)
    try:
        yield worker
    finally:
        worker.stop()
        await asyncio.wait_for(running, 300)


async def wait_inactive(engine: Engine, job_id: int, seconds: float = 300.0) -> JobDetail:
    """Wait until a job is finished or stopped, and return it; due tasks are made ready meanwhile."""

    async def poll() -> JobDetail:
        while True:
            await engine.orchestrate()
            detail = await engine.job(job_id)
            if detail.job.ended or detail.job.status in STOPPED_JOBS:
                return detail
            await asyncio.sleep(0.02)  # a retry becomes due without a signal

    return await asyncio.wait_for(poll(), seconds)


async def count_leased(engine: Engine) -> int:
    """Return how many tasks are leased."""
    return sum(worker.running for worker in await engine.workers())


async def has_leased(engine: Engine, count: int) -> bool:
    """Return whether `count` tasks are leased."""
    return await count_leased(engine) == count


async def until(condition: Callable[[], Any], seconds: float = 300.0) -> None:
    """Poll a condition of the store, of another thread or process, until it is true."""
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if await found if inspect.isawaitable(found) else found:
                return
            await asyncio.sleep(0.01)
