"""A working deployment: every metric changes when what it counts happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any

import pytest

import reelstate as rs
from reelstate.api.metrics import ClusterGauges
from reelstate.app import keeper_for, open_engine, read_engine, read_worker
from reelstate.config import Settings
from reelstate.core.model import ClaimedTask, Completion, Verdict
from reelstate.core.pipeline import Graph
from reelstate.core.state import State
from reelstate.engine import Engine
from reelstate.feed.subscriber import MessageKind
from reelstate.states.manager import StateManager
from reelstate.states.memory import MemoryStore
from reelstate.states.state_store import StoreFigures
from reelstate.telemetry.declarations import METRICS
from reelstate.telemetry.metrics import Metrics, counting
from reelstate.worker.link import Link
from tests.api.api_server import Server, api_server
from tests.engines import FAN, SIMPLE, FakeClock, a_worker, done, failed
from tests.redis_server import RedisServer
from tests.telemetry.scraping import Scrape, changed, increase, require
from tests.waiting import until
from tests.worker.local_workers import run_worker, wait_inactive

ELSEWHERE = {
    "outbox_backlog": "webhooks/test_delivery.py",
    "database_pool_size": "test_pool.py",
    "database_pool_waiting": "test_pool.py",
    "database_pool_errors_total": "test_pool.py",
    "media_seconds_encoded_total": "test_media.py",
    "encode_speed_ratio": "test_media.py",
    "command_exits_total": "test_media.py",
}
"""Metrics that change in other tests."""


class Scene:
    """An engine with a server whose metrics are scraped."""

    def __init__(self, engine: Engine, server: Server, url: str, clock: FakeClock, metrics: Metrics) -> None:
        self.engine = engine
        self.server = server
        self.url = url
        self.clock = clock
        self.metrics = metrics
        self.seen: set[str] = set()
        self.last: Scrape | None = None

    async def scrape(self) -> Scrape:
        """Scrape /metrics as Prometheus does, without waiting for the cache of the gauges."""
        app: Any = self.server.server.config.app
        gauges: ClusterGauges = app.state.gauges
        gauges._read_at = float("-inf")
        answer = await self.server.ask("nobody", "GET", "/metrics")
        assert answer.status_code == 200, answer.text
        found = Scrape(answer.text)
        if self.last is not None:
            self.seen |= changed(self.last, found)
        self.last = found
        return found


flaky = rs.Pipeline("flaky")


@flaky.stage(attempts=2, backoff=0.0)
async def sometimes(task: rs.Run) -> str:
    if "gate" in task.spec:
        started, go_on = gates[task.spec["gate"]]
        started.set()
        await go_on.wait()
    if task.attempt == 1:
        raise rs.Retry("not yet", after=0)
    return "done"


gates: dict[str, tuple[asyncio.Event, asyncio.Event]] = {}
"""Pairs of events: a run has started, and may go on."""


@pytest.fixture
async def scene(database_url: str, clock: FakeClock, frail_redis: RedisServer) -> AsyncIterator[Scene]:
    settings = Settings(
        database_url=database_url, dispatch="hybrid", redis_url=frail_redis.url, redis_timeout=5.0, database_timeout=5.0
    )
    pipelines: list[rs.Pipeline | Graph] = [SIMPLE, FAN, flaky]
    async with AsyncExitStack() as stack:
        opened = open_engine(database_url, pipelines=pipelines, settings=settings, clock=clock, migrate=True)
        engine = await stack.enter_async_context(opened)
        metrics = stack.enter_context(counting(Metrics()))
        metrics.add_reading(partial(read_engine, engine))
        server = await stack.enter_async_context(api_server(engine, database_url, metrics))
        yield Scene(engine, server, database_url, clock, metrics)


async def test_every_metric_changes_when_what_it_counts_happens(scene: Scene, frail_redis: RedisServer) -> None:
    await scene.scrape()
    await submit_and_run(scene)
    await fail_and_retry(scene)
    await expire_and_quarantine(scene)
    await cancel_and_drain(scene)
    await keep(scene)
    await follow(scene)
    await read_through_a_cache(scene)
    await lose_redis(scene, frail_redis)
    await lose_store(scene)
    assert {metric.name for metric in METRICS} - scene.seen <= ELSEWHERE.keys()


async def claim_one(engine: Engine, worker: int) -> ClaimedTask:
    """Claim a task of `simple`; its hint may be on its way."""
    claimed: list[ClaimedTask] = []

    async def claim() -> bool:
        claimed.extend((await engine.claim(worker, 1, pipelines=["simple"])).tasks)
        return bool(claimed)

    await until(claim)
    return claimed[0]


async def submit_and_run(scene: Scene) -> None:
    before = await scene.scrape()
    await scene.server.submit(pipeline="flaky")
    await scene.server.submit(pipeline="simple")
    waiting = await scene.scrape()
    require(
        before,
        waiting,
        [
            ("jobs_created_total", {"pipeline": "simple"}, 1),
            ("transitions_total", {"machine": "job", "from": "none", "to": "pending"}, 2),
            ("queue_size", {}, 2),
            ("tasks_ready", {"pipeline": "simple", "lane": "any"}, 1),
            ("http_requests_total", {"method": "POST", "route": "/api/v1/jobs", "status": "201"}, 2),
        ],
    )
    scene.clock.advance(30)
    aged = await scene.scrape()
    assert aged.value("oldest_ready_seconds", pipeline="simple") == 30
    worker = await a_worker(scene.engine)
    task = await claim_one(scene.engine, worker)
    running = await scene.scrape()
    require(
        aged,
        running,
        [
            ("workers_active", {}, 1),
            ("worker_slots", {}, 1000),
            ("jobs_in_progress", {}, 1),
            ("queue_size", {}, -1),
            ("tasks_running", {"pipeline": "simple"}, 1),
            ("task_wait_seconds_sum", {"pipeline": "simple", "stage": "main"}, 30),
            ("transitions_total", {"machine": "task", "from": "ready", "to": "running"}, 1),
            ("transitions_total", {"machine": "job", "from": "pending", "to": "processing"}, 1),
        ],
    )
    scene.clock.advance(10)
    await scene.engine.complete([done(task)])
    require(
        running,
        await scene.scrape(),
        [
            ("jobs_completed_total", {"status": "completed"}, 1),
            ("job_duration_seconds_sum", {"status": "completed"}, 40),
            ("state_seconds_sum", {"machine": "job", "state": "processing"}, 10),
            ("transitions_total", {"machine": "task", "from": "running", "to": "done"}, 1),
            ("transitions_total", {"machine": "job", "from": "processing", "to": "completed"}, 1),
            ("jobs_in_progress", {}, -1),
        ],
    )


class HeldLink:
    """A link that does not answer to results before it may."""

    def __init__(self, inner: Link) -> None:
        self._inner = inner
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def complete(self, items: Sequence[Completion]) -> list[Verdict]:
        self.asked.set()
        await self.go_on.wait()
        return await self._inner.complete(items)


async def fail_and_retry(scene: Scene) -> None:
    """A worker runs jobs that fail once, are tried again and complete; the last results have to wait for the store."""
    before = await scene.scrape()
    async with run_worker(scene.engine, scene.url, [flaky]) as worker:
        scene.metrics.add_reading(partial(read_worker, worker))
        await wait_inactive(scene.engine, (await scene.engine.jobs(pipeline="flaky")).items[0].id)
        link = HeldLink(scene.engine)
        worker._outbox._link = link
        started, go_on = gates[scene.url] = asyncio.Event(), asyncio.Event()
        jobs = [(await scene.engine.submit("flaky", {"gate": scene.url})).job_id]
        await asyncio.wait_for(started.wait(), 60)
        assert (await scene.scrape()).value("worker_load", worker="worker") == 0.25
        go_on.set()
        await until(partial(due_and, scene, link.asked.is_set))
        jobs.append((await scene.engine.submit("flaky")).job_id)
        await until(partial(due_and, scene, lambda: worker.unsent > 0))
        assert (await scene.scrape()).value("worker_outbox", worker="worker") > 0
        link.go_on.set()
        for job in jobs:
            await wait_inactive(scene.engine, job)
    after = await scene.scrape()
    require(
        before,
        after,
        [
            ("task_retries_total", {}, 3),
            ("task_failures_total", {}, 3),
            ("max_retries_exceeded_total", {}, 0),
            ("transitions_total", {"machine": "task", "from": "running", "to": "error"}, 3),
            ("transitions_total", {"machine": "task", "from": "error", "to": "ready"}, 3),
            ("task_run_seconds_count", {"stage": "sometimes", "outcome": "retried"}, 3),
            ("task_run_seconds_count", {"stage": "sometimes", "outcome": "completed"}, 3),
            ("transitions_total", {"machine": "worker", "to": "offline"}, 1),
        ],
    )


async def due_and(scene: Scene, condition: Callable[[], bool]) -> bool:
    """Make due tasks ready, and return whether a condition holds."""
    await scene.engine.orchestrate()
    return condition()


async def expire_and_quarantine(scene: Scene) -> None:
    """A worker is lost with a task, again and again; the keeper recovers the task, then quarantines its job."""
    engine = scene.engine
    alone = await a_worker(engine, "alone", slots=1)
    await engine.submit("simple")
    before = await scene.scrape()
    for _ in range(3):
        await claim_one(engine, alone)
        scene.clock.advance(600)
        await engine.reclaim()
    require(
        before,
        await scene.scrape(),
        [
            ("lease_expiries_total", {"cause": "lease expired"}, 3),
            ("stale_jobs_recovered_total", {}, 2),
            ("max_retries_exceeded_total", {}, 1),
            ("task_failures_total", {}, 3),
            ("quarantines_total", {}, 1),
            ("jobs_completed_total", {"status": "quarantined"}, 1),
            ("jobs", {"status": "quarantined"}, 1),
            ("transitions_total", {"machine": "task", "from": "running", "to": "ready"}, 2),
        ],
    )
    await engine.submit("simple")
    delayed = await scene.scrape()
    task = await claim_one(engine, alone)
    await engine.fail([failed(task, retry_in=60.0)])
    require(delayed, await scene.scrape(), [("tasks_delayed", {}, 1), ("task_retries_total", {}, 1)])


async def cancel_and_drain(scene: Scene) -> None:
    before = await scene.scrape()
    job = (await scene.engine.submit("simple")).job_id
    scene.clock.advance(5)
    await scene.engine.cancel(job)
    await scene.engine.drain("alone")
    require(
        before,
        await scene.scrape(),
        [
            ("jobs_completed_total", {"status": "cancelled"}, 1),
            ("job_duration_seconds_sum", {"status": "cancelled"}, 5),
            ("transitions_total", {"machine": "job", "from": "pending", "to": "cancelled"}, 1),
            ("workers", {"status": "draining"}, 1),
        ],
    )


async def keep(scene: Scene) -> None:
    """A keeper sweeps, and one of its duties fails."""
    before = await scene.scrape()
    keeper = keeper_for(scene.engine, Settings(database_url=scene.url, sweep_every=0.05), library=False)
    running = asyncio.create_task(keeper.run())
    try:
        await until(lambda: keeper._swept)
        await asyncio.wait_for(keeper._leading.wait(), 300)
        await until(lambda: increase(before, Scrape(scene.metrics.render().decode()), "keeper_duty_seconds_count") > 3)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    failing = next(duty for duty in keeper.duties if duty.name == "check")

    async def fail() -> None:
        raise RuntimeError("it broke")

    await keeper._attempt(type(failing)("check", 1.0, fail))
    scene.clock.advance(40)
    after = await scene.scrape()
    assert after.value("keeper_last_sweep_seconds") == 40
    assert increase(before, after, "keeper_duty_failures_total", duty="check") == 1


async def follow(scene: Scene) -> None:
    """Subscribers of states: one leaves with messages waiting, one is too slow, the log skips versions."""
    before = await scene.scrape()
    store = MemoryStore()
    manager = await StateManager.open("job", 0, 1, store)
    feed = await store.feed("job")
    async with asyncio.timeout(300), aclosing(manager.subscribe()) as messages:
        await anext(messages)
        await manager.set_state("a", 1)
        await anext(messages)
        kept = store._jobs["job"]
        kept.newest[next(iter(kept.newest))] = State(job_id="job", task=0, tag="a", version=4)
        feed._buffer = 1
        async with aclosing(manager.subscribe()) as slow:
            while (await anext(slow)).kind is not MessageKind.REPLAY_COMPLETE:
                pass
            reading = asyncio.create_task(anext(slow))
            for status in range(2, 6):
                await manager.set_state("a", status)
            await reading
            await until(lambda: feed.figures.overflows == 1)
        feed._set_stale("no answer")
        feed._set_fresh()
    await manager.delete_job()
    with pytest.raises(rs.NotFound):
        await manager.set_state("a", 1)
    require(
        before,
        await scene.scrape(),
        [
            ("feed_replay_seconds_count", {}, 2),
            ("feed_version_drift_total", {}, feed.figures.drift),
            ("feed_dropped_total", {}, feed.figures.dropped),
            ("feed_overflows_total", {}, 1),
            ("feed_reconnects_total", {}, 1),
            ("feed_delivery_seconds_count", {}, feed.figures.delivered),
            ("state_write_seconds_count", {}, store.figures.writes),
            ("state_write_errors_total", {}, store.figures.write_errors),
        ],
    )
    assert (feed.figures.drift, feed.figures.dropped > 0, store.figures.write_errors) == (3, True, 1)


async def read_through_a_cache(scene: Scene) -> None:
    before = await scene.scrape()
    figures = StoreFigures()
    figures.read(hit=True)
    figures.read(hit=False)
    after = await scene.scrape()
    require(
        before, after, [("cache_reads_total", {"cache": "states", "result": result}, 1) for result in ("hit", "miss")]
    )
    assert after.value("cache_hit_ratio", cache="states") == figures.hit_rate == 0.5


async def lose_redis(scene: Scene, redis: RedisServer) -> None:
    before = await scene.scrape()
    assert before.value("dispatch_breaker_state") == 0
    redis.stop()
    await scene.engine.submit("simple")
    circuit = partial(scene.engine.dispatch.health)
    await until(lambda: (found := circuit().circuit) is not None and found.opened == 1)
    after = await scene.scrape()
    assert after.value("dispatch_breaker_state") > 0
    require(before, after, [("dispatch_breaker_opened_total", {}, 1)])


async def lose_store(scene: Scene) -> None:
    assert (await scene.scrape()).value("database_up") == 1
    await scene.engine.store.close()
    after = await scene.scrape()
    assert after.value("database_up") == 0
    assert after.value("jobs_created_total") > 0
    assert after.labels("queue_size") == []
