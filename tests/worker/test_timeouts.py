"""A worker ends a run at the timeout of its stage without a keeper; none runs here except where a test starts one."""

import asyncio
import contextlib
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import reelstate as rs
from reelstate.core.machine import JobStatus
from reelstate.engine import Engine
from tests.waiting import INTERVAL, forever, run_until_stopped, until
from tests.worker.local_workers import engine_for, run_worker, wait_inactive
from tests.worker.process_pipelines import endless

TIMEOUT = 300.0


def endless_in(style: str) -> rs.Pipeline:
    if style == "process":
        return endless
    video = rs.Pipeline("endless")
    if style == "async":

        @video.stage(name="cut", timeout=0.3, attempts=1)
        async def cut(task: rs.Run) -> None:
            await forever()

    else:

        @video.stage(name="cut", timeout=0.3, attempts=1)
        def cut_in_thread(task: rs.BlockingRun) -> None:
            run_until_stopped()

    return video


@pytest.mark.parametrize("style", ["async", "thread", "process"])
async def test_a_worker_ends_a_run_at_its_timeout_without_a_keeper(
    database_url: str, style: str, tmp_path: Path
) -> None:
    video = endless_in(style)
    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], worker_concurrency=1) as worker,
    ):
        job = await engine.submit("endless", {"pid": str(tmp_path / "pid")})
        detail = await wait_inactive(engine, job.id, TIMEOUT)
        await until(lambda: worker.running == 0)
    assert detail.job.status is JobStatus.FAILED
    assert detail.job.error["cause"] == {"type": "Timeout", "message": f"timed out after {0.3:g} s"}


async def test_the_next_run_begins_after_the_timed_out_one_has_ended(database_url: str) -> None:
    """Also while a keeper sweeps all the time: its limit comes later than the worker's."""
    video = rs.Pipeline("video")
    order: list[str] = []

    @video.stage(timeout=2, attempts=2, backoff=0)
    def cut(task: rs.BlockingRun) -> None:
        order.append(f"begin {task.attempt}")
        try:
            if task.attempt == 1:
                run_until_stopped()
        finally:
            time.sleep(0.5 if task.attempt == 1 else 0)  # it ends late: the next run must not begin before
            order.append(f"end {task.attempt}")

    async with engine_for(database_url, video) as engine, sweeping(engine), run_worker(engine, database_url, [video]):
        detail = await wait_inactive(engine, (await engine.submit("video")).id, TIMEOUT)
    assert detail.job.status is JobStatus.COMPLETED
    assert order == ["begin 1", "end 1", "begin 2", "end 2"]


async def test_a_handler_that_ignores_its_timeout_is_reported_and_other_slots_continue(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    video = rs.Pipeline("video")
    release = threading.Event()

    @video.stage(timeout=2, attempts=1)
    def cut(task: rs.BlockingRun) -> str:
        if task.spec == "unstoppable":
            release.wait(TIMEOUT)
        return "done"

    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], worker_concurrency=2, worker_kill_after=0.1),
    ):
        unstoppable = await wait_inactive(engine, (await engine.submit("video", "unstoppable")).id, TIMEOUT)
        other = await wait_inactive(engine, (await engine.submit("video", "short")).id, TIMEOUT)
        release.set()
    assert (unstoppable.job.status, other.job.status) == (JobStatus.FAILED, JobStatus.COMPLETED)
    assert unstoppable.job.error["cause"]["type"] == "Timeout"
    assert "does not stop" in caplog.text


@contextlib.asynccontextmanager
async def sweeping(engine: Engine) -> Any:
    """Reclaim all the time, as a keeper would."""

    async def sweep() -> None:
        while True:
            await engine.reclaim()
            await asyncio.sleep(INTERVAL)  # the interval of a very busy keeper

    task = asyncio.create_task(sweep())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
