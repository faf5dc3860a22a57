"""One job that can't be handled stops only itself: in every sweep, claim and listing."""

import json
import logging

import pytest

from reelstate.app import open_engine
from reelstate.core.errors import CorruptState
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Progress, TaskKey, TaskState, Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from tests.conformance.scenarios import declared, keys, status_of, submitted, take, take_one, task_at
from tests.conformance.shell import GUARD, shell_at
from tests.engines import FAN, PARTS, SIMPLE, FakeClock, a_worker, failed
from tests.manual_sql import ManualSql

LOST = "lost"
"""The name of the pipeline whose row is deleted."""


async def lose_pipeline(engine: Engine, manual_sql: ManualSql) -> None:
    """Delete the row of a pipeline behind the back of the guards; the process that declared it has forgotten it."""
    manual_sql.run_unguarded(f"DELETE FROM pipelines WHERE name = '{LOST}'")
    forgotten = engine.catalogue._found.pop((LOST, None))
    del engine.catalogue._by_id[forgotten.id]


async def two_stages(engine: Engine) -> str:
    return await declared(engine, LOST, StageSpec(name="first"), StageSpec(name="second", after=("first",)))


async def repaired(engine: Engine) -> None:
    await engine.doctor(repair=True)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM pipelines",
        "DELETE FROM lanes",
        "UPDATE pipelines SET graph = '{}'",
        "UPDATE lanes SET pipeline = 'another'",
    ],
)
async def test_what_jobs_refer_to_is_not_deleted_or_changed(engine: Engine, database_url: str, statement: str) -> None:
    with shell_at(database_url) as shell:
        assert shell.refusal(statement) == GUARD


async def test_expired_leases_of_other_jobs_are_taken_back(
    engine: Engine, manual_sql: ManualSql, clock: FakeClock
) -> None:
    await two_stages(engine)
    bad, good = await submitted(engine, LOST), await submitted(engine)
    worker = await a_worker(engine)
    assert len(await take(engine, worker)) == 2
    manual_sql.run("UPDATE tasks SET max_attempts = 1")  # so that both are out of attempts and their jobs must be moved
    await lose_pipeline(engine, manual_sql)
    clock.advance(61)
    await engine.reclaim()
    assert await status_of(engine, good) is JobStatus.FAILED
    assert (await task_at(engine, TaskKey(bad, 0, 0))).status is TaskStatus.ERROR
    await repaired(engine)
    assert await status_of(engine, bad) is JobStatus.QUARANTINED


async def test_it_is_logged_once(
    engine: Engine, manual_sql: ManualSql, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    await two_stages(engine)
    await submitted(engine, LOST)
    await lose_pipeline(engine, manual_sql)
    clock.advance(61)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            await take(engine, await a_worker(engine, pipelines=[LOST]))
            clock.advance(301)
            await engine.orchestrate()
    assert len([record for record in caplog.records if "unreadable" in record.message]) == 1
    await repaired(engine)


async def test_its_tasks_are_put_off_and_the_next_are_claimed(
    engine: Engine, manual_sql: ManualSql, clock: FakeClock
) -> None:
    await two_stages(engine)
    bad = await submitted(engine, LOST, priority=10)
    good = await submitted(engine)
    await lose_pipeline(engine, manual_sql)
    worker = await a_worker(engine, pipelines=[LOST, "simple"])
    assert (await take_one(engine, worker)).key.job_id == good
    put_off = await task_at(engine, TaskKey(bad, 0, 0))
    assert (put_off.status, put_off.attempt) == (TaskStatus.NEW, 0)
    assert put_off.run_after is not None
    assert put_off.run_after > clock.now
    await repaired(engine)


async def test_a_pipeline_that_is_put_back_goes_on_by_itself(
    engine: Engine, manual_sql: ManualSql, clock: FakeClock
) -> None:
    await two_stages(engine)
    job_id = await submitted(engine, LOST)
    row = manual_sql.run(f"SELECT id, name, digest, graph FROM pipelines WHERE name = '{LOST}'")[0]
    graph = row[3] if isinstance(row[3], str) else json.dumps(row[3])
    await lose_pipeline(engine, manual_sql)
    worker = await a_worker(engine, pipelines=[LOST])
    assert await take(engine, worker) == []
    overriding = "OVERRIDING SYSTEM VALUE" if manual_sql.postgres else ""
    manual_sql.run(
        f"INSERT INTO pipelines (id, name, digest, graph) {overriding} VALUES (?, ?, ?, ?)",
        row[0],
        row[1],
        row[2],
        graph,
    )
    clock.advance(301)
    await engine.orchestrate()
    assert keys(await take(engine, worker)) == [TaskKey(job_id, 0, 0)]


async def test_a_listing_shows_it(engine: Engine, manual_sql: ManualSql) -> None:
    await two_stages(engine)
    bad, good = await submitted(engine, LOST), await submitted(engine)
    await lose_pipeline(engine, manual_sql)
    listed = {job.id: job.pipeline for job in (await engine.jobs()).items}
    assert listed.keys() == {bad, good}
    assert listed[bad].startswith("#")
    assert (await engine.job(bad)).stages == ()
    assert [task.stage_name for task in (await engine.tasks(bad)).items] == ["#0"]
    assert sum(each.ready for each in (await engine.queue()).pipelines) == 2
    await repaired(engine)


async def test_jobs_that_were_missed_move_on_without_it(
    engine: Engine, manual_sql: ManualSql, clock: FakeClock, database_url: str
) -> None:
    await two_stages(engine)
    await declared(engine, "kept", StageSpec(name="first"), StageSpec(name="second", after=("first",)))
    bad, good = await submitted(engine, LOST), await submitted(engine, "kept")
    manual_sql.run_unguarded(
        "UPDATE tasks SET status = 'done', version = version + 2, finished_at = ready_at, percent = 100",
        "UPDATE stages SET done = 1",
    )
    await lose_pipeline(engine, manual_sql)
    clock.advance(120)
    async with open_engine(database_url, migrate=False, clock=clock, pipelines=[SIMPLE, FAN, PARTS]) as other:
        await other.orchestrate()
    assert [task.stage_name for task in (await engine.tasks(good)).items] == ["first", "second"]
    await repaired(engine)
    assert await status_of(engine, bad) is JobStatus.QUARANTINED


async def test_doctor_finds_and_repairs_it(engine: Engine, manual_sql: ManualSql) -> None:
    await two_stages(engine)
    bad = await submitted(engine, LOST)
    await lose_pipeline(engine, manual_sql)
    (finding,) = (await engine.doctor()).findings
    assert (finding.check, finding.job_id) == ("pipelines", bad)
    assert (await engine.doctor(repair=True)).healthy
    assert await status_of(engine, bad) is JobStatus.QUARANTINED


async def test_it_can_be_cancelled_but_not_retried(engine: Engine, manual_sql: ManualSql) -> None:
    await two_stages(engine)
    bad = await submitted(engine, LOST)
    await lose_pipeline(engine, manual_sql)
    await engine.quarantine(bad, reason="its pipeline is gone")
    with pytest.raises(CorruptState, match="pipeline"):
        await engine.retry(bad)
    assert await engine.cancel(bad) is Verdict.OK
    await repaired(engine)


async def test_what_its_running_task_reports_does_not_touch_others(engine: Engine, manual_sql: ManualSql) -> None:
    await two_stages(engine)
    await submitted(engine, LOST)
    await submitted(engine)
    worker = await a_worker(engine)
    tasks = await take(engine, worker)
    await lose_pipeline(engine, manual_sql)
    reported = [
        Progress(key=task.key, token=task.token, states=(TaskState(tag="step", status=1, number=1),)) for task in tasks
    ]
    assert (await engine.report(worker, reported)).verdicts == [Verdict.OK, Verdict.OK]
    assert await engine.fail([failed(task) for task in tasks]) == [Verdict.OK, Verdict.OK]
    await repaired(engine)


async def test_a_row_that_the_database_refuses_to_change_is_left_out_of_the_sweep(
    engine: Engine, manual_sql: ManualSql, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = await submitted(engine), await submitted(engine)
    worker = await a_worker(engine)
    assert len(await take(engine, worker)) == 2
    forbid_changes_of(manual_sql, bad)
    clock.advance(61)
    with caplog.at_level(logging.ERROR):
        assert (await engine.reclaim()).ready == 1
        await engine.reclaim()
    assert (await task_at(engine, TaskKey(good, 0, 0))).status is TaskStatus.READY
    assert len([record for record in caplog.records if str(bad) in record.message]) == 1
    allow_changes(manual_sql)
    assert (await engine.reclaim()).ready == 1


async def test_a_task_that_the_database_refuses_to_change_does_not_hold_up_a_claim(
    engine: Engine, manual_sql: ManualSql, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good, better = await submitted(engine), await submitted(engine), await submitted(engine)
    forbid_changes_of(manual_sql, bad)
    worker = await a_worker(engine)
    with caplog.at_level(logging.ERROR):
        assert keys(await take(engine, worker, 1)) == [(good, 0, 0)]
        assert keys(await take(engine, worker)) == [(better, 0, 0)]
        assert await take(engine, worker) == []
    assert len([record for record in caplog.records if record.name == "reelstate.claim"]) == 1
    allow_changes(manual_sql)
    assert keys(await take(engine, worker)) == [(bad, 0, 0)]


async def test_a_due_task_that_the_database_refuses_to_change_is_left_out(
    engine: Engine, manual_sql: ManualSql, clock: FakeClock
) -> None:
    bad, good = await submitted(engine), await submitted(engine)
    await engine.fail([failed(task, retry_in=10) for task in await take(engine, await a_worker(engine))])
    forbid_changes_of(manual_sql, bad)
    clock.advance(11)
    assert (await engine.orchestrate()).jobs == {good}
    allow_changes(manual_sql)
    assert (await engine.orchestrate()).jobs == {bad}


def forbid_changes_of(manual_sql: ManualSql, job_id: int, table: str = "tasks") -> None:
    """Have the database refuse every change of one job's rows, as a constraint does that a damaged row breaks."""
    if manual_sql.postgres:
        manual_sql.run(
            "CREATE FUNCTION damaged() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'damaged' USING ERRCODE = '23514'; END $$"
        )
        manual_sql.run(
            f"CREATE TRIGGER damaged BEFORE UPDATE ON {table} FOR EACH ROW WHEN (OLD.job_id = {job_id})"
            " EXECUTE FUNCTION damaged()"
        )
    else:
        manual_sql.run(
            f"CREATE TRIGGER damaged BEFORE UPDATE ON {table} WHEN OLD.job_id = {job_id}"
            " BEGIN SELECT RAISE(ABORT, 'damaged'); END"
        )


def allow_changes(manual_sql: ManualSql, table: str = "tasks") -> None:
    manual_sql.run(f"DROP TRIGGER damaged ON {table}" if manual_sql.postgres else "DROP TRIGGER damaged")
