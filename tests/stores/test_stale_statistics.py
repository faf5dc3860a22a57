"""No verb reads the whole queue, whatever the planner believes: its statistics are those of an empty queue.

Statistics are renewed by autovacuum, which may run while nothing waits. Plans that were made for no waiting tasks must
not read all of them once there are many.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest

from reelstate.core.group import Group
from reelstate.core.machine import JobStatus
from reelstate.core.model import Progress, Release, Submission
from reelstate.engine import Engine
from reelstate.services import orchestrate, search
from reelstate.services.groups import settle
from reelstate.stores.postgres.store import GENERIC_PLANS, PostgresTransaction
from reelstate.stores.store import Batch, Row, Statement
from tests.engines import FakeClock, a_worker, done, engine_at, failed

WAITING = 1_500
"""Jobs that wait, and parts of one more job."""
BATCH = 10
MOST = 300
"""Rows that a node of a plan may read for a batch."""
PROPORTIONAL = {"orchestrate_reset", "why_before"}
"""A job that fails takes its waiting parts out of the queue; `why` counts what is before a task, up to a limit."""
WITHOUT_STATISTICS = (
    "ALTER TABLE reelstate.jobs SET (autovacuum_enabled = off)",
    "ALTER TABLE reelstate.tasks SET (autovacuum_enabled = off)",
    "ALTER TABLE reelstate.stages SET (autovacuum_enabled = off)",
    "ALTER TABLE reelstate.events SET (autovacuum_enabled = off)",
    "ALTER TABLE reelstate.groups SET (autovacuum_enabled = off)",
    "ALTER TABLE reelstate.group_jobs SET (autovacuum_enabled = off)",
    "ALTER TABLE reelstate.waits SET (autovacuum_enabled = off)",
    "ALTER TABLE reelstate.dependencies SET (autovacuum_enabled = off)",
    "ALTER TABLE reelstate.ended_jobs SET (autovacuum_enabled = off)",
)


@pytest.fixture
async def busy(postgres_database: str, clock: FakeClock) -> AsyncIterator[Engine]:
    """An engine with many waiting jobs and parts, and the statistics of the time before them."""
    async with engine_at(postgres_database, clock) as engine:
        async with await psycopg.AsyncConnection.connect(postgres_database, autocommit=True) as connection:
            for statement in WITHOUT_STATISTICS:
                await connection.execute(statement.encode())
            await submit(engine, 300)
            worker = await a_worker(engine, "before")
            while tasks := (await engine.claim(worker, 100)).tasks:
                await engine.complete([done(task) for task in tasks])
            await connection.execute("ANALYZE")
        await submit(engine, WAITING)
        await engine.submit("parts", {"parts": WAITING}, priority=6)
        yield engine


async def submit(engine: Engine, count: int) -> None:
    await engine.submit_many([Submission(pipeline="simple", spec={"number": number}) for number in range(count)])


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Explain every statement before it runs; return the largest number of rows that a node of each has read."""
    found: dict[str, int] = defaultdict(int)
    run = PostgresTransaction.run

    async def explain(
        self: PostgresTransaction, statement: Statement[Row], batch: Batch | None = None, /, **parameters: Any
    ) -> list[Row]:
        text = self._statements[statement.name]
        explained = dict(self._statements) | {statement.name: f"EXPLAIN (ANALYZE, FORMAT JSON) {text}"}
        probe = PostgresTransaction(
            self._connection, explained, self._clock, prepare=self._prepare, checked=self._checked
        )
        async with self._connection.transaction(force_rollback=True):
            cursor = await probe._execute(statement.name, batch, dict(parameters))
            ((plan,),) = await cursor.fetchall()
        found[statement.name] = max(found[statement.name], *map(rows_read, nodes(plan[0]["Plan"])))
        return await run(self, statement, batch, **parameters)

    monkeypatch.setattr(PostgresTransaction, "run", explain)
    return found


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def rows_read(node: dict[str, Any]) -> int:
    """Return the rows that a node has returned or read and left out."""
    removed = sum(value for name, value in node.items() if name.startswith("Rows Removed by"))
    return int((node["Actual Rows"] + removed) * node["Actual Loops"])


async def test_no_verb_of_a_worker_reads_the_queue(busy: Engine, read: dict[str, int]) -> None:
    worker = await a_worker(busy)
    parts = (await busy.claim(worker, BATCH)).tasks
    assert {task.pipeline for task in parts} == {"parts"}
    simple = (await busy.claim(await a_worker(busy, "simple", pipelines=["simple"]), 4 * BATCH)).tasks
    for tasks in (parts, simple[: 2 * BATCH]):
        await busy.report(worker, [Progress(key=task.key, token=task.token, percent=50.0) for task in tasks])
        completed, broken, back = tasks[:4], tasks[4:7], tasks[7:]
        await busy.complete([done(task) for task in completed])
        await busy.complete([done(task) for task in completed])
        await busy.fail([failed(task) for task in broken])
        await busy.fail([failed(task, retryable=False) for task in back[:1]])
        await busy.release([Release(key=task.key, token=task.token) for task in back[1:]])
    hints = [task.key for task in simple[2 * BATCH :]]
    await busy.release([Release(key=task.key, token=task.token) for task in simple[2 * BATCH :]])
    assert len((await busy.claim(worker, BATCH, hints=hints, pipelines=["simple", "parts"])).tasks) == BATCH
    await busy.claimed(worker, [])
    assert too_many(read) == {}


async def test_no_duty_of_a_keeper_reads_the_queue(
    busy: Engine, clock: FakeClock, read: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orchestrate, "STUCK_WINDOW", 100)
    worker = await a_worker(busy)
    assert len((await busy.claim(worker, BATCH)).tasks) == BATCH
    clock.advance(3600)
    await busy.reclaim(limit=BATCH)
    await busy.orchestrate(limit=BATCH)
    await busy.reclaim_workers()
    await busy.flag_stalled()
    await busy.relax()
    assert too_many(read) == {}


async def test_no_verb_of_an_operator_reads_the_queue(busy: Engine, read: dict[str, int]) -> None:
    jobs = [job.id for job in (await busy.jobs(limit=20)).items if job.pipeline == "simple"]
    await busy.submit("simple", {"number": 1}, idempotency_key="one")
    await busy.cancel(jobs[0])
    await busy.quarantine(jobs[1], reason="odd")
    await busy.retry(jobs[1])
    await busy.reprioritise(jobs[2], priority=9)
    await busy.force(jobs[3], target=JobStatus.FAILED, reason="odd")
    for job_id in jobs[:5]:
        await busy.job(job_id)
        await busy.tasks(job_id)
        await busy.why(job_id)
    assert too_many(read) == {}


def too_many(read: dict[str, int]) -> dict[str, int]:
    return {statement: rows for statement, rows in read.items() if rows > MOST and statement not in PROPORTIONAL}


async def test_no_verb_on_groups_and_waiting_jobs_reads_all_of_them(
    busy: Engine, read: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ENDED_LIMIT", "DUE_LIMIT", "WINDOW"):
        monkeypatch.setattr(settle, name, BATCH)
    monkeypatch.setattr(orchestrate, "STUCK_WINDOW", 100)
    monkeypatch.setattr(search, "WINDOW", 100)
    ids = await submit_groups(busy)
    read.clear()
    waiting = await busy.submit("simple", group="few", after=[Group("many"), *ids[:BATCH]])
    worker = await a_worker(busy)
    tasks = (await busy.claim(worker, BATCH)).tasks
    assert {task.key.job_id for task in tasks} < set(ids)
    await busy.complete([done(task) for task in tasks])
    await busy.orchestrate(limit=BATCH)
    assert len((await busy.jobs(search="group:many", limit=BATCH)).items) == BATCH
    await busy.why(waiting.job_id)
    await busy.cancel(ids[-1])
    found = too_many(read)
    assert found.keys() <= {"why_after", "groups_counts"}, "the counts of a group are of all its jobs"


async def submit_groups(engine: Engine) -> list[int]:
    """Submit a group of many jobs, for each a job that waits for it, and return the ids of the group."""
    made = await engine.submit_many([Submission(pipeline="simple", group="many", priority=9)] * WAITING)
    ids = [each.job_id for each in made]
    await engine.submit_many([Submission(pipeline="simple", group="few", after=[job_id]) for job_id in ids])
    return ids


async def test_the_end_of_a_job_is_noted_without_a_look_at_other_jobs(busy: Engine, postgres_database: str) -> None:
    """The function of the trigger keeps the plans that it has made while there were no groups."""
    async with await psycopg.AsyncConnection.connect(postgres_database, autocommit=True) as connection:
        plain = [job.id for job in (await busy.jobs(pipeline="simple", limit=3)).items]
        (first,) = await busy.submit_many([Submission(pipeline="simple", group="first")])
        await connection.execute(GENERIC_PLANS)
        await connection.execute(b"ANALYZE")
        for job_id in (plain[0], first.job_id):
            await cancel(connection, job_id)
        ids = await submit_groups(busy)
        async with connection.transaction():
            for job_id in (plain[1], ids[-1]):
                await cancel(connection, job_id)
            cursor = await connection.execute(
                "SELECT sum(seq_tup_read)::integer FROM pg_stat_xact_user_tables WHERE schemaname = 'reelstate'"
                " AND relname IN ('groups', 'group_jobs', 'waits', 'dependencies')"
            )
            ((rows,),) = await cursor.fetchall()
    assert rows <= BATCH


async def cancel(connection: psycopg.AsyncConnection[Any], job_id: int) -> None:
    await connection.execute(
        "UPDATE reelstate.jobs SET status = 'cancelled', finished_at = clock_timestamp() WHERE id = %s", [job_id]
    )
