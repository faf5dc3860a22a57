"""Archiving while workers drain a queue: nothing is lost, and in PostgreSQL nobody waits for a lock."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from reelstate.core.machine import JobStatus
from reelstate.core.model import Submission
from reelstate.engine import Engine
from tests.archive.finished_jobs import DAY, archive_engine, every_row, hot_ids
from tests.engines import a_worker, done

WAITS = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - waitstart)), 0)::float8, min(mode) FROM pg_locks
WHERE NOT granted AND waitstart IS NOT NULL
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


async def submit(engine: Engine, count: int) -> None:
    for start in range(0, count, 500):
        await engine.submit_many([Submission(pipeline="simple", spec={})] * min(500, count - start))


async def drain(engine: Engine, name: str) -> int:
    """Claim and complete until nothing is left; return how many."""
    worker, finished = await a_worker(engine, name), 0
    while tasks := (await engine.claim(worker, 100)).tasks:
        await engine.complete([done(task) for task in tasks])
        finished += len(tasks)
    return finished


@asynccontextmanager
async def longest_wait(url: str) -> AsyncIterator[list[float]]:
    """Measure the longest wait for a lock in a PostgreSQL database, by asking the server all the time."""
    found = [0.0]
    stop = asyncio.Event()

    async def probe() -> None:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            while not stop.is_set():
                row = await (await connection.execute(WAITS)).fetchone()
                found[0] = max(found[0], row[0] if row else 0.0)
                await asyncio.sleep(0.005)  # how often the prober looks

    prober = asyncio.create_task(probe())
    try:
        yield found
    finally:
        stop.set()
        await prober


async def archive_beside_a_fleet(url: str, old: int, new: int, workers: int) -> None:
    async with archive_engine(url) as (engine, clock):
        await submit(engine, old)
        await drain(engine, "before")
        clock.advance(31 * DAY)
        await submit(engine, new)
        archived = set(hot_ids(url)[:old])
        before = {job_id: rows for job_id, rows in by_job(url).items() if job_id in archived}
        archiving = asyncio.create_task(engine.archive())
        finished = await asyncio.gather(*(drain(engine, f"worker-{number}") for number in range(workers)))
        assert (await archiving).total == old
        assert sum(finished) == new
        after = by_job(url)
        assert {job_id: after[job_id] for job_id in before} == before, "archived rows are as they were"
        assert len(after) == old + new
        statuses = {job.status for job in (await engine.jobs(limit=10_000)).items}
        assert statuses == {JobStatus.COMPLETED}
        assert len(hot_ids(url)) == new
        assert (await engine.doctor()).healthy


def by_job(url: str) -> dict[int, list[str]]:
    """The rows of the tables of jobs, tasks and events, by job."""
    found: dict[int, list[str]] = {}
    for table, rows in every_row(url).items():
        for text in rows:
            row = json.loads(text)
            owner = row["id"] if table == "jobs" else row["job_id"]
            if owner is not None:
                found.setdefault(int(str(owner).partition(".")[0]), []).append(f"{table} {text}")
    return found


async def test_nothing_is_lost_while_a_fleet_drains(database_url: str) -> None:
    await archive_beside_a_fleet(database_url, old=120, new=120, workers=2)


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_nothing_is_lost_and_nobody_waits_while_a_fleet_drains(postgres_database: str) -> None:
    began = time.monotonic()
    async with longest_wait(postgres_database) as waited:
        await archive_beside_a_fleet(postgres_database, old=20_000, new=20_000, workers=3)
    print(f"longest wait for a lock {waited[0] * 1000:.0f} ms in {time.monotonic() - began:.0f} s")  # noqa: T201
    assert waited[0] < 0.1
