"""A worker whose store is unreachable, or does not know the worker any more."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

import reelstate as rs
from reelstate.app import worker_for
from reelstate.core.errors import StoreUnavailable
from reelstate.core.machine import JobStatus, WorkerStatus
from reelstate.core.model import Progress, Report
from reelstate.engine import Engine
from reelstate.worker.link import Link
from tests.waiting import until
from tests.worker.local_workers import QUICK, engine_for, run_worker, wait_inactive


class FailingLink:
    """A link to the engine whose reports fail while `unreachable` is set."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.unreachable = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def report(self, worker_id: int, items: Sequence[Progress] = (), stuck: int | None = None) -> Report:
        if self.unreachable.is_set():
            raise StoreUnavailable("unreachable", hint="for the test")
        return await self._engine.report(worker_id, items, stuck)


@asynccontextmanager
async def run_with_failing_link(engine: Engine, url: str, video: rs.Pipeline) -> AsyncIterator[FailingLink]:
    """Run a worker whose heartbeat uses a link that can fail."""
    link = FailingLink(engine)
    worker = worker_for(engine, [video], QUICK)

    @asynccontextmanager
    async def connect() -> AsyncIterator[Link]:
        yield link

    worker._connect = connect
    running = asyncio.create_task(worker.run())
    await worker.registered.wait()
    try:
        yield link
    finally:
        worker.stop()
        await running


@pytest.mark.parametrize("strict", [True, False])
async def test_without_renewals_only_a_strict_stage_is_stopped(tmp_path: Any, strict: bool) -> None:
    video = rs.Pipeline("video")
    started, stopped, go = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @video.stage(lease=1, strict_lease=strict)
    async def cut(task: rs.Run) -> None:
        started.set()
        try:
            await go.wait()
        except asyncio.CancelledError:
            stopped.set()
            raise

    url = f"sqlite:///{tmp_path}/jobs.db"
    async with engine_for(url, video) as engine, run_with_failing_link(engine, url, video) as link:
        job = await engine.submit("video")
        await asyncio.wait_for(started.wait(), 300)
        link.unreachable.set()
        if strict:
            await asyncio.wait_for(stopped.wait(), 300)
        else:
            await asyncio.sleep(2.5)  # until well after the lease expired: that nothing happens has no signal
            assert not stopped.is_set()
            go.set()
            assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
        link.unreachable.clear()


async def test_a_worker_that_was_pruned_registers_again(database_url: str) -> None:
    video = rs.Pipeline("video")
    video.stage(name="cut")(lambda task: "cut")
    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], heartbeat=30.0, poll=0.2) as worker,
    ):
        first = worker.id
        assert first is not None
        await until(lambda: _has_heartbeat(engine, first))

        async def pruned() -> bool:
            await engine.move_worker(first, WorkerStatus.OFFLINE, actor="keeper")  # a heartbeat brings it back
            return first in await engine.prune_workers(older=0)

        await until(pruned)
        job = await engine.submit("video")
        assert (await wait_inactive(engine, job.id)).outputs == {"cut": "cut"}
        assert worker.id != first


async def _has_heartbeat(engine: Engine, worker_id: int) -> bool:
    return any(each.id == worker_id and each.last_heartbeat_at for each in await engine.workers())
