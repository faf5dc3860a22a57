"""Listing jobs by status or by user costs what is found, not what is stored, on both stores."""

import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reelstate.app import store_at
from reelstate.core.machine import JobStatus
from reelstate.stores.migrate import statements
from reelstate.stores.postgres.address import session_address
from reelstate.stores.sqlite.statement import bind
from tests.postgres import PostgresServer

JOBS = 20_000
FEW = 5
MAX_STEPS = 3000
EVERYTHING = {"before": 2**62, "limit": 50, "statuses": None, "pipeline": None, "user_id": None, "flagged": False}
FILTERS: dict[str, dict[str, Any]] = {
    "jobs_by_status": {"statuses": [JobStatus.FAILED, JobStatus.QUARANTINED]},
    "jobs_by_user": {"user_id": "ada"},
}
BOTH = {"statuses": [JobStatus.FAILED], "user_id": "ada"}

SEED = f"""
    INSERT INTO {{schema}}jobs (id, pipeline_id, user_id, status, finished_at)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {JOBS})
    SELECT n, 1, CASE WHEN n <= {FEW} THEN 'ada' ELSE '' END,
           CASE WHEN n <= {FEW} THEN 'failed' ELSE 'completed' END, {{now}}
    FROM numbers
"""
"""A few failed jobs of one user, older than all the completed ones."""


@pytest.fixture
async def file(tmp_path: Path) -> sqlite3.Connection:
    path = tmp_path / "jobs.db"
    store = store_at(f"sqlite:///{path}")
    await store.migrate()
    await store.close()
    connection = sqlite3.connect(path, isolation_level=None)
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute("INSERT INTO pipelines (id, name, digest, graph) VALUES (1, 'p', 'd', '{}')")
    connection.execute(SEED.format(schema="", now=1.0))
    return connection


def listed(file: sqlite3.Connection, **wanted: Any) -> tuple[list[int], int]:
    """Return the found jobs, and the number of SQLite instructions."""
    return counted(file, "observe_jobs", {name: bind(value) for name, value in {**EVERYTHING, **wanted}.items()})


def counted(file: sqlite3.Connection, statement: str, parameters: dict[str, Any]) -> tuple[list[int], int]:
    """Return the ids that a statement finds, and the number of SQLite instructions."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    text = statements("reelstate.stores.sqlite")[statement]
    file.set_progress_handler(count, 1)
    rows = file.execute(text, parameters).fetchall()
    file.set_progress_handler(None, 1)
    return [row[0] for row in rows], steps


@pytest.mark.parametrize("wanted", [*FILTERS.values(), BOTH], ids=["status", "user", "both"])
def test_sqlite_reads_only_what_it_finds(file: sqlite3.Connection, wanted: dict[str, Any]) -> None:
    ids, steps = listed(file, **wanted)
    assert ids == list(range(FEW, 0, -1))
    assert steps < MAX_STEPS


@pytest.mark.parametrize("wanted", [{}, {"statuses": ["completed", "failed"]}, {"user_id": ""}, {"pipeline": "p"}])
def test_sqlite_reads_no_more_than_a_page(file: sqlite3.Connection, wanted: dict[str, Any]) -> None:
    ids, steps = listed(file, **wanted)
    assert ids == list(range(JOBS, JOBS - 50, -1))
    assert steps < 2 * MAX_STEPS


def test_jobs_that_failed_long_ago_are_not_read_every_second(file: sqlite3.Connection) -> None:
    file.execute("UPDATE jobs SET status = 'failed', changed_at = 1.0")
    found, steps = counted(file, "orchestrate_stopped", {"now": 1e9, "recent": 60.0, "limit": 100})
    assert (found, steps < MAX_STEPS) == ([], True)


@pytest.mark.parametrize("index", FILTERS)
def test_sqlite_finds_them_by_an_index(file: sqlite3.Connection, index: str) -> None:
    text = statements("reelstate.stores.sqlite")["observe_jobs"]
    plan = [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {text}", EVERYTHING)]
    assert any(line.startswith("SEARCH") and index in line for line in plan), plan


@pytest.mark.parametrize("index", FILTERS)
def test_postgres_finds_them_by_an_index(postgres_server: PostgresServer, migrated_template: str, index: str) -> None:
    url = postgres_server.new_database(migrated_template)
    with psycopg.connect(session_address(url), autocommit=True) as connection:
        connection.execute("ALTER TABLE reelstate.jobs DISABLE TRIGGER USER")
        pipeline = "(id, name, digest, graph) OVERRIDING SYSTEM VALUE VALUES (1, 'p', 'd', '{}')"
        connection.execute(f"INSERT INTO reelstate.pipelines {pipeline}".encode())
        connection.execute(SEED.format(schema="reelstate.", now="now()").encode())
        connection.execute("ANALYZE reelstate.jobs")
        text = statements("reelstate.stores.postgres")["observe_jobs"]
        wanted = {**EVERYTHING, **FILTERS[index]}
        plan = connection.execute(f"EXPLAIN {text}".encode(), wanted, prepare=False).fetchall()
    postgres_server.drop_database(url)
    assert any(index in line for (line,) in plan), plan
