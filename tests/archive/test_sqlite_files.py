"""The files of the archive beside a SQLite database: private, with the present columns; the database stays small."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Submission
from reelstate.core.month import Month
from reelstate.stores.archive import TABLES
from reelstate.stores.sqlite.address import database_path
from tests.archive.finished_jobs import DAY, archive_engine, complete_jobs, every_row
from tests.engines import a_worker, done


def columns(file: Path, table: str) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(file)) as connection:
        return [(row[1], row[2]) for row in connection.execute(f"PRAGMA table_info({table})")]


async def test_a_month_is_one_private_file_with_the_columns_and_indexes_of_the_store(sqlite_database: str) -> None:
    async with archive_engine(sqlite_database) as (engine, clock):
        jobs = await complete_jobs(engine, 2)
        clock.advance(31 * DAY)
        await engine.archive()
        path = database_path(sqlite_database)
        assert path is not None
        file = path.with_name(f"reelstate.archive-{Month.of_id(jobs[0])}.db")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert sorted(path.parent.glob("*archive*")) == [file], "no journal is left"
        for table in TABLES:
            assert columns(file, table) == columns(path, table)


async def test_a_month_gets_the_columns_that_a_later_migration_adds(sqlite_database: str) -> None:
    async with archive_engine(sqlite_database) as (engine, clock):
        old = await complete_jobs(engine, 1)
        clock.advance(31 * DAY)
        await engine.archive()
    path = database_path(sqlite_database)
    assert path is not None
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE jobs ADD COLUMN added TEXT NOT NULL DEFAULT 'x'")
        connection.execute("CREATE INDEX jobs_added ON jobs (added)")
        connection.commit()
    async with archive_engine(sqlite_database) as (engine, clock):
        assert (await engine.job(old[0])).job.archived
        new = await complete_jobs(engine, 1)
        before = every_row(sqlite_database)
        clock.advance(31 * DAY)
        assert (await engine.archive()).total == 1
        assert every_row(sqlite_database) == before
        assert (await engine.job(new[0])).job.archived


async def test_a_database_in_memory_says_that_it_has_no_archive() -> None:
    async with archive_engine("sqlite://") as (engine, clock):
        await complete_jobs(engine, 1)
        assert (await engine.archive()).total == 0
        clock.advance(31 * DAY)
        with pytest.raises(InvalidRequest, match="in memory"):
            await engine.archive()


async def soak(url: str, rounds: int, jobs: int) -> list[int]:
    """Sizes of the database after rounds of jobs with a retention that deletes the jobs of the round before."""
    path = database_path(url)
    assert path is not None
    sizes = []
    async with archive_engine(url) as (engine, clock):
        worker = await a_worker(engine)
        for _ in range(rounds):
            for _ in range(jobs // 100):
                await engine.submit_many([Submission(pipeline="simple", spec={"text": "x" * 200})] * 100)
                await engine.complete([done(task) for task in (await engine.claim(worker, 100)).tasks])
            clock.advance(31 * DAY)
            await engine.archive()
            for month in await engine.store.archive.months():
                await engine.drop_month(str(month))
            await engine.vacuum()
            sizes.append(path.stat().st_size)
    return sizes


async def test_the_file_stays_bounded_with_retention(sqlite_database: str) -> None:
    sizes = await soak(sqlite_database, rounds=4, jobs=300)
    assert sizes[-1] <= 1.2 * sizes[0]


@pytest.mark.prove
@pytest.mark.timeout(7200)
async def test_the_file_stays_bounded_over_a_million_jobs(sqlite_database: str) -> None:
    sizes = await soak(sqlite_database, rounds=20, jobs=50_000)
    print("sizes in MB", [round(size / 1e6, 1) for size in sizes])  # noqa: T201 - a figure of `make prove`
    assert sizes[-1] <= 1.2 * sizes[0]
