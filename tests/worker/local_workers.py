"""Workers inside the test process, on either store, with short timings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import reelstate as rs
from reelstate.app import open_engine, worker_for
from reelstate.core.machine import STOPPED_JOBS
from reelstate.core.model import JobDetail
from reelstate.engine import Engine
from reelstate.worker.loop import WorkerLoop
from tests.waiting import until

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

    async def inactive() -> JobDetail | None:
        await engine.orchestrate()
        detail = await engine.job(job_id)
        return detail if detail.job.ended or detail.job.status in STOPPED_JOBS else None

    detail: JobDetail = await until(inactive, f"job {job_id} is inactive", seconds=seconds)
    return detail


async def count_leased(engine: Engine) -> int:
    """Return how many tasks are leased."""
    return sum(worker.running for worker in await engine.workers())


async def has_leased(engine: Engine, count: int) -> bool:
    """Return whether `count` tasks are leased."""
    return await count_leased(engine) == count
