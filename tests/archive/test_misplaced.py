"""Jobs in the store and in the archive: doctor leaves one copy, the newer one, and loses no row."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest

from reelstate.core.month import Month
from reelstate.engine import Engine
from reelstate.stores.archive import ENGINE_TABLES, TABLES
from reelstate.stores.sqlite.address import database_path
from reelstate.stores.store import Flow
from tests.archive.finished_jobs import DAY, Rows, archive_engine, complete_jobs, every_row, hot_ids


async def copy_to_archive(engine: Engine, url: str, job_ids: Sequence[int]) -> Month:
    """Copy jobs to their month and leave them in the store, as an interrupted move does."""
    month = Month.of_id(job_ids[0])
    assert month is not None
    names = [f"{job_id}.part" for job_id in job_ids]
    if not url.startswith("postgres"):
        await engine.store.archive.copy(month, job_ids, names)
        return month
    await engine.store.archive.prepare([month])
    with psycopg.connect(url) as connection:
        for table in TABLES:
            key, chosen = ENGINE_TABLES.get(table, "job_id"), job_ids if table in ENGINE_TABLES else names
            connection.execute(
                f"INSERT INTO reelstate.{table}_archive SELECT * FROM reelstate.{table} WHERE {key} = ANY (%s)",
                [list(chosen)],
            )
    return month


def archived_ids(url: str, month: Month) -> list[int]:
    """The jobs of a month."""
    if url.startswith("postgres"):
        with psycopg.connect(url) as connection:
            return [row[0] for row in connection.execute("SELECT id FROM reelstate.jobs_archive ORDER BY id")]
    with closing(month_file(url, month)) as file:
        return [row[0] for row in file.execute("SELECT id FROM jobs ORDER BY id")]


def month_file(url: str, month: Month) -> sqlite3.Connection:
    path = database_path(url)
    assert path is not None
    return sqlite3.connect(path.with_name(f"{path.stem}.archive-{month}{path.suffix}"), isolation_level=None)


def raise_archived_versions(url: str, month: Month) -> None:
    """Let the copies be newer than the rows of the store, as after the store was restored from a backup."""
    if url.startswith("postgres"):
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE reelstate.jobs_archive SET version = version + 1")
    else:
        with closing(month_file(url, month)) as file:
            file.execute("UPDATE jobs SET version = version + 1")


def without_events_of_doctor(rows: Rows) -> Rows:
    events = [text for text in rows["events"] if '"actor": "doctor"' not in text]
    return {**rows, "events": events, "jobs": []}


async def test_of_equal_copies_the_one_in_the_store_stays(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        both = await complete_jobs(engine, 3)
        other = await complete_jobs(engine, 1)
        before = every_row(database_url)
        month = await copy_to_archive(engine, database_url, both)
        found = (await engine.doctor()).findings
        assert [(finding.check, finding.job_id) for finding in found] == [("archive", job_id) for job_id in both]
        assert "repair keeps that in the store" in found[0].detail
        repaired = await engine.doctor(repair=True)
        assert (repaired.healthy, repaired.repaired) == (True, found)
        assert archived_ids(database_url, month) == []
        assert hot_ids(database_url) == [*both, *other]
        assert without_events_of_doctor(every_row(database_url)) == without_events_of_doctor(before)
        for job_id in both:
            last = (await engine.history(job_id)).items[-1]
            assert (last.entity, last.actor, last.reason) == ("job", "doctor", "repair: archive")
        clock.advance(31 * DAY)
        assert (await engine.archive()).total == 4
        assert (await engine.doctor()).healthy


async def test_a_newer_copy_in_the_archive_stays(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, _):
        both = await complete_jobs(engine, 2)
        other = await complete_jobs(engine, 1)
        before = every_row(database_url)
        month = await copy_to_archive(engine, database_url, both)
        raise_archived_versions(database_url, month)
        found = (await engine.doctor()).findings
        assert "repair keeps that in the archive" in found[0].detail
        repaired = await engine.doctor(repair=True)
        assert (repaired.healthy, repaired.repaired) == (True, found)
        assert (hot_ids(database_url), archived_ids(database_url, month)) == (other, both)
        after = every_row(database_url)
        assert without_events_of_doctor(after) == without_events_of_doctor(before)
        (event,) = [event for event in (await engine.events()).items if event.actor == "doctor"]
        assert (event.target, event.reason, event.data["jobs"]) == ("purged", "repair: archive", both)
        assert (await engine.job(both[0])).job.archived


@pytest.mark.parametrize("moment", ["before the repair", "within the repair"])
async def test_a_move_at_the_same_time_loses_no_row(database_url: str, moment: str) -> None:
    """Whichever of the two is first, the other does not delete the only copy."""
    async with archive_engine(database_url) as (engine, clock), archive_engine(database_url) as (other, later):
        jobs = await complete_jobs(engine, 2)
        clock.advance(31 * DAY)
        later.advance(31 * DAY)
        before = every_row(database_url)
        await copy_to_archive(engine, database_url, jobs)
        months: Any = engine.store.archive
        copy, write = months.copy, months.write

        async def copy_before(month: Month, job_ids: Sequence[int], names: Sequence[str]) -> None:
            await copy(month, job_ids, names)
            assert (await other.doctor(repair=True)).healthy

        async def write_after(month: Month, flow: Flow[Any]) -> Any:
            # A move in PostgreSQL fails at the copy; it is gone by then in every order.
            if not database_url.startswith("postgres"):
                assert (await other.archive()).total == 2
            return await write(month, flow)

        if moment == "before the repair":
            months.copy = copy_before
            assert (await engine.archive()).total == 0
        else:
            months.write = write_after
            assert (await engine.doctor(repair=True)).healthy
        assert without_events_of_doctor(every_row(database_url)) == without_events_of_doctor(before)
        for job_id in jobs:
            assert (await engine.job(job_id)).job.id == job_id
        assert (await engine.doctor()).healthy
