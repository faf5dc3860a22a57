"""What reading costs: a page of a history its own rows, the selection of the archive a window of the primary key."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from reelstate.stores import migrate
from reelstate.stores.sqlite.address import database_path
from tests.archive.finished_jobs import archive_engine

PAGE: dict[str, Any] = {"stage": None, "part": None, "owner": None, "after_xid": "0", "after_id": 0, "limit": 100}
NOW = datetime.now(UTC)
DUE: dict[str, Any] = {
    "after": -1, "until": 2**60, "window": 1000, "enough": 2001, "before": NOW, "failed_before": NOW,
}  # fmt: skip


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", ()) for node in nodes(child))]


def explain(url: str, statement: str, **parameters: Any) -> list[dict[str, Any]]:
    text = migrate.statements("reelstate.stores.postgres")[statement]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE reelstate.events")
        cursor = psycopg.ClientCursor(connection)
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}", {"now": None, **parameters})
        row = cursor.fetchone()
        assert row is not None
        return nodes(row[0][0]["Plan"])


async def make_big_job(url: str, parts: int) -> int:
    """A job with many parts, and others beside it."""
    async with archive_engine(url) as (engine, _):
        for _ in range(20):
            await engine.submit("simple")
        job_id = (await engine.submit("parts", {"parts": [0] * parts})).job_id
        await engine.cancel(job_id)
        return job_id


def cost(plan: list[dict[str, Any]]) -> int:
    """Rows that the scans of events have read, those that they filtered out included."""
    scans = [node for node in plan if node.get("Relation Name") == "events"]
    assert "Seq Scan" not in {node["Node Type"] for node in scans}
    return sum(
        int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]) for node in scans
    )


async def test_a_page_of_history_costs_its_own_rows_in_postgres(postgres_database: str) -> None:
    """And those of the first 1,000 parts: as much for a job with 3,000 parts as for one with 9,000."""
    for parts in (3000, 9000):
        job_id = await make_big_job(postgres_database, parts)
        plan = explain(postgres_database, "observe_history", job_id=job_id, **PAGE)
        assert cost(plan) < 1300
        assert "events_by_job" in {node.get("Index Name") for node in plan}


async def test_a_page_of_history_costs_its_own_rows_in_sqlite(sqlite_database: str) -> None:
    steps = [await steps_of_page(sqlite_database, parts) for parts in (3000, 9000)]
    assert steps[1] < 1.2 * steps[0]


async def steps_of_page(url: str, parts: int) -> int:
    """How many hundreds of steps of SQLite's virtual machine a page of a history takes."""
    job_id = await make_big_job(url, parts)
    text = migrate.statements("reelstate.stores.sqlite")["observe_history"]
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with closing(sqlite3.connect(database_path(url) or "")) as connection:
        connection.set_progress_handler(count, 100)
        rows = connection.execute(text, {"job_id": job_id, "now": 0, **PAGE}).fetchall()
    assert len(rows) == 100
    return steps


@pytest.mark.parametrize("stage", [None, 0])
async def test_the_pages_of_a_history_are_the_events_in_the_order_of_the_feed(
    database_url: str, stage: int | None
) -> None:
    """Across the part at which another index is used."""
    job_id = await make_big_job(database_url, 1200)
    async with archive_engine(database_url) as (engine, _):
        seen, after = [], None
        while True:
            page = await engine.history(job_id, stage=stage, limit=700, after=after)
            seen += page.items
            after = page.after
            if after is None:
                break
        order = engine.feed.log.order
        assert [event.cursor for event in seen] == sorted({event.cursor for event in seen}, key=order)
        parts = [event.part for event in seen if event.entity == "task"]
        assert sorted(parts, key=lambda part: part or 0) == list(range(1200))
        assert len(seen) == 1200 + (1 if stage == 0 else 3)
        assert (await engine.history(job_id, stage=0, part=1100)).items[0].part == 1100


async def test_the_selection_of_the_archive_reads_a_window_of_the_primary_key(postgres_database: str) -> None:
    await make_big_job(postgres_database, 10)
    plan = explain(postgres_database, "archive_due", **DUE)
    (scan,) = [node for node in plan if node.get("Relation Name") == "jobs"]
    assert scan["Index Name"] == "jobs_pkey"
    assert {node.get("Index Name") for node in plan if node.get("Relation Name") == "tasks"} <= {
        "tasks_pkey",
        "tasks_leased",
    }
