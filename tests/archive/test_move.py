"""A finished job moves to the archive with all its rows, and can be read there as before."""

import pytest

from reelstate.core.errors import JobArchived, NotFound
from reelstate.core.machine import JobStatus
from reelstate.core.model import Verdict
from reelstate.engine import Engine
from tests.archive.finished_jobs import DAY, archive_engine, complete_jobs, every_row, hot_ids
from tests.engines import a_worker, failed


async def everything_of(engine: Engine, job_id: int) -> list[object]:
    """All that can be read of a job."""
    detail = await engine.job(job_id)
    return [
        detail.stages,
        detail.plan,
        detail.outputs,
        detail.progress,
        (await engine.tasks(job_id)).items,
        (await engine.history(job_id)).items,
        (await engine.logs(job_id)).items,
        (await engine.steps(job_id)).items,
        await engine.states(job_id),
        await engine.graph(job_id),
        [event async for event in engine.watch(job_id)],
    ]


async def test_jobs_move_with_all_their_rows_and_nothing_is_lost_or_changed(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        old = await complete_jobs(engine, 5)
        clock.advance(20 * DAY)
        new = await complete_jobs(engine, 3)
        clock.advance(15 * DAY)
        before = every_row(database_url)
        assert all(before.values()), "the test needs a row in every table"

        moved = await engine.archive()

        assert every_row(database_url) == before
        assert hot_ids(database_url) == new
        assert moved.total == 5
        assert [job.id for job in (await engine.jobs(archived=True)).items] == old[::-1]
        assert [month.jobs for month in await engine.archive_months()] == [5]
        assert (await engine.doctor()).healthy


async def test_an_archived_job_reads_as_before_and_is_marked(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        (job_id,) = await complete_jobs(engine, 1, user="ada", mark="x")
        before, job = await everything_of(engine, job_id), (await engine.job(job_id)).job
        clock.advance(31 * DAY)
        await engine.archive()

        assert await everything_of(engine, job_id) == before
        archived = (await engine.job(job_id)).job
        assert archived.archived
        assert not job.archived
        assert archived.spec == job.spec
        assert (await engine.wait(job_id)).job.archived
        assert (await engine.job(job_id, owner="ada")).job.archived
        with pytest.raises(NotFound):
            await engine.job(job_id, owner="eve")
        assert (await engine.history(job_id, owner="eve")).items == []


async def test_verbs_on_an_archived_job_are_refused(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        (job_id,) = await complete_jobs(engine, 1, user="ada")
        clock.advance(31 * DAY)
        await engine.archive()
        with pytest.raises(JobArchived, match="submit it again"):
            await engine.retry(job_id)
        with pytest.raises(JobArchived):
            await engine.cancel(job_id)
        with pytest.raises(JobArchived):
            await engine.reprioritise(job_id, 9)
        with pytest.raises(JobArchived):
            await engine.force(job_id, JobStatus.FAILED, reason="x")
        with pytest.raises(NotFound):
            await engine.cancel(job_id, owner="eve")
        with pytest.raises(NotFound):
            await engine.cancel(job_id + 1)


async def test_failed_jobs_stay_longer_and_unfinished_ones_for_ever(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        broken = (await engine.submit("simple")).job_id
        worker = await a_worker(engine)
        await engine.fail([failed(task, retryable=False) for task in (await engine.claim(worker, 1)).tasks])
        stopped = (await engine.submit("simple")).job_id
        await engine.quarantine(stopped, reason="x")
        cancelled = (await engine.submit("simple")).job_id
        await engine.cancel(cancelled)
        waiting = (await engine.submit("simple")).job_id
        clock.advance(31 * DAY)
        assert (await engine.archive()).total == 1
        assert hot_ids(database_url) == [broken, stopped, waiting]
        clock.advance(150 * DAY)
        assert (await engine.archive()).total == 2
        assert hot_ids(database_url) == [waiting]
        assert (await engine.job(broken)).job.status is JobStatus.FAILED


async def test_a_dry_run_counts_and_moves_nothing(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        jobs = await complete_jobs(engine, 4)
        clock.advance(31 * DAY)
        assert (await engine.archive(dry_run=True)).total == 4
        assert hot_ids(database_url) == jobs
        assert (await engine.archive(before=clock.now)).total == 4
        assert (await engine.archive()).total == 0


async def test_the_list_of_archived_jobs_has_pages_and_filters(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        jobs = await complete_jobs(engine, 7, user="ada")
        await complete_jobs(engine, 2, user="eve")
        clock.advance(31 * DAY)
        await engine.archive()
        seen, after = [], None
        while True:
            page = await engine.jobs(archived=True, user_id="ada", limit=3, after=after)
            seen += [job.id for job in page.items]
            after = page.after
            if after is None:
                break
        assert seen == jobs[::-1]
        assert (await engine.jobs()).items == []


async def test_an_idempotency_key_still_finds_its_archived_job(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        job_id = (await engine.submit("simple", idempotency_key="k")).job_id
        await complete_jobs(engine, 1)
        clock.advance(31 * DAY)
        await engine.archive()
        again = await engine.submit("simple", idempotency_key="k")
        assert (again.job_id, again.verdict) == (job_id, Verdict.REPEATED)
