"""A network that swallows what is sent over open connections: nobody waits for ever, and nobody tells an untruth."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

import reelstate as rs
from reelstate.app import open_engine
from reelstate.cli.worker import left_behind
from reelstate.config import DEFAULTS
from reelstate.connections import postgres as postgres_link
from reelstate.connections.postgres import Silent, WatchedConnection
from reelstate.core.machine import JobStatus
from reelstate.dispatch import notify
from reelstate.dispatch.dispatch import Wakeup
from reelstate.dispatch.notify import NotifyDispatch
from reelstate.engine import Engine
from reelstate.keeper import Keeper
from reelstate.locks.postgres import PostgresLock
from reelstate.worker import loop
from tests.faults.swallowing_proxy import swallowing_proxy
from tests.worker.local_workers import QUICK, engine_for, run_worker, until, wait_inactive

TIMEOUT = 300.0
PROMISED = 15.0


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are as short as a test wants them; what they add up to is tested by itself."""
    monkeypatch.setattr(postgres_link, "ANSWER_TIMEOUT", 0.5)
    monkeypatch.setattr(notify, "PING_EVERY", 0.5)


def test_the_limits_add_up_to_less_than_what_is_promised() -> None:
    """The first statement after the network began to swallow may be as late as the longest pause between two."""
    noticed = postgres_link.ANSWER_TIMEOUT + postgres_link.LAST_MOMENT
    pauses = (DEFAULTS.heartbeat, DEFAULTS.sweep_every, DEFAULTS.poll, notify.PING_EVERY)
    assert max(pauses) + noticed <= PROMISED
    assert noticed < loop.SHUTDOWN_TIMEOUT, "a worker that stops notices it while it still tries to give its tasks back"


@pytest.mark.usefixtures("impatient")
async def test_work_goes_on_after_the_network_swallowed_every_open_connection(postgres_database: str) -> None:
    film = rs.Pipeline("film")
    started, go = asyncio.Event(), asyncio.Event()

    @film.stage
    async def cut(task: rs.Run) -> str:
        if task.spec == "long":
            started.set()
            await go.wait()
        return "cut"

    async with (
        swallowing_proxy(postgres_database) as (url, proxy),
        engine_for(postgres_database, film) as direct,
        engine_for(url, film) as engine,
        run_worker(engine, url, [film], worker_concurrency=2),
    ):
        long = await direct.submit("film", "long")
        await asyncio.wait_for(started.wait(), TIMEOUT)
        proxy.swallow()
        before = await heartbeat(direct)
        other = await direct.submit("film", "short")
        assert (await wait_inactive(direct, other.id, TIMEOUT)).job.status is JobStatus.COMPLETED
        await until(lambda: later(direct, before), TIMEOUT)
        go.set()
        assert (await wait_inactive(direct, long.id, TIMEOUT)).job.status is JobStatus.COMPLETED
        (task,) = (await direct.tasks(long.id)).items
        assert (task.lost, task.attempt) == (0, 1)


@pytest.mark.usefixtures("impatient")
async def test_a_keeper_goes_on_too(postgres_database: str) -> None:
    settings = replace(QUICK, sweep_every=0.1, orchestrate_every=0.1)
    async with (
        swallowing_proxy(postgres_database) as (url, proxy),
        open_engine(postgres_database) as direct,
        open_engine(url) as engine,
    ):
        keeping = asyncio.create_task(Keeper(engine, settings).run())
        await until(lambda: seen_after(direct, None), TIMEOUT)
        proxy.swallow()
        seen = (await direct.keepers()).seen_at
        await until(lambda: seen_after(direct, seen), TIMEOUT)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


@pytest.mark.usefixtures("impatient")
async def test_wake_ups_are_sent_and_heard_again(postgres_database: str) -> None:
    async with swallowing_proxy(postgres_database) as (url, proxy):
        here, there = NotifyDispatch(url), NotifyDispatch(postgres_database)
        heard_here, heard_there = here.listen([Wakeup.WORK]), there.listen([Wakeup.WORK])
        try:
            for each in (heard_here, heard_there):
                await asyncio.wait_for(each.wait(TIMEOUT), TIMEOUT)  # a new listener is woken once
            here.notify(Wakeup.WORK)
            assert Wakeup.WORK in await heard_there.wait(TIMEOUT)
            await heard_here.wait(TIMEOUT)
            proxy.swallow()
            here.notify(Wakeup.WORK)
            await heard_here.wait(TIMEOUT)
            assert Wakeup.WORK in await heard_there.wait(TIMEOUT)
            assert Wakeup.WORK in await heard_here.wait(TIMEOUT), "it listens again, and does not know what it missed"
        finally:
            await here.close()
            await there.close()


@pytest.mark.usefixtures("impatient")
async def test_a_lock_whose_connection_is_swallowed_is_lost(postgres_database: str) -> None:
    async with swallowing_proxy(postgres_database) as (url, proxy):
        lock = PostgresLock(url, "one", ttl=30.0)
        assert await lock.acquire()
        proxy.swallow()
        assert not await asyncio.wait_for(lock._keep(), TIMEOUT)
        await lock.release()


@pytest.mark.usefixtures("impatient")
async def test_a_statement_that_takes_long_is_waited_for(postgres_database: str) -> None:
    async with await WatchedConnection.connect(postgres_database, autocommit=True) as connection:
        cursor = await connection.execute("SELECT 'slept' FROM pg_sleep(2)")
        assert await cursor.fetchone() == ("slept",)


@pytest.mark.usefixtures("impatient")
async def test_a_session_that_nobody_can_reach_does_not_keep_its_locks(postgres_database: str) -> None:
    async with (
        swallowing_proxy(postgres_database) as (url, proxy),
        await WatchedConnection.connect(postgres_database) as other,
    ):
        holder = await WatchedConnection.connect(url)
        await holder.execute("SELECT pg_advisory_xact_lock(1)")
        proxy.swallow()
        with pytest.raises(Silent):
            await asyncio.wait_for(holder.execute("SELECT 1"), TIMEOUT)
        await asyncio.wait_for(other.execute("SELECT pg_advisory_xact_lock(1)"), TIMEOUT)


@pytest.mark.usefixtures("impatient")
async def test_a_worker_that_can_tell_nobody_says_what_stays_leased(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SHUTDOWN_TIMEOUT", 3.0)
    film = rs.Pipeline("film")
    started = asyncio.Event()

    @film.stage
    async def cut(task: rs.Run) -> None:
        started.set()
        await asyncio.sleep(1000)

    async with (
        swallowing_proxy(postgres_database) as (url, proxy),
        engine_for(postgres_database, film) as direct,
    ):
        async with (
            engine_for(url, film) as engine,
            run_worker(engine, url, [film], worker_grace=0.1, poll=60.0) as worker,
        ):
            job = await direct.submit("film")
            await asyncio.wait_for(started.wait(), TIMEOUT)
            proxy.swallow(new=True)
        (task,) = (await direct.tasks(job.id)).items
        assert task.worker_id is not None
        assert worker.still_leased == [task.key]
        assert str(task.key) in left_behind(worker)


@pytest.mark.usefixtures("impatient")
async def test_a_worker_that_is_told_to_stop_meanwhile_gives_its_task_back(postgres_database: str) -> None:
    film = rs.Pipeline("film")
    started = asyncio.Event()

    @film.stage
    async def cut(task: rs.Run) -> None:
        started.set()
        await asyncio.sleep(1000)

    async with (
        swallowing_proxy(postgres_database) as (url, proxy),
        engine_for(postgres_database, film) as direct,
    ):
        async with engine_for(url, film) as engine, run_worker(engine, url, [film], worker_grace=0.1) as worker:
            job = await direct.submit("film")
            await asyncio.wait_for(started.wait(), TIMEOUT)
            proxy.swallow()
        (task,) = (await direct.tasks(job.id)).items
        assert (task.worker_id, task.attempt) == (None, 0)
        assert worker.still_leased == []
        assert left_behind(worker) == "it holds nothing"


async def heartbeat(engine: Engine) -> datetime | None:
    (worker,) = await engine.workers()
    return worker.last_heartbeat_at


async def later(engine: Engine, before: datetime | None) -> bool:
    now = await heartbeat(engine)
    return now is not None and (before is None or now > before)


async def seen_after(engine: Engine, before: datetime | None) -> bool:
    seen = (await engine.keepers()).seen_at
    return seen is not None and (before is None or seen > before)
