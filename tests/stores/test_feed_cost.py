"""A narrow subscription to a long event log: a statement reads at most a window, and no event is lost or repeated."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from reelstate.core.model import Event, TaskState
from reelstate.core.state import State
from reelstate.engine import Engine
from reelstate.feed.feed import Feed
from reelstate.feed.subscriber import FeedMessage, MessageKind
from reelstate.services import feed as log
from reelstate.services.feed import FeedItem, engine_feed
from reelstate.services.subscribe import Subscription, subscribe
from reelstate.stores.store import Batch, Flow, Row, Statement, Store
from reelstate.telemetry.facts import Fact
from tests.conformance.scenarios import progress, submitted, take_one
from tests.engines import a_worker, done, engine_at
from tests.manual_sql import ManualSql

LONG = 20_000
WINDOW = 500
STEPS_A_ROW = 100
"""SQLite instructions for each row that is read, with its states."""
READS_A_ROW = 4
"""Rows of PostgreSQL's indexes and tables for each: the edge is found, and what is before it is read."""

CROWD = """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
    INSERT INTO events (entity, job_id, stage, part, version, target, actor)
    SELECT 'task', {job_id}, 0, n, 1, 'ready', 'orchestrator' FROM numbers
"""
SAID = """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
    INSERT INTO state_log (id, job_id, generation, task, tag, status, severity, message, schema_version, version,
                           event_id, at)
    SELECT (SELECT max(id) FROM events) + n, '{job_id}.main', 1, 0, 'a', 1, 'info', '', 1, n, n, 0 FROM numbers
"""
SAID_IN_POSTGRES = """
    INSERT INTO state_log (job_id, generation, task, tag, status, severity, message, schema_version, version,
                           event_id, at)
    SELECT '{job_id}.main', 1, 0, 'a', 1, 'info', '', 1, n, n, now() FROM generate_series(1, {count}) AS n
"""
CROWDS = 4
EVENTS = 3
"""Each job has several rows."""


@dataclass
class Meter:
    """A store that measures what each statement of its reads costs, in windows."""

    inner: Store
    costs: dict[str, list[float]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def read(self, flow: Flow[Any]) -> Any:
        return await self.inner.read(lambda transaction: flow(_Metered(transaction, self.costs)))


@dataclass
class _Metered:
    inner: Any
    costs: dict[str, list[float]]

    def note(self, fact: Fact) -> None:
        self.inner.note(fact)

    async def run(self, statement: Any, batch: Batch | None = None, /, **parameters: Any) -> list[Any]:
        measured = self._steps if hasattr(self.inner, "_shapes") else self._rows
        rows, cost = await measured(statement, parameters)
        assert batch is None
        self.costs.setdefault(statement.name, []).append(cost / log.WINDOW)
        return rows

    async def _steps(self, statement: Statement[Any], parameters: dict[str, Any]) -> tuple[list[Row], float]:
        steps = 0

        def count() -> None:
            nonlocal steps
            steps += 100

        connection = self.inner._connection
        connection.set_progress_handler(count, 100)
        rows = await self.inner.run(statement, **parameters)
        connection.set_progress_handler(None, 100)
        return rows, steps / STEPS_A_ROW

    async def _rows(self, statement: Statement[Any], parameters: dict[str, Any]) -> tuple[list[Row], float]:
        statements = self.inner._statements
        statements["explain"] = f"EXPLAIN (ANALYZE, FORMAT JSON) {statements[statement.name]}"
        (((plan,),),) = await (await self.inner._execute("explain", None, {**parameters})).fetchall()
        return await self.inner.run(statement, **parameters), _read(plan["Plan"]) / READS_A_ROW


def _read(node: dict[str, Any]) -> float:
    """Return the rows that a plan reads from tables and indexes, with those it filters out."""
    found = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    own = found * node["Actual Loops"] if node.get("Relation Name") in {"events", "state_log"} else 0
    return float(own + sum(map(_read, node.get("Plans", []))))


@dataclass
class Scene:
    engine: Engine
    meter: Meter
    feed: Feed[FeedItem]
    jobs: list[int]
    """Of `ann`, before, within and after what is not hers."""
    crowd: int
    """A job with many rows, the last of them."""


@asynccontextmanager
async def long_record(url: str, rows: int) -> AsyncIterator[Scene]:
    async with engine_at(url) as engine:
        manual_sql = ManualSql(url)
        worker = await a_worker(engine)
        other = await submitted(engine, user_id="bob")
        await take_one(engine, worker)
        jobs = [await _run_job(engine, worker)]
        for crowd in range(other - CROWDS, other):
            manual_sql.run(CROWD.format(count=rows // CROWDS, job_id=crowd))
            manual_sql.run(
                (SAID_IN_POSTGRES if manual_sql.postgres else SAID).format(count=rows // CROWDS // 2, job_id=crowd)
            )
            if not manual_sql.postgres:
                manual_sql.run("UPDATE sqlite_sequence SET seq = (SELECT max(id) FROM state_log) WHERE name = 'events'")
            jobs.append(await _run_job(engine, worker))
        manual_sql.run("ANALYZE")
        meter = Meter(engine.store)
        feed = engine_feed(meter, engine.dispatch, engine.catalogue)
        yield Scene(engine, meter, feed, jobs, crowd)
        await feed.close()


async def _run_job(engine: Engine, worker: int) -> int:
    """A job with events and states."""
    job_id = await submitted(engine, user_id="ann")
    task = await take_one(engine, worker)
    await engine.report(worker, [progress(task, states=[TaskState(tag="a", number=1, status=1)])])
    await engine.complete([done(task)])
    return job_id


def key_of(item: Event | State) -> tuple[object, ...]:
    if isinstance(item, State):
        return item.job_id, item.version
    return item.entity, item.job_id, item.stage, item.part, item.version


async def replayed(scene: Scene, **wanted: Any) -> list[FeedMessage[FeedItem]]:
    found = []
    messages = subscribe(scene.feed, scene.meter, Subscription(**wanted), "0")
    async with aclosing(messages):
        async for message in messages:
            found.append(message)
            if message.kind is MessageKind.REPLAY_COMPLETE:
                break
    return found


async def nothing_is_read_whole(url: str, rows: int) -> None:
    async with long_record(url, rows) as scene:
        head = await scene.engine.head()
        expected = {job_id: (await scene.engine.history(job_id)).items for job_id in scene.jobs}
        assert all(len(events) > EVENTS for events in expected.values())
        every = await replayed(scene, user_id="ann")
        items = [message.item for message in every if isinstance(message.item, Event | State)]
        assert [key_of(item) for item in items if isinstance(item, Event)] == [
            key_of(event) for job_id in scene.jobs for event in expected[job_id]
        ]
        assert [key_of(item) for item in items if isinstance(item, State)] == [
            (f"{job_id}.main", 1) for job_id in scene.jobs
        ]
        assert [message.kind for message in every].count(MessageKind.BOOKMARK) >= rows // log.WINDOW - CROWDS
        order = scene.feed.log.order
        assert order(every[-1].cursor) >= order(head)
        for job_id in scene.jobs:
            one = await replayed(scene, job_id=job_id)
            assert [key_of(m.item) for m in one if isinstance(m.item, Event)] == [key_of(e) for e in expected[job_id]]
        dearest = {statement: max(costs) for statement, costs in scene.meter.costs.items()}
        assert {"observe_feed", "states_log", "observe_history", "observe_window"} <= dearest.keys()
        assert {statement for statement, cost in dearest.items() if cost > 1} == set(), dearest
        await scene.feed.log.read("0.0.0", 500, (scene.crowd,))
        assert scene.meter.costs["observe_history"][-1] * log.WINDOW <= rows // CROWDS, "of one job, no other's"


async def test_a_narrow_subscription_reads_a_long_record_in_windows(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "WINDOW", WINDOW)
    await nothing_is_read_whole(database_url, LONG)


@pytest.mark.prove
async def test_a_narrow_subscription_reads_a_million_rows_in_windows(database_url: str) -> None:
    await nothing_is_read_whole(database_url, 1_000_000)
