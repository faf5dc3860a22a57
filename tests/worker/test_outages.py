"""What a worker does while the store does not answer, or does not know it any more."""

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
from tests.worker.local_workers import QUICK, engine_for, run_worker, until, wait_inactive


class Cut:
    """A link to the engine whose reports can be cut off."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.away = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    async def report(self, worker_id: int, items: Sequence[Progress] = (), stuck: int | None = None) -> Report:
        if self.away.is_set():
            raise StoreUnavailable("cut off", hint="for the test")
        return await self._engine.report(worker_id, items, stuck)


@asynccontextmanager
async def cut_off(engine: Engine, url: str, film: rs.Pipeline) -> AsyncIterator[Cut]:
    """A worker whose heartbeat goes through a link that can be cut."""
    cut = Cut(engine)
    worker = worker_for(engine, [film], QUICK)

    @asynccontextmanager
    async def connect() -> AsyncIterator[Link]:
        yield cut

    worker._connect = connect
    running = asyncio.create_task(worker.run())
    await worker.registered.wait()
    try:
        yield cut
    finally:
        worker.stop()
        await running


@pytest.mark.parametrize("strict", [True, False])
async def test_without_renewals_only_a_strict_stage_is_stopped(tmp_path: Any, strict: bool) -> None:
    film = rs.Pipeline("film")
    started, stopped, go = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @film.stage(lease=1, strict_lease=strict)
    async def cut(task: rs.Run) -> None:
        started.set()
        try:
            await go.wait()
        except asyncio.CancelledError:
            stopped.set()
            raise

    url = f"sqlite:///{tmp_path}/jobs.db"
    async with engine_for(url, film) as engine, cut_off(engine, url, film) as link:
        job = await engine.submit("film")
        await asyncio.wait_for(started.wait(), 300)
        link.away.set()
        if strict:
            await asyncio.wait_for(stopped.wait(), 300)
        else:
            await asyncio.sleep(2.5)  # well after the lease is over: nothing may happen
            assert not stopped.is_set()
            go.set()
            assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
        link.away.clear()


async def test_a_worker_that_was_pruned_registers_again(database_url: str) -> None:
    film = rs.Pipeline("film")
    film.stage(name="cut")(lambda task: "cut")
    async with (
        engine_for(database_url, film) as engine,
        run_worker(engine, database_url, [film], heartbeat=30.0, poll=0.2) as worker,
    ):
        first = worker.id
        assert first is not None
        await until(lambda: _heard(engine, first))

        async def pruned() -> bool:
            await engine.move_worker(first, WorkerStatus.OFFLINE, actor="keeper")  # a sign of life brings it back
            return first in await engine.prune_workers(older=0)

        await until(pruned)
        job = await engine.submit("film")
        assert (await wait_inactive(engine, job.id)).outputs == {"cut": "cut"}
        assert worker.id != first


async def _heard(engine: Engine, worker_id: int) -> bool:
    return any(each.id == worker_id and each.last_heartbeat_at for each in await engine.workers())
