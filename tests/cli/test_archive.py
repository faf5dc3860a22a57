"""`reel archive`, `reel purge` and `reel jobs --archived` from the command line."""

import asyncio
from datetime import UTC, datetime

from reelstate.core.month import Month
from tests.archive.finished_jobs import complete_jobs
from tests.archive.test_misplaced import copy_to_archive
from tests.cli.conftest import Reel
from tests.engines import engine_at


def make_jobs(reel: Reel, count: int, user: str = "") -> list[int]:
    async def complete() -> list[int]:
        async with engine_at(reel.url) as engine:
            return await complete_jobs(engine, count, user=user)

    return asyncio.run(complete())


def test_jobs_are_archived_listed_read_and_dropped(reel: Reel) -> None:
    jobs = make_jobs(reel, 3)
    month = str(Month.of_time(datetime.now(UTC)))
    assert "no jobs to archive" in reel("archive").text
    assert reel("archive", "--before", "0s", "--dry-run", "--json").json["jobs"] == {month: 3}
    assert f"archived 3 jobs {month} 3" in reel("archive", "--before", "0s").text
    assert reel("jobs", "--json").json == []
    listed = reel("jobs", "--archived", "--limit", 2, "--json").json
    assert [(job["id"], job["archived"]) for job in listed] == [(jobs[2], True), (jobs[1], True)]
    assert "archived, read-only" in reel("job", jobs[0]).text
    assert "can only be read" in reel("retry", jobs[0]).text
    for command in ("history", "logs", "steps", "states", "watch"):
        assert reel(command, jobs[0]).code == 0
    assert [found["month"] for found in reel("archive", "list", "--json").json] == [month]
    rows = reel("archive", "read", month).json
    assert reel("archive", "drop", month, "--export", "--yes").code == 0
    assert "there is no job" in reel("job", jobs[0]).text
    assert reel("archive", "read", month).json == rows
    assert reel("archive", "list", "--json").json[0]["exported"]


def test_doctor_shows_and_repairs_a_job_in_two_places(reel: Reel) -> None:
    jobs = make_jobs(reel, 1)

    async def copy() -> None:
        async with engine_at(reel.url) as engine:
            await copy_to_archive(engine, reel.url, jobs)

    asyncio.run(copy())
    found = reel("doctor", COLUMNS="200")
    assert (found.code, "the older copy deleted, with an event" in found.text) == (1, True)
    assert "repair keeps that in the store" in found.text
    assert "healthy: every invariant holds" in reel("doctor", "--repair").text
    assert "healthy: every invariant holds" in reel("doctor").text


def test_mistakes_are_explained(reel: Reel) -> None:
    make_jobs(reel, 1)
    assert "is not a date or an age (expected 2026-10-01, or 30d, 12h)" in reel("archive", "--before", "soon").text
    assert "write it as 2026-11" in reel("archive", "read", "11-2026").text
    assert "`reel archive list` shows the months" in reel("archive", "read", "2025-02").text
    assert "`reel archive list` shows the months" in reel("archive", "drop", "2025-02", "--yes").text
    assert "name the user whose data is to be deleted" in reel("purge", "--user", "", "--yes").text


def test_purge_asks_first_and_deletes_one_user(reel: Reel) -> None:
    mine, theirs = make_jobs(reel, 2, "ada"), make_jobs(reel, 1, "eve")
    assert reel("purge", "--user", "ada", "--dry-run", "--json").json["rows"]["jobs"] == 2
    refused = reel("purge", "--user", "ada", stdin="n\n")
    assert refused.code != 0
    assert len(reel("jobs", "--json").json) == 3
    assert "deleted" in reel("purge", "--user", "ada", "--yes").text
    assert [job["id"] for job in reel("jobs", "--json").json] == theirs
    assert "there is no job" in reel("history", mine[0]).text


def test_a_long_history_is_printed_page_by_page_and_says_how_to_see_the_rest(reel: Reel) -> None:
    (job_id,) = make_jobs(reel, 1)
    whole = reel("history", job_id, "--json").json
    first = reel("history", job_id, "--limit", 2, "--page", 2, COLUMNS="200").text
    assert f"more: reel history {job_id} --after {whole[1]['cursor']}" in first
    rest = reel("history", job_id, "--after", whole[1]["cursor"], "--json").json
    assert rest == whole[2:]
