"""Listing the videos that are not ready costs what is found, not what is stored, on both stores."""

import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reelstate.app import store_at
from reelstate.stores.migrate import statements
from reelstate.stores.postgres.address import session_address
from reelstate.stores.sqlite.statement import bind
from tests.postgres import PostgresServer
from tests.stores.test_observe_plans import MAX_STEPS, counted

VIDEOS = 20_000
FEW = 5
EVERYTHING = {
    "first": 0,
    "last": 2**62,
    "deleted": False,
    "user_id": None,
    "statuses": None,
    "ready": False,
    "limit": 50,
}
UNREADY = {"statuses": ["failed", "quarantined", "cancelled", "completed"]}
INDEX = "jobs_by_resource_unready"
SEED = f"""
    INSERT INTO {{schema}}videos (id, title, source, user_id)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {VIDEOS})
    SELECT n, 'A', '/videos/a.mp4', 'ada' FROM numbers;
    INSERT INTO {{schema}}jobs (id, pipeline_id, resource_id, status, finished_at)
    SELECT id, 1, id, CASE WHEN id <= {FEW} THEN 'failed' ELSE 'completed' END, {{now}} FROM {{schema}}videos
"""
"""The first few videos have failed, the later ones play."""


@pytest.fixture
async def file(tmp_path: Path) -> sqlite3.Connection:
    path = tmp_path / "videos.db"
    store = store_at(f"sqlite:///{path}")
    await store.migrate()
    await store.close()
    connection = sqlite3.connect(path, isolation_level=None)
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    for part in SEED.format(schema="", now=1.0).split(";"):
        connection.execute(part)
    return connection


@pytest.mark.parametrize("user_id", [None, "ada"])
def test_sqlite_looks_at_no_video_that_plays(file: sqlite3.Connection, user_id: str | None) -> None:
    wanted = {**EVERYTHING, **UNREADY, "user_id": user_id}
    ids, steps = counted(file, "videos_list", {name: bind(value) for name, value in wanted.items()})
    assert ids == list(range(FEW, 0, -1))
    assert steps < MAX_STEPS


@pytest.mark.parametrize("wanted", [{}, {"statuses": ["failed"], "ready": True}, {"user_id": "ada"}])
def test_sqlite_reads_no_more_than_a_page(file: sqlite3.Connection, wanted: dict[str, Any]) -> None:
    given = {name: bind(value) for name, value in {**EVERYTHING, **wanted}.items()}
    ids, steps = counted(file, "videos_list", given)
    assert ids == list(range(VIDEOS, VIDEOS - 50, -1))
    assert steps < 5 * MAX_STEPS


def test_postgres_looks_at_no_video_that_plays(postgres_server: PostgresServer, migrated_template: str) -> None:
    url = postgres_server.new_database(migrated_template)
    with psycopg.connect(session_address(url), autocommit=True) as connection:
        connection.execute("ALTER TABLE reelstate.jobs DISABLE TRIGGER USER")
        connection.execute(SEED.format(schema="reelstate.", now="now()").encode())
        connection.execute("ANALYZE reelstate.jobs, reelstate.videos")
        text = statements("reelstate.stores.postgres")["videos_list"].encode()
        unready = {**EVERYTHING, **UNREADY}
        plan = connection.execute(b"EXPLAIN ANALYZE " + text, unready, prepare=False).fetchall()
        whole = connection.execute(b"EXPLAIN " + text, EVERYTHING, prepare=False).fetchall()
        found = [row[0] for row in connection.execute(text, unready, prepare=False)]
    postgres_server.drop_database(url)
    assert found == list(range(FEW, 0, -1))
    assert any(INDEX in line for (line,) in plan), plan
    assert not any("Seq Scan on jobs" in line or "Seq Scan on videos" in line for (line,) in plan), plan
    assert not any("Sort" in line or INDEX in line for (line,) in whole), whole
