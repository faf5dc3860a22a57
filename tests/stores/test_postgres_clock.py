"""Leases follow the clock of the database server, not the clocks of its clients.

Here the server's clock is moved: a function of its name stands before PostgreSQL's own in the search path. SQLite has
no clock of its own, because it runs in the process of its client.
"""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import psycopg
import pytest

from reelstate.core.model import Progress
from reelstate.engine import Engine
from tests.engines import a_worker, engine_at

LEASE = timedelta(seconds=60)
SKEW = """
CREATE SCHEMA skewed;
CREATE FUNCTION skewed.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS $$ SELECT pg_catalog.clock_timestamp() + interval '{hours} hours' $$;
DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = skewed, pg_catalog, public', current_database());
END $$
"""


@pytest.fixture(params=[-1, 1])
def skewed_url(request: pytest.FixtureRequest, postgres_database: str) -> str:
    """A database whose clock differs by an hour from the clock of this process."""
    with psycopg.connect(postgres_database) as connection:
        connection.execute(SKEW.format(hours=request.param).encode())
    return postgres_database


@pytest.fixture
async def engine(skewed_url: str) -> AsyncIterator[Engine]:
    async with engine_at(skewed_url) as engine:
        yield engine


async def server_time(url: str) -> datetime:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        row = await (await connection.execute("SELECT clock_timestamp()")).fetchone()
    assert row is not None
    return datetime.fromisoformat(str(row[0]))


async def test_a_claim_and_a_report_lease_by_the_servers_clock(engine: Engine, skewed_url: str) -> None:
    job_id = (await engine.submit("simple")).job_id
    worker = await a_worker(engine)

    async def expiry() -> datetime:
        (task,) = (await engine.tasks(job_id)).items
        assert task.lease_expires_at is not None
        assert not task.lease_expired
        return task.lease_expires_at

    before_claim = await server_time(skewed_url)
    (task,) = (await engine.claim(worker)).tasks
    before_report = await server_time(skewed_url)
    assert before_claim <= await expiry() - LEASE <= before_report
    await engine.report(worker, [Progress(key=task.key, token=task.token)])
    assert before_report <= await expiry() - LEASE <= await server_time(skewed_url)
    assert (await engine.reclaim()).total == 0


async def test_due_tasks_and_silent_workers_follow_the_servers_clock(engine: Engine) -> None:
    await engine.submit("simple", delay=600)
    worker = await a_worker(engine)
    await engine.report(worker)
    assert (await engine.orchestrate()).ready == 0
    assert (await engine.claim(worker)).tasks == []
    assert await engine.reclaim_workers(stale_after=600) == []
