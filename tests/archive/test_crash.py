"""An archiver that is killed anywhere loses no row, and the next one completes its work."""

import random
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from reelstate.core.month import Month
from tests.archive.crashing_archiver import POINTS
from tests.archive.finished_jobs import DAY, archive_engine, complete_jobs, every_row, hot_ids


def kill_archiver(url: str, point: str, count: int) -> int:
    """Run an archiver that is killed the given time that it reaches a point; return its exit code."""
    command = [sys.executable, "-m", "tests.archive.crashing_archiver", url, point, str(count)]
    return subprocess.run(command, check=False, timeout=120).returncode


async def require_complete(url: str, jobs: int, crashes: list[tuple[str, int]]) -> None:
    async with archive_engine(url) as (engine, _):
        await complete_jobs(engine, jobs)
        before = every_row(url)
    killed = 0
    for point, count in crashes:
        killed += kill_archiver(url, point, count) == -signal.SIGKILL
        now = every_row(url)
        for table, rows in before.items():
            assert set(rows) <= set(now[table]), (point, count, table)
    assert killed
    async with archive_engine(url) as (engine, clock):
        clock.advance(31 * DAY)
        await engine.archive()
        assert every_row(url) == before
        assert hot_ids(url) == []
        assert (await engine.doctor()).healthy


async def test_three_kills_lose_no_row(database_url: str) -> None:
    await require_complete(database_url, 10, [("after copy", 1), ("half moved", 1), ("before commit", 2)])


@pytest.mark.prove
@pytest.mark.timeout(1200)
async def test_twenty_kills_lose_no_row(database_url: str) -> None:
    chance = random.Random(7)
    crashes = [(POINTS[number % len(POINTS)], chance.randint(1, 2)) for number in range(20)]
    await require_complete(database_url, 400, crashes)


async def test_a_job_in_both_places_is_found_by_doctor_until_the_next_move(sqlite_database: str) -> None:
    async with archive_engine(sqlite_database) as (engine, _):
        await complete_jobs(engine, 3)
    kill_archiver(sqlite_database, "after copy", 1)
    async with archive_engine(sqlite_database) as (engine, clock):
        assert [finding.check for finding in (await engine.doctor()).findings] == ["archive"] * 3
        clock.advance(31 * DAY)
        await engine.archive()
        assert (await engine.doctor()).healthy


async def test_two_archivers_at_once_lose_no_row(database_url: str) -> None:
    """The slower one has selected and copied jobs that the faster one has moved meanwhile."""
    async with archive_engine(database_url) as (engine, clock), archive_engine(database_url) as (other, later):
        jobs = await complete_jobs(engine, 6)
        before = every_row(database_url)
        clock.advance(31 * DAY)
        later.advance(31 * DAY)
        months = engine.store.archive
        copy = months.copy

        async def overtaken(month: Month, job_ids: Sequence[int], names: Sequence[str]) -> None:
            assert (await other.archive()).total == 6
            await copy(month, job_ids, names)

        months.copy = overtaken  # type: ignore[method-assign]
        assert (await engine.archive()).total == 0
        assert every_row(database_url) == before
        assert (await other.job(jobs[0])).job.archived


async def test_a_job_that_is_retried_while_it_is_moved_stays(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        job_id = (await engine.submit("simple")).job_id
        await engine.quarantine(job_id, reason="x")
        clock.advance(400 * DAY)
        months = engine.store.archive
        copy = months.copy

        async def retried(month: Month, job_ids: Sequence[int], names: Sequence[str]) -> None:
            await copy(month, job_ids, names)
            await engine.retry(job_id)

        months.copy = retried  # type: ignore[method-assign]
        assert (await engine.archive()).total == 0
        assert hot_ids(database_url) == [job_id]
        assert not (await engine.job(job_id)).job.archived
        await engine.quarantine(job_id, reason="again")
        clock.advance(400 * DAY)
        months.copy = copy  # type: ignore[method-assign]
        assert (await engine.archive()).total == 1
        assert "again" in [event.reason for event in (await engine.history(job_id)).items]
        assert (await engine.doctor()).healthy
