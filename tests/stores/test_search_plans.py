"""A search reads a window of one index, whatever is stored and whatever matches, on both stores."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
import pytest

from reelstate.app import store_at
from reelstate.services.observe import JobFilter
from reelstate.services.search import WINDOW, search_jobs
from reelstate.stores.migrate import statements
from reelstate.stores.postgres.address import session_address
from tests.postgres import PostgresServer

JOBS = 60_000
MILLION = 1_000_000
MAX_SECONDS = 0.050
ROUNDS = 21
INDEXES = {
    "group": "group_jobs_by_group",
    "schedule": "schedule_runs_jobs",
    "user": "jobs_by_user",
    "status": "jobs_by_status",
    "id": "jobs_pkey",
}
ANY: dict[str, Any] = {
    **dict.fromkeys(("pipelines", "created_from", "created_until", "finished_from", "finished_until")),
    "floor": 0,
    "before": 2**62,
    "window": WINDOW,
    "limit": 50,
    "low": 0,
    "high": 10,
    "flagged": False,
    "ids": [],
    "errors": [],
    "path": [],
    "text": [],
    "part": [],
    "statuses": None,
    "user_id": None,
    "group": None,
    "schedule": None,
}
VALUES: dict[str, dict[str, Any]] = {
    "group": {"group": "nightly"},
    "schedule": {"schedule": "nightly"},
    "user": {"user_id": "ada"},
    "status": {"statuses": ["failed", "quarantined"]},
    "id": {},
}
NO_MATCH = {"path": ["source"], "text": ["nowhere"], "part": [True]}
SEARCHES = (
    "status:failed",
    "status:failed,quarantined user:ada",
    "user:ada",
    "group:nightly",
    "schedule:nightly",
    "key:k500",
    "created:<7d",
    "created:<7d status:completed priority:>=7",
    "pipeline:p",
    'status:failed error~"no such text"',
    "user:ada spec.source~=nowhere",
    "created:<7d spec.source=nowhere",
)

SEED = """
    INSERT INTO {schema}pipelines (id, name, digest, graph) {overriding} VALUES (1, 'p', 'd', '{{}}');
    INSERT INTO {schema}schedules (id, name, pipeline, spec, priority, timing)
        VALUES (1, 'nightly', 'p', '{{}}', 5, '@daily');
    INSERT INTO {schema}jobs (id, pipeline_id, user_id, status, finished_at, spec, error, created_at)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {jobs})
    SELECT {first} + n, 1, CASE WHEN n % 3 = 0 THEN 'ada' ELSE '' END,
           CASE WHEN n % 4 = 0 THEN 'failed' ELSE 'completed' END, {now}, '{{"source": "s3://videos/some-long-name.mov"}}',
           CASE WHEN n % 4 = 0 THEN '{{"cause": {{"type": "Fail", "message": "it broke"}}}}' END{json}, {now}
    FROM numbers;
    INSERT INTO {schema}schedule_runs (schedule_id, key, tick, source, outcome, job_id)
    SELECT 1, CAST(id AS text), {now}, 'tick', 'submitted', id FROM {schema}jobs WHERE id % 5 = 0;
    INSERT INTO {schema}groups (id, user_id, name) VALUES (1, 'ada', 'nightly');
    INSERT INTO {schema}group_jobs (job_id, group_id)
    SELECT id, 1 FROM {schema}jobs WHERE id % 5 = 1;
    INSERT INTO {schema}idempotency (user_id, key, digest, job_id)
    SELECT '', 'k' || (id - {first}), 'd', id FROM {schema}jobs WHERE id % 100 = 0 AND user_id = '';
"""
"""Jobs of which a third has an owner, a quarter failed, and a fifth belongs to a schedule, another to a group."""


def first_id() -> int:
    return max(0, int(time.time()) - 1_735_689_600 - 3600) << 22


@contextmanager
def sqlite_jobs(path: Path, jobs: int) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        terms = {"schema": "", "overriding": "", "now": str(time.time()), "json": ""}
        connection.executescript(SEED.format(jobs=jobs, first=first_id(), **terms))
        yield connection


@contextmanager
def postgres_jobs(url: str, jobs: int) -> Iterator[psycopg.Connection]:
    with closing(psycopg.connect(session_address(url), autocommit=True)) as connection:
        connection.execute("ALTER TABLE reelstate.jobs DISABLE TRIGGER USER")
        terms = {"schema": "reelstate.", "overriding": "OVERRIDING SYSTEM VALUE", "now": "now()", "json": "::jsonb"}
        text = SEED.replace("some-long-name.mov\"}}'", "some-long-name.mov\"}}'::jsonb")
        connection.execute(text.format(jobs=jobs, first=first_id(), **terms).encode())
        connection.execute("VACUUM ANALYZE reelstate.jobs")
        connection.execute("VACUUM ANALYZE reelstate.schedule_runs")
        connection.execute("VACUUM ANALYZE reelstate.group_jobs")
        yield connection


async def migrated(path: Path) -> Path:
    store = store_at(f"sqlite:///{path}")
    await store.migrate()
    await store.close()
    return path


@pytest.mark.parametrize("by", INDEXES)
async def test_sqlite_reads_a_window_of_an_index(tmp_path: Path, by: str) -> None:
    with sqlite_jobs(await migrated(tmp_path / "jobs.db"), JOBS) as connection:
        given = {**ANY, **VALUES[by], "by": by, "rows": '[["source", "nowhere", 1]]'}
        parameters = {name: json.dumps(value) if isinstance(value, list) else value for name, value in given.items()}
        text = statements("reelstate.stores.sqlite")["search_ids"]
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters)]
        used = "INTEGER PRIMARY KEY" if by == "id" else INDEXES[by]
        assert any(line.startswith("SEARCH") and used in line for line in plan), plan
        assert not any(line.startswith(("SCAN jobs", "SCAN j ", "SCAN r ", "SCAN m ")) for line in plan), plan
        steps = 0

        def count() -> None:
            nonlocal steps
            steps += 1

        connection.set_progress_handler(count, 100)
        rows = connection.execute(text, parameters).fetchall()
        connection.set_progress_handler(None, 100)
        assert len(rows) == 1, "nothing matches, and the next page goes on"
        assert rows[0][0] < 0
        assert steps < 8 * WINDOW


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
def test_postgres_reads_a_window_of_an_index(
    postgres_server: PostgresServer, migrated_template: str, mode: str
) -> None:
    url = postgres_server.new_database(migrated_template)
    with postgres_jobs(url, JOBS) as connection:
        connection.execute(f"SET plan_cache_mode = {mode}".encode())
        for by, index in INDEXES.items():
            given = {**ANY, **VALUES[by], **NO_MATCH, "by": by, "now": None}
            text = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statements('reelstate.stores.postgres')['search_ids']}"
            ((plan,),) = connection.execute(text.encode(), given, prepare=True).fetchall()
            nodes = [node for node in every(plan[0]["Plan"]) if node["Actual Loops"]]
            assert index in {node.get("Index Name") for node in nodes}, (by, mode)
            reads = [node for node in nodes if node.get("Relation Name") in {"jobs", "schedule_runs", "group_jobs"}]
            assert not [node for node in reads if node["Node Type"] == "Seq Scan"], (by, mode)
            rows = max(node["Actual Rows"] * node["Actual Loops"] for node in reads)
            assert rows <= WINDOW, (by, mode, rows)
    postgres_server.drop_database(url)


def every(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from every(child)


async def slowest(url: str) -> dict[str, float]:
    """The median seconds of each search."""
    store = store_at(url)
    await store.open()
    taken: dict[str, float] = {}
    try:
        for search in SEARCHES:
            times = []
            for _ in range(ROUNDS):
                started = time.perf_counter()
                await search_jobs(store, search, JobFilter())
                times.append(time.perf_counter() - started)
            taken[search] = median(times)
    finally:
        await store.close()
    return taken


@pytest.mark.prove
async def test_sqlite_answers_in_fifty_milliseconds_out_of_a_million(tmp_path: Path) -> None:
    path = await migrated(tmp_path / "jobs.db")
    with sqlite_jobs(path, MILLION):
        pass
    taken = await slowest(f"sqlite:///{path}")
    assert max(taken.values()) <= MAX_SECONDS, taken


@pytest.mark.prove
async def test_postgres_answers_in_fifty_milliseconds_out_of_a_million(
    postgres_server: PostgresServer, migrated_template: str
) -> None:
    url = postgres_server.new_database(migrated_template)
    with postgres_jobs(url, MILLION):
        taken = await slowest(url)
    postgres_server.drop_database(url)
    assert max(taken.values()) <= MAX_SECONDS, taken
