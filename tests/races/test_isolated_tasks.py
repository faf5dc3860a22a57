"""Isolated and poison tasks under concurrent claims: an isolated task runs alone, siblings of a poison task stop.

On PostgreSQL only: in SQLite a write transaction has the database to itself, so no other transaction interleaves.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import psycopg
import pytest

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Claim, ClaimedTask, Completion, Progress, Reclaimed, TaskKey, Verdict
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.stores.store import Row
from tests.engines import FakeClock, a_worker, engine_at
from tests.faults.wrapped_store import Pause, wrap_engine
from tests.races.test_deadlocks import deadlocks
from tests.races.test_lock_order import Connection

DEADLY = Graph.of("deadly", [StageSpec(name="part", each="spec.parts", attempts=5, max_lost=1)])
"""One lost worker that ran nothing else makes a poison task."""
LEASE = 61.0
TIMEOUT = 20.0


@pytest.fixture
async def engine(url: str, clock: FakeClock) -> AsyncIterator[Engine]:
    async with engine_at(url, clock, graphs=[DEADLY]) as engine:
        yield engine


@pytest.fixture
async def observer(url: str) -> AsyncIterator[Connection]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        yield connection


class Restart:
    """Sets an event when a transaction that begins with this statement begins a second time."""

    def __init__(self, first: str) -> None:
        self._first = first
        self._begun = 0
        self.seen = asyncio.Event()

    async def __call__(self, statement: str, run: Callable[[], Awaitable[list[Row]]]) -> list[Row]:
        if statement == self._first:
            self._begun += 1
            if self._begun > 1:
                self.seen.set()
        return await run()


async def wait_done_or_blocked(task: asyncio.Task[Any], observer: Connection, restart: Restart | None = None) -> None:
    """Wait until the task waits for a lock, has restarted, or is done."""
    async with asyncio.timeout(TIMEOUT):
        while not (task.done() or (restart and restart.seen.is_set()) or await is_blocked(observer)):
            await asyncio.wait({task}, timeout=0.002)


async def is_blocked(observer: Connection) -> bool:
    cursor = await observer.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    return await cursor.fetchone() != (0,)


# A worker claims twice at once.


class Claims:
    """Two claims of one worker: the second begins when the first has its task and has not committed yet."""

    def __init__(self, engine: Engine, worker: int, observer: Connection) -> None:
        self._engine, self._worker, self._observer = engine, worker, observer
        self._pause = Pause(after=2)

    async def first(self) -> asyncio.Task[Claim]:
        claim = asyncio.ensure_future(wrap_engine(self._engine, self._pause).claim(self._worker, 1))
        await self._pause.reached.wait()
        assert self._pause.statement == "claim"
        return claim

    async def second(self) -> Claim:
        claim = asyncio.ensure_future(self._engine.claim(self._worker, 1))
        await wait_done_or_blocked(claim, self._observer)
        self._pause.go_on.set()
        return await claim


async def a_lost_task(engine: Engine, pipeline: str = "simple") -> TaskKey:
    """Return a running task whose worker never reports again."""
    await engine.submit(pipeline, {"parts": 1})
    (task,) = (await engine.claim(await a_worker(engine, "lost"), 1)).tasks
    return task.key


async def test_a_worker_that_takes_an_isolated_task_gets_nothing_more_by_another_claim_at_once(
    engine: Engine, clock: FakeClock, observer: Connection
) -> None:
    isolated = await a_lost_task(engine)
    clock.advance(LEASE)
    await engine.reclaim()
    await engine.submit("simple")
    claims = Claims(engine, await a_worker(engine), observer)
    first = await claims.first()
    second = await claims.second()
    assert [task.key for task in (await first).tasks] == [isolated]
    assert second.tasks == []


async def test_a_worker_that_takes_a_task_gets_no_isolated_task_by_another_claim_at_once(
    engine: Engine, clock: FakeClock, observer: Connection
) -> None:
    await a_lost_task(engine)
    other = (await engine.submit("simple")).job_id
    claims = Claims(engine, await a_worker(engine), observer)
    first = await claims.first()
    clock.advance(LEASE)
    assert (await engine.reclaim()).ready == 1
    second = await claims.second()
    assert [task.key.job_id for task in (await first).tasks] == [other]
    assert second.tasks == []


async def test_a_task_that_another_claim_joined_at_once_is_no_poison_task(
    engine: Engine, clock: FakeClock, observer: Connection
) -> None:
    await engine.submit("simple")
    job_id = (await engine.submit("deadly", {"parts": 1})).job_id
    claims = Claims(engine, await a_worker(engine, slots=1), observer)
    first = await claims.first()
    second = await claims.second()
    assert [task.key.job_id for task in [*(await first).tasks, *second.tasks]][1:] == [job_id]
    clock.advance(LEASE)
    assert await engine.reclaim() == Reclaimed(ready=2, failed=0, stopped=0, quarantined=())


# A poison task whose sibling is locked when the job is quarantined.


class Siblings:
    """A job with a poison task whose lease has expired, and a healthy sibling."""

    poison: ClaimedTask
    sibling: ClaimedTask
    busy: int

    @classmethod
    async def start(cls, engine: Engine, clock: FakeClock) -> "Siblings":
        made = cls()
        await engine.submit("deadly", {"parts": 2})
        (made.poison,) = (await engine.claim(await a_worker(engine, "alone", slots=1), 1)).tasks
        clock.advance(LEASE / 2)
        made.busy = await a_worker(engine, "busy")
        (made.sibling,) = (await engine.claim(made.busy, 1)).tasks
        clock.advance(LEASE / 2)
        return made


async def quarantine_during(engine: Engine, held: Awaitable[object], pause: Pause, observer: Connection) -> object:
    """Quarantine the job while a paused verb holds the sibling; return the answer of the verb."""
    verb = asyncio.ensure_future(held)
    await pause.reached.wait()
    restart = Restart("reclaim")
    sweep = asyncio.ensure_future(wrap_engine(engine, restart).reclaim())
    await wait_done_or_blocked(sweep, observer, restart)
    pause.go_on.set()
    answer = await verb
    assert len((await sweep).quarantined) == 1
    return answer


async def statuses(engine: Engine, job_id: int) -> tuple[JobStatus, list[TaskStatus]]:
    return (await engine.job(job_id)).job.status, [task.status for task in (await engine.tasks(job_id)).items]


async def test_a_poison_tasks_sibling_that_just_reports_is_stopped_too(
    engine: Engine, clock: FakeClock, observer: Connection
) -> None:
    tasks = await Siblings.start(engine, clock)
    pause = Pause(after=2)
    reported = Progress(key=tasks.sibling.key, token=tasks.sibling.token, percent=50)
    await quarantine_during(engine, wrap_engine(engine, pause).report(tasks.busy, [reported]), pause, observer)
    assert pause.statement == "report"
    now = await statuses(engine, tasks.sibling.key.job_id)
    assert now == (JobStatus.QUARANTINED, [TaskStatus.ERROR, TaskStatus.NEW])
    assert (await engine.doctor()).findings == ()


async def test_a_poison_tasks_sibling_that_just_completes_is_kept_without_a_deadlock(
    engine: Engine, clock: FakeClock, observer: Connection, url: str
) -> None:
    tasks = await Siblings.start(engine, clock)
    before = await deadlocks(url)
    pause = Pause(after=1)
    end = Completion(key=tasks.sibling.key, token=tasks.sibling.token)
    answer = await quarantine_during(engine, wrap_engine(engine, pause).complete([end]), pause, observer)
    assert (pause.statement, answer) == ("complete", [Verdict.OK])
    now = await statuses(engine, tasks.sibling.key.job_id)
    assert now == (JobStatus.QUARANTINED, [TaskStatus.ERROR, TaskStatus.DONE])
    assert (await engine.doctor()).findings == ()
    assert await deadlocks(url) == before
