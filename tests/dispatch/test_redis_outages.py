"""Outages of Redis: the breaker, the fallback to the store, and the reconnect."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing

import pytest

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.connections.breaker import Breaker, Circuit
from reelstate.connections.redis import RedisSettings, open_redis
from reelstate.core.errors import RedisUnavailable
from reelstate.core.model import Submission
from reelstate.dispatch.dispatch import EVERY_WAKEUP, Wakeup
from reelstate.engine import Engine
from reelstate.pipelines.declaration import Pipeline
from tests.dispatch.redis_engines import Statements, dispatch_of, hinted, redis_engine
from tests.engines import a_worker, done
from tests.redis_server import RedisServer
from tests.waiting import until

POLL = 0.5


def test_the_breaker_opens_tries_and_closes() -> None:
    seen: list[Circuit] = []
    breaker = Breaker(3, on_change=seen.append)
    for _ in range(2):
        breaker.record_failure("refused")
    breaker.record_success()
    assert breaker.health().state is Circuit.CLOSED, "not enough in a row"
    for _ in range(3):
        breaker.record_failure("refused")
    assert breaker.health().state is Circuit.OPEN
    first = breaker.next_delay()
    breaker.record_success()
    assert breaker.health().state is Circuit.OPEN, "a success of an earlier call is ignored"
    for _ in range(6):
        breaker.next_delay()
        breaker.begin_trial()
        breaker.record_failure("refused")
    assert breaker.next_delay() > first
    assert breaker.next_delay() <= 5.0
    breaker.begin_trial()
    breaker.record_success()
    assert breaker.health().state is Circuit.CLOSED
    assert seen == [Circuit.OPEN, *[Circuit.HALF_OPEN, Circuit.OPEN] * 6, Circuit.HALF_OPEN, Circuit.CLOSED]
    health = breaker.health()
    assert (health.opened, health.failures, health.last_error) == (1, 0, "refused")


async def test_while_open_a_call_costs_nothing_and_a_reconnect_is_detected(
    frail_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_redis(RedisSettings(url=frail_redis.url, timeout=0.2)) as redis:
        back = asyncio.Event()
        redis.on_reconnect(back.set)
        await redis.run(lambda client: client.ping())
        frail_redis.freeze()
        for _ in range(3):
            with pytest.raises(RedisUnavailable):
                await redis.run(lambda client: client.ping())
        assert redis.breaker.health().state is Circuit.OPEN
        began = time.perf_counter()
        for _ in range(1000):
            with pytest.raises(RedisUnavailable, match="is unreachable"):
                await redis.run(lambda client: client.ping())
        assert time.perf_counter() - began < 100, "no call waits: that would be 1000 times 0.2 s"
        frail_redis.thaw()
        await asyncio.wait_for(back.wait(), 300)
        await redis.run(lambda client: client.ping())
    logged = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert [line.split(" url=")[0] for line in logged] == ["redis unreachable", "redis reconnected"]


@pytest.fixture
async def hybrid(frail_redis: RedisServer, postgres_database: str) -> AsyncIterator[Engine]:
    async with redis_engine(postgres_database, frail_redis.url, dispatch="hybrid", redis_timeout=0.2) as engine:
        yield engine


async def test_in_hybrid_mode_the_store_is_asked_while_redis_is_unreachable(
    hybrid: Engine, frail_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await a_worker(hybrid)
    await asyncio.to_thread(frail_redis.stop)
    job = (await hybrid.submit("simple")).job_id
    assert [task.key.job_id for task in (await hybrid.claim(worker)).tasks] == [job], "the very first claim finds it"
    for _ in range(3):
        await hybrid.claim(worker)
    assert dispatch_of(hybrid).health().circuit.state is not Circuit.CLOSED  # type: ignore[union-attr]
    asked = Statements(hybrid, monkeypatch)
    for _ in range(5):
        await hybrid.claim(worker)
    assert asked.counted["write_alone"] == 5
    await asyncio.to_thread(frail_redis.start)
    again = [(await hybrid.submit("simple")).job_id for _ in range(3)]

    async def known() -> bool:
        circuit = dispatch_of(hybrid).health().circuit
        return bool(circuit and circuit.state is Circuit.CLOSED and len(await hinted(hybrid)) == 3)

    await until(known, "what was submitted meanwhile is mirrored")
    assert [task.key.job_id for task in (await hybrid.claim(worker, 3)).tasks] == again


async def test_in_redis_mode_the_store_is_asked_rarely(
    frail_redis: RedisServer, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"redis_timeout": 0.2, "redis_reconcile": 0.5}
    async with redis_engine(postgres_database, frail_redis.url, **options) as engine:
        worker = await a_worker(engine)
        await asyncio.to_thread(frail_redis.stop)
        job = (await engine.submit("simple")).job_id
        asked = Statements(engine, monkeypatch)

        async def claim() -> list[int]:
            return [task.key.job_id for task in (await engine.claim(worker)).tasks]

        began = time.monotonic()
        assert await until(claim) == [job]
        looks = (time.monotonic() - began) / (0.8 * options["redis_reconcile"])
        assert asked.counted["write_alone"] <= looks + 1


@pytest.mark.parametrize("trouble", ["frozen", "full"])
async def test_a_frozen_or_full_redis_is_like_an_unreachable_one(
    hybrid: Engine, frail_redis: RedisServer, trouble: str
) -> None:
    worker = await a_worker(hybrid)
    async with open_redis(RedisSettings(url=frail_redis.url, timeout=5.0)) as other:
        if trouble == "frozen":
            frail_redis.freeze()
        else:
            await other.client.config_set("maxmemory", "1")
        jobs = [each.job_id for each in await hybrid.submit_many([Submission(pipeline="simple")] * 5)]
        found: list[int] = []

        async def claimed() -> bool:
            tasks = (await hybrid.claim(worker, 5)).tasks
            found.extend(task.key.job_id for task in tasks)
            await hybrid.complete([done(task) for task in tasks])
            return len(found) == 5

        await until(claimed, "the store gives them out")
        assert sorted(found) == jobs
        if trouble == "frozen":
            frail_redis.thaw()
        else:
            await other.client.config_set("maxmemory", "0")

        async def back() -> bool:
            circuit = dispatch_of(hybrid).health().circuit
            return bool(circuit and circuit.state is Circuit.CLOSED)

        await until(back, "Redis is used again")


async def test_a_listener_reconnects_after_a_restart_and_is_woken(
    frail_redis: RedisServer, postgres_database: str
) -> None:
    options = {"dispatch": "hybrid", "redis_timeout": 0.5}
    async with (
        redis_engine(postgres_database, frail_redis.url, **options) as here,
        redis_engine(postgres_database, frail_redis.url, **options) as there,
    ):
        listener = there.dispatch.listen(EVERY_WAKEUP)
        assert await listener.wait(300)
        here.dispatch.notify(Wakeup.STOP)
        while Wakeup.STOP not in await listener.wait(300):
            pass
        await asyncio.to_thread(frail_redis.stop)
        here.dispatch.notify(Wakeup.JOB_INACTIVE)
        await asyncio.sleep(0.3)  # how long Redis is away
        await asyncio.to_thread(frail_redis.start)
        received: set[Wakeup] = set()
        async with asyncio.timeout(300):
            while received != set(Wakeup):
                received |= await listener.wait(1)

        async def is_received() -> bool:
            here.dispatch.notify(Wakeup.STATE)
            return Wakeup.STATE in await listener.wait(0.2)

        await until(is_received, "the sender has reconnected")


async def test_the_time_to_fall_back_and_to_reconnect(frail_redis: RedisServer, postgres_database: str) -> None:
    """With a real worker: from the stop of Redis to the start of a task, and from its restart to a start by a hint."""
    noted: dict[int, float] = {}
    pipeline = Pipeline("noted")

    @pipeline.stage()
    async def note(task: object) -> None:
        noted[task.job_id] = time.monotonic()  # type: ignore[attr-defined]

    settings = Settings(
        database_url=postgres_database, dispatch="hybrid", redis_url=frail_redis.url, redis_timeout=0.2, poll=POLL
    )
    async with (
        open_engine(postgres_database, pipelines=[pipeline], settings=settings, workers=2),
        open_engine(postgres_database, pipelines=[pipeline], settings=settings) as client,
    ):

        async def start_after(submitted: float) -> float:
            job = (await client.submit("noted")).job_id
            await client.wait(job, 300)
            return noted[job] - submitted

        await start_after(time.monotonic())
        await asyncio.to_thread(frail_redis.stop)
        fallback = await start_after(time.monotonic())
        later = await start_after(time.monotonic())
        await asyncio.to_thread(frail_redis.start)
        began = time.monotonic()

        async def back() -> bool:
            return dispatch_of(client).redis.breaker.is_closed

        await until(back, "Redis is used again")
        returned = time.monotonic() - began
        again = await start_after(time.monotonic())
    figures = f"start {fallback:.3f} s and {later:.3f} s after the stop of Redis, {again:.3f} s after its restart"
    print(f"\n{figures}; reconnected after {returned:.3f} s")  # noqa: T201
    assert max(fallback, later) < 120
    assert returned < 120


async def test_workers_learn_from_a_process_that_can_not_write_to_a_full_redis(
    hybrid: Engine, frail_redis: RedisServer, postgres_database: str
) -> None:
    options = {"dispatch": "hybrid", "redis_timeout": 0.5, "redis_reconcile": 600.0}
    async with (
        redis_engine(postgres_database, frail_redis.url, **options) as there,
        open_redis(RedisSettings(url=frail_redis.url, timeout=5.0)) as other,
    ):
        worker = await a_worker(there)
        await there.claim(worker)
        listener = there.dispatch.listen()
        assert await listener.wait(300), "it listens"
        await other.client.config_set("maxmemory", "1")
        job = (await hybrid.submit("simple")).job_id

        async def claimed() -> bool:
            return [task.key.job_id for task in (await there.claim(worker)).tasks] == [job]

        await until(claimed, "reads still return nothing, but they are not believed")


@pytest.mark.parametrize("begun, max_looks", [(False, 1), (True, 0)])
async def test_after_an_outage_processes_that_lost_hints_and_one_other_reconcile(
    hybrid: Engine, frail_redis: RedisServer, postgres_database: str, begun: bool, max_looks: int
) -> None:
    options = {"dispatch": "hybrid", "redis_timeout": 5.0, "redis_reconcile": 600.0, "database_connections": 1}
    async with AsyncExitStack() as stack:
        other = await stack.enter_async_context(open_redis(RedisSettings(url=frail_redis.url, timeout=5.0)))
        fleet = [
            await stack.enter_async_context(redis_engine(postgres_database, frail_redis.url, **options))
            for _ in range(4)
        ]
        for engine in fleet:
            assert await stack.enter_context(closing(engine.dispatch.listen())).wait(300), "it listens"
        if begun:  # by a process that reconnected before all others
            await other.client.set(other.key(dispatch_of(hybrid).queue.kind, "comparing"), "1", px=60_000)
        began = time.monotonic()
        await other.client.config_set("maxmemory", "1")
        jobs = {(await hybrid.submit("simple")).job_id}

        async def all_know() -> bool:
            return all(dispatch_of(engine).redis.breaker.health().opened for engine in [hybrid, *fleet])

        async def all_are_back() -> bool:
            return all(dispatch_of(engine).redis.breaker.is_closed for engine in [hybrid, *fleet])

        async def all_is_hinted() -> bool:
            return {key.job_id for key in await hinted(hybrid)} == jobs

        await until(all_know, "all have opened their breaker")
        await other.client.config_set("maxmemory", "0")
        await until(all_are_back, "all have reconnected")
        jobs |= {(await engine.submit("simple")).job_id for engine in fleet}  # after what they do on reconnect
        await until(all_is_hinted, "lost and new tasks have hints")
        looked = [engine.dispatch.health().reconciled_ago or 0.0 for engine in fleet]
        assert sum(ago < time.monotonic() - began for ago in looked) <= max_looks
        assert (hybrid.dispatch.health().reconciled_ago or 0.0) < time.monotonic() - began
