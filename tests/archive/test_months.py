"""Months: their boundaries, and that they exist when they are needed."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.month import Month, id_at, months_from
from reelstate.stores.archive import TABLES
from tests.archive.finished_jobs import DAY, archive_engine, complete_jobs, every_row, hot_ids
from tests.manual_sql import ManualSql

MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2190, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(MOMENTS, st.integers(0, 2**22 - 1))
def test_the_month_of_an_id_is_that_of_its_time_and_has_it_within_its_bounds(moment: datetime, counter: int) -> None:
    job_id = id_at(moment) + counter
    month = Month.of_id(job_id)
    assert month == Month(moment.year, moment.month)
    assert month.ids[0] <= job_id < month.ids[1]
    assert month.next.ids[0] == month.ids[1]


@pytest.mark.parametrize(
    "last, first", [("2028-02-29", "2028-03-01"), ("2027-02-28", "2027-03-01"), ("2026-12-31", "2027-01-01")]
)
def test_months_meet_at_midnight_also_in_a_leap_february_and_at_new_year(last: str, first: str) -> None:
    before = datetime.fromisoformat(f"{last}T23:59:59+00:00")
    after = datetime.fromisoformat(f"{first}T00:00:00+00:00")
    assert after - before == timedelta(seconds=1)
    earlier, later = Month.of_id(id_at(before) + 2**22 - 1), Month.of_id(id_at(after))
    assert (str(earlier), str(later)) == (last[:7], first[:7])
    assert earlier is not None
    assert earlier.next == later


def test_strange_numbers_and_texts_are_no_months() -> None:
    assert Month.of_id(2**63 - 1) is None
    assert Month.of_id(-1) is None
    assert str(Month.of_id(1)) == "2025-01"
    assert [str(month) for month in months_from(Month(2026, 11), 3)] == ["2026-11", "2026-12", "2027-01"]
    for text in ("2026-13", "2026-00", "26-1", "2026-1", "x", "2026-11-01", "٢٠٢٦-11"):
        with pytest.raises(InvalidRequest):
            Month.parse(text)


async def test_jobs_of_many_months_move_after_a_keeper_was_away_for_three_months(database_url: str) -> None:
    """Jobs of four months, none of which was prepared, move at once, each to its own month."""
    now = datetime.now(UTC)
    async with archive_engine(database_url) as (engine, clock):
        months = [Month.of_time(now - timedelta(days=days)) for days in (160, 130, 100, 66)]
        for month in months:
            make_jobs_of(database_url, month)
        clock.now = now
        before = every_row(database_url)
        moved = await engine.archive()
        assert sorted(moved.jobs) == sorted({str(month) for month in months})
        assert every_row(database_url) == before
        assert hot_ids(database_url) == []
        for month in months:
            assert (await engine.job(month.ids[0])).job.archived
            assert (await engine.job(month.ids[1] - 1)).job.archived
        assert (await engine.doctor()).healthy


def make_jobs_of(url: str, month: Month) -> None:
    """Cancelled jobs with the first and the last id of a month."""
    sql = ManualSql(url)
    postgres = url.startswith("postgres")
    at = "?::timestamptz" if postgres else "?"
    value = month.start + timedelta(days=1)
    stamp = value if postgres else value.timestamp()
    insert = f"INSERT INTO jobs (id, pipeline_id, created_at, changed_at) VALUES (?, 1, {at}, {at})"
    cancel = f"UPDATE jobs SET status = 'cancelled', version = 2, actor = 'operator', finished_at = {at} WHERE id = ?"
    for job_id in (month.ids[0], month.ids[1] - 1):
        sql.run_all([(insert, [job_id, stamp, stamp]), (cancel, [stamp, job_id])])


async def test_the_coming_months_are_prepared_and_old_ones_made_when_needed(postgres_database: str) -> None:
    async with archive_engine(postgres_database) as (engine, clock):
        await engine.archive()
        coming = list(months_from(Month.of_time(clock.now), 3))
        assert await engine.store.archive.months() == coming
        clock.advance(92 * DAY)
        await engine.archive()
        assert set(months_from(Month.of_time(clock.now), 3)) <= set(await engine.store.archive.months())


async def test_a_clock_that_steps_back_leaves_months_as_they_are(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        jobs = await complete_jobs(engine, 2)
        clock.advance(31 * DAY)
        await engine.archive()
        clock.advance(-400 * DAY)
        await engine.archive()
        assert (await engine.job(jobs[0])).job.archived
        assert await engine.drop_months(older=10 * DAY) == []
        assert (await engine.job(jobs[0])).job.archived


async def test_retention_deletes_months_and_finalises_an_interrupted_detach(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        jobs = await complete_jobs(engine, 2)
        clock.advance(31 * DAY)
        await engine.archive()
        assert await engine.drop_months(older=365 * DAY) == []
        clock.advance(365 * DAY)
        dropped = await engine.drop_months(older=365 * DAY)
        assert str(Month.of_id(jobs[0])) in dropped
        with pytest.raises(NotFound):
            await engine.job(jobs[0])
        assert await engine.archive_months() == []
        assert (await engine.history(jobs[0])).items == []
        assert (await engine.doctor()).healthy


async def test_a_pending_detach_is_finalised(postgres_database: str) -> None:
    async with archive_engine(postgres_database) as (engine, clock):
        (job_id,) = await complete_jobs(engine, 1)
        clock.advance(31 * DAY)
        await engine.archive()
        month = Month.of_id(job_id)
        assert month is not None
        name = f"reelstate.jobs_archive_{month.year}_{month.number:02d}"
        with (
            psycopg.connect(postgres_database) as reader,
            psycopg.connect(postgres_database, autocommit=True) as detacher,
        ):
            reader.execute("SELECT count(*) FROM reelstate.jobs_archive")
            detacher.execute("SET statement_timeout = 500")
            with pytest.raises(psycopg.errors.QueryCanceled):
                detacher.execute(f"ALTER TABLE reelstate.jobs_archive DETACH PARTITION {name} CONCURRENTLY")
            reader.rollback()
            pending = reader.execute("SELECT count(*) FROM pg_inherits WHERE inhdetachpending").fetchone()
            assert pending == (1,)
        assert await engine.drop_month(str(month))
        assert month not in await engine.store.archive.months()


@pytest.mark.parametrize("table", TABLES)
async def test_an_archive_table_has_the_columns_of_its_table(postgres_database: str, table: str) -> None:
    """In the same order and of the same types: a move copies rows as they are."""
    async with archive_engine(postgres_database) as (engine, clock):
        await engine.archive()
        month = Month.of_time(clock.now)
    columns = (
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    )
    with psycopg.connect(postgres_database) as connection:
        hot, parent, partition = (
            connection.execute(columns, [f"reelstate.{table}{suffix}"]).fetchall()
            for suffix in ("", "_archive", f"_archive_{month.year}_{month.number:02d}")
        )
    assert parent == hot
    assert partition == hot
