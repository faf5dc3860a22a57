"""Groups and waiting jobs when their jobs are archived, deleted with their month, or purged with their user."""

import pytest

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.group import Group
from reelstate.core.month import Month
from reelstate.engine import Engine
from reelstate.services.purge import cancel_jobs, purge_rows
from tests.archive.finished_jobs import DAY, archive_engine
from tests.engines import a_worker, done, failed
from tests.manual_sql import ManualSql

TABLES = ("groups", "group_jobs", "waits", "dependencies")


async def run_all(engine: Engine, *, broken: int = 0) -> None:
    """Complete every job that can be claimed; the first ones fail."""
    worker = await a_worker(engine)
    tasks = (await engine.claim(worker, 100)).tasks
    await engine.fail([failed(task, retryable=False) for task in tasks[:broken]])
    await engine.complete([done(task) for task in tasks[broken:]])
    await engine.orchestrate()


def counts(url: str) -> list[int]:
    return [ManualSql(url).run(f"SELECT count(*) FROM {table}")[0][0] for table in TABLES]


async def test_a_group_counts_its_archived_jobs(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        old = [(await engine.submit("simple", group="nightly")).job_id for _ in range(3)]
        last = (await engine.submit("simple", group="nightly", after=old)).job_id
        await run_all(engine)
        await run_all(engine)
        clock.advance(31 * DAY)
        assert (await engine.archive()).total == 4
        group = await engine.group("nightly")
        assert (group.status, group.counts, group.progress) == ("completed", {"completed": 4}, 100.0)
        assert (await engine.job(last)).job.group == "nightly"
        assert [job.group for job in (await engine.jobs(archived=True)).items] == ["nightly"] * 4
        assert counts(database_url) == [1, 4, 0, 0], "what an archived job has waited for is not kept"
        waiting = (await engine.submit("simple", after=[Group("nightly"), old[0]])).job_id
        await engine.orchestrate()
        assert (await engine.tasks(waiting)).items != []
        assert (await engine.doctor()).healthy


async def test_a_job_that_another_waits_for_is_not_archived(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        first, broken = [(await engine.submit("simple")).job_id for _ in range(2)]
        waiting = (await engine.submit("simple", after=[first, broken])).job_id
        worker = await a_worker(engine)
        tasks = (await engine.claim(worker, 2)).tasks
        await engine.complete([done(tasks[0])])
        await engine.fail([failed(tasks[1], retryable=False)])
        clock.advance(400 * DAY)
        assert (await engine.archive()).total == 0
        await engine.cancel(waiting)
        assert (await engine.archive()).total == 2


async def test_an_archived_job_that_has_failed_is_refused(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        broken = (await engine.submit("simple", user_id="ada")).job_id
        await run_all(engine, broken=1)
        clock.advance(400 * DAY)
        assert (await engine.archive()).total == 1
        with pytest.raises(InvalidRequest, match="archived and failed"):
            await engine.submit("simple", after=[broken], user_id="ada")
        with pytest.raises(InvalidRequest, match="there is no job"):
            await engine.submit("simple", after=[broken], user_id="bob")
        waiting = (await engine.submit("simple", after=[broken], after_failure="start", user_id="ada")).job_id
        await engine.orchestrate()
        assert (await engine.tasks(waiting)).items != []


async def test_a_group_goes_with_the_month_of_its_last_job(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        for name in ("a", "b"):
            await engine.submit("simple", group=name)
        await run_all(engine, broken=1)
        clock.advance(31 * DAY)
        job_id = (await engine.submit("simple", group="b")).job_id
        await run_all(engine)
        await engine.archive(older=30 * DAY, failed_older=1.0)
        waiting = (await engine.submit("simple", after=[Group("a")])).job_id
        month = Month.of_id(job_id)
        await engine.drop_month(str(month))
        assert [group.name for group in (await engine.groups()).items] == ["b", "a"], "a job waits for it"
        await engine.cancel(waiting)
        await engine.drop_month(str(month))
        assert [(group.name, group.counts) for group in (await engine.groups()).items] == [("b", {"completed": 1})]
        with pytest.raises(NotFound):
            await engine.group("a")


async def test_the_groups_of_a_purged_user_are_deleted(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        for user_id in ("ada", "bob"):
            await engine.submit("simple", group="old", user_id=user_id)
        await run_all(engine)
        clock.advance(31 * DAY)
        await engine.archive()
        for user_id in ("ada", "bob"):
            first = (await engine.submit("simple", group="new", user_id=user_id)).job_id
            await engine.submit("simple", group="new", after=[first, Group("old")], user_id=user_id)
        assert counts(database_url) == [4, 6, 2, 4]
        await cancel_jobs(engine.store, engine.catalogue, "ada", actor="operator")
        assert (await purge_rows(engine.store, "ada"))["groups"] == 2
        assert counts(database_url) == [2, 3, 1, 2]
        assert {group.user_id for group in (await engine.groups()).items} == {"bob"}
        await engine.orchestrate()
        assert (await engine.doctor()).healthy
