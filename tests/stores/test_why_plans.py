"""An explanation costs what it says, not what is stored: each statement reads an index, and a bounded part of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reelstate.app import store_at
from reelstate.core.why import CAP
from reelstate.stores.migrate import statements
from reelstate.stores.postgres.address import session_address
from reelstate.stores.sqlite.statement import bind
from tests.postgres import PostgresServer

PARTS = 20_000
OTHERS = 20_000
WANTED = {"job_id": 1, "stages": [0], "part": None, "cap": CAP}
BEFORE = {"workers": [1], "isolated": False, "priority": 5, "job_id": 3, "stage": 0, "part": 0, "cap": CAP}
NAMED: dict[str, tuple[str, dict[str, Any]]] = {
    "why_ready": ("tasks_ready", WANTED),
    "why_due": ("tasks_waiting", WANTED),
    "why_before": ("tasks_ready", BEFORE),
}
MAX_STEPS = 60 * CAP
MAX_PAGES = 2 * CAP
LISTS = {"sqlite": ('["p"]', "[]"), "postgres": ("{p}", "{}")}

SEED = """
    INSERT INTO {schema}pipelines (id, name, digest, graph) {overriding} VALUES (1, 'p', 'd', '{{}}');
    INSERT INTO {schema}lanes (id, pipeline, needs, prefers) {overriding} VALUES (1, 'p', '{empty}', '{empty}');
    INSERT INTO {schema}worker_names (name) VALUES ('w');
    INSERT INTO {schema}workers (id, name, hostname, software, kind, slots, capabilities, pipelines)
        VALUES (1, 'w', 'h', 's', 'local', 4, '{empty}', '{served}');
    INSERT INTO {schema}jobs (id, pipeline_id, status)
        VALUES (1, 1, 'processing'), (2, 1, 'processing'), (3, 1, 'processing');
    INSERT INTO {schema}tasks (job_id, stage, part, lane, status, ready_at, run_after, finished_at)
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count} - 1)
    SELECT 1 + n % 2, 0, n, 1, CASE n % 5 WHEN 0 THEN 'ready' WHEN 1 THEN 'new' WHEN 2 THEN 'error' ELSE 'done' END,
           CASE WHEN n % 5 = 0 THEN {now} END, CASE WHEN n % 5 IN (1, 2) THEN {now} END,
           CASE WHEN n % 5 IN (3, 4) THEN {now} END
    FROM numbers;
"""
"""Two jobs with many tasks: ready, delayed, to be retried and done. A third job has none."""


def seed(dialect: str, **values: str) -> str:
    served, empty = LISTS[dialect]
    return SEED.format(count=PARTS + OTHERS, served=served, empty=empty, **values)


@pytest.fixture
async def file(tmp_path: Path) -> sqlite3.Connection:
    path = tmp_path / "why.db"
    store = store_at(f"sqlite:///{path}")
    await store.migrate()
    await store.close()
    connection = sqlite3.connect(path, isolation_level=None)
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.executescript(seed("sqlite", schema="", overriding="", now="1.0"))
    return connection


@pytest.fixture
def database(postgres_server: PostgresServer, migrated_template: str) -> Iterator[psycopg.Connection]:
    url = postgres_server.new_database(migrated_template)
    with closing(psycopg.connect(session_address(url), autocommit=True)) as connection:
        for table in ("jobs", "tasks", "workers"):
            connection.execute(f"ALTER TABLE reelstate.{table} DISABLE TRIGGER USER".encode())
        text = seed("postgres", schema="reelstate.", overriding="OVERRIDING SYSTEM VALUE", now="now()")
        connection.execute(text.encode())
        connection.execute("ANALYZE")
        yield connection
    postgres_server.drop_database(url)


@pytest.mark.parametrize("statement", NAMED)
def test_sqlite_reads_a_bounded_part_of_an_index(file: sqlite3.Connection, statement: str) -> None:
    index, wanted = NAMED[statement]
    parameters = {name: bind(value) for name, value in {**wanted, "now": 100.0}.items()}
    text = statements("reelstate.stores.sqlite")[statement]
    plan = [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {text}", parameters)]
    reads = [line for line in plan if " t" in line and ("SEARCH" in line or "SCAN" in line)]
    assert any(index in line for line in plan), plan
    assert not any(line.startswith(("SCAN tasks", "SCAN t ")) for line in reads), plan
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    file.set_progress_handler(count, 1)
    found = file.execute(text, parameters).fetchall()
    file.set_progress_handler(None, 1)
    assert found
    assert steps < MAX_STEPS


@pytest.mark.parametrize("statement", NAMED)
def test_postgres_reads_a_bounded_part_of_an_index(database: psycopg.Connection, statement: str) -> None:
    index, wanted = NAMED[statement]
    text = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statements('reelstate.stores.postgres')[statement]}"
    ((plan,),) = database.execute(text.encode(), {**wanted, "now": None}, prepare=False).fetchall()
    used = {str(node.get("Index Name")) for node in _nodes(plan[0]["Plan"])}
    assert index in used
    assert not [node for node in _nodes(plan[0]["Plan"]) if node["Node Type"] == "Seq Scan" and node["Alias"] == "t"]
    pages = plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"]
    assert pages < MAX_PAGES, pages


def test_postgres_finds_what_runs_by_the_index_of_leases(database: psycopg.Connection) -> None:
    text = f"EXPLAIN {statements('reelstate.stores.postgres')['why_running']}"
    plan = "\n".join(line for (line,) in database.execute(text.encode(), {**WANTED, "now": None}, prepare=False))
    assert "tasks_leased" in plan, plan


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)
