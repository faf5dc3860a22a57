"""A network that drops what is sent over open connections: no wait is endless, and no false report is made."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

import reelstate as rs
from reelstate.app import open_engine
from reelstate.cli.worker import describe_leases
from reelstate.config import DEFAULTS
from reelstate.connections import postgres as postgres_link
from reelstate.connections.postgres import AnswerLost, WatchedConnection
from reelstate.core.machine import JobStatus
from reelstate.dispatch.dispatch import Wakeup
from reelstate.dispatch.notify import NotifyDispatch, NotifyTimings
from reelstate.engine import Engine
from reelstate.keeper import Keeper
from reelstate.locks.postgres import PostgresLock
from reelstate.worker.settings import WorkerSettings
from tests.faults.swallowing_proxy import swallowing_proxy
from tests.waiting import forever, until
from tests.worker.local_workers import QUICK, engine_for, run_worker, wait_inactive

TIMEOUT = 300.0
PROMISED = 15.0
"""Seconds within which a dead connection is noticed."""


@pytest.fixture
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the timeouts of a connection; the sum of the real ones has its own test."""
    monkeypatch.setattr(postgres_link, "ANSWER_TIMEOUT", 0.5)


def test_the_timeouts_add_up_to_less_than_what_is_promised() -> None:
    """The first statement on a dead connection may come as late as the longest interval between two."""
    detection = postgres_link.ANSWER_TIMEOUT + postgres_link.TRANSIT_TIMEOUT
    intervals = (DEFAULTS.heartbeat, DEFAULTS.sweep_every, DEFAULTS.poll, NotifyTimings().ping)
    assert max(intervals) + detection <= PROMISED
    shutdown = WorkerSettings(name="any").shutdown_timeout
    assert detection < shutdown, "a stopping worker notices it while it still tries to release its tasks"


@pytest.mark.usefixtures("short_timeouts")
async def test_a_worker_continues_after_every_open_connection_was_swallowed(postgres_database: str) -> None:
    video = rs.Pipeline("video")
    started, go = asyncio.Event(), asyncio.Event()

    @video.stage
    async def cut(task: rs.Run) -> str:
        if task.spec == "long":
            started.set()
            await go.wait()
        return "cut"

    async with (
        swallowing_proxy(postgres_database) as (url, proxy),
        engine_for(postgres_database, video) as direct,
        engine_for(url, video) as engine,
        run_worker(engine, url, [video], worker_concurrency=2),
    ):
        long = await direct.submit("video", "long")
        await asyncio.wait_for(started.wait(), TIMEOUT)
        proxy.swallow()
        before = await last_heartbeat(direct)
        other = await direct.submit("video", "short")
        assert (await wait_inactive(direct, other.id, TIMEOUT)).job.status is JobStatus.COMPLETED
        await until(lambda: has_newer_heartbeat(direct, before))
        go.set()
        assert (await wait_inactive(direct, long.id, TIMEOUT)).job.status is JobStatus.COMPLETED
        (task,) = (await direct.tasks(long.id)).items
        assert (task.lost, task.attempt) == (0, 1)


@pytest.mark.usefixtures("short_timeouts")
async def test_a_keeper_continues_after_its_connections_were_swallowed(postgres_database: str) -> None:
    settings = replace(QUICK, sweep_every=0.1, orchestrate_every=0.1)
    async with (
        swallowing_proxy(postgres_database) as (url, proxy),
        open_engine(postgres_database) as direct,
        open_engine(url) as engine,
    ):
        keeping = asyncio.create_task(Keeper(engine, settings).run())
        await until(lambda: keeper_seen_after(direct, None))
        proxy.swallow()
        seen = (await direct.keepers()).seen_at
        await until(lambda: keeper_seen_after(direct, seen))
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


@pytest.mark.usefixtures("short_timeouts")
async def test_wake_ups_are_sent_and_received_again(postgres_database: str) -> None:
    async with swallowing_proxy(postgres_database) as (url, proxy):
        here, there = NotifyDispatch(url), NotifyDispatch(postgres_database)
        listener_here, listener_there = here.listen([Wakeup.WORK]), there.listen([Wakeup.WORK])
        try:
            for each in (listener_here, listener_there):
                await asyncio.wait_for(each.wait(TIMEOUT), TIMEOUT)  # a new listener is woken once
            here.notify(Wakeup.WORK)
            assert Wakeup.WORK in await listener_there.wait(TIMEOUT)
            await listener_here.wait(TIMEOUT)
            proxy.swallow()
            here.notify(Wakeup.WORK)
            await listener_here.wait(TIMEOUT)
            assert Wakeup.WORK in await listener_there.wait(TIMEOUT)
            assert Wakeup.WORK in await listener_here.wait(TIMEOUT), (
                "a listener that reconnected returns every wake-up, as it may have missed some"
            )
        finally:
            await here.close()
            await there.close()


@pytest.mark.usefixtures("short_timeouts")
async def test_a_lock_whose_connection_is_swallowed_is_lost(postgres_database: str) -> None:
    async with swallowing_proxy(postgres_database) as (url, proxy):
        lock = PostgresLock(url, "one", ttl=30.0)
        assert await lock.acquire()
        proxy.swallow()
        assert not await asyncio.wait_for(lock._renew(), TIMEOUT)
        await lock.release()


@pytest.mark.usefixtures("short_timeouts")
async def test_a_long_statement_is_waited_for(postgres_database: str) -> None:
    async with await WatchedConnection.connect(postgres_database, autocommit=True) as connection:
        cursor = await connection.execute("SELECT 'slept' FROM pg_sleep(2)")  # a statement that takes long
        assert await cursor.fetchone() == ("slept",)


@pytest.mark.usefixtures("short_timeouts")
async def test_an_unreachable_session_does_not_keep_its_locks(postgres_database: str) -> None:
    async with (
        swallowing_proxy(postgres_database) as (url, proxy),
        await WatchedConnection.connect(postgres_database) as other,
    ):
        holder = await WatchedConnection.connect(url)
        await holder.execute("SELECT pg_advisory_xact_lock(1)")
        proxy.swallow()
        with pytest.raises(AnswerLost):
            await asyncio.wait_for(holder.execute("SELECT 1"), TIMEOUT)
        await asyncio.wait_for(other.execute("SELECT pg_advisory_xact_lock(1)"), TIMEOUT)


@pytest.mark.usefixtures("short_timeouts")
async def test_a_worker_that_cant_release_its_tasks_names_them(postgres_database: str) -> None:
    video = rs.Pipeline("video")
    started = asyncio.Event()

    @video.stage
    async def cut(task: rs.Run) -> None:
        started.set()
        await forever()

    async with (
        swallowing_proxy(postgres_database) as (url, proxy),
        engine_for(postgres_database, video) as direct,
    ):
        async with (
            engine_for(url, video) as engine,
            run_worker(engine, url, [video], timings={"shutdown_timeout": 3.0}, worker_grace=0.1, poll=60.0) as worker,
        ):
            job = await direct.submit("video")
            await asyncio.wait_for(started.wait(), TIMEOUT)
            proxy.swallow(new=True)
        (task,) = (await direct.tasks(job.id)).items
        assert task.worker_id is not None
        assert worker.still_leased == [task.key]
        assert str(task.key) in describe_leases(worker)


@pytest.mark.usefixtures("short_timeouts")
async def test_a_worker_that_stops_on_a_swallowed_connection_releases_its_task(postgres_database: str) -> None:
    video = rs.Pipeline("video")
    started = asyncio.Event()

    @video.stage
    async def cut(task: rs.Run) -> None:
        started.set()
        await forever()

    async with (
        swallowing_proxy(postgres_database) as (url, proxy),
        engine_for(postgres_database, video) as direct,
    ):
        async with engine_for(url, video) as engine, run_worker(engine, url, [video], worker_grace=0.1) as worker:
            job = await direct.submit("video")
            await asyncio.wait_for(started.wait(), TIMEOUT)
            proxy.swallow()
        (task,) = (await direct.tasks(job.id)).items
        assert (task.worker_id, task.attempt) == (None, 0)
        assert worker.still_leased == []
        assert describe_leases(worker) == "no tasks are leased"


async def last_heartbeat(engine: Engine) -> datetime | None:
    (worker,) = await engine.workers()
    return worker.last_heartbeat_at


async def has_newer_heartbeat(engine: Engine, before: datetime | None) -> bool:
    now = await last_heartbeat(engine)
    return now is not None and (before is None or now > before)


async def keeper_seen_after(engine: Engine, before: datetime | None) -> bool:
    seen = (await engine.keepers()).seen_at
    return seen is not None and (before is None or seen > before)
