"""Runs that make no progress: recovered or flagged, by their stage or by the deployment's settings."""

from dataclasses import replace

import pytest

from reelstate.core.errors import InvalidPipeline
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import ClaimedTask, Job
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    job_events,
    progress,
    submitted,
    take,
    task_at,
)
from tests.engines import FakeClock, a_worker, done
from tests.manual_sql import ManualSql

STALL = 100.0
FLAG = StageSpec(name="main", stall_after=STALL, stall_action="flag")


async def job_of(engine: Engine, job_id: int) -> Job:
    return (await engine.job(job_id)).job


async def renewed(engine: Engine, clock: FakeClock, task: ClaimedTask, seconds: float) -> None:
    """Let time pass while the worker renews the lease and reports nothing new."""
    worker = (await task_at(engine, task.key)).worker_id or 0
    while seconds > 0:
        clock.advance(min(seconds, 30.0))
        seconds -= 30.0
        await engine.report(worker, [progress(task)])


async def a_flagged_task(engine: Engine, clock: FakeClock) -> ClaimedTask:
    await declared(engine, "own", FLAG)
    task = await a_running_task(engine, "own")
    await renewed(engine, clock, task, STALL)
    assert [flag.job_id for flag in await engine.flag_stalled()] == [task.key.job_id]
    return task


async def test_a_stage_that_flags_keeps_its_run_and_marks_the_job(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "own", FLAG)
    task = await a_running_task(engine, "own")
    await renewed(engine, clock, task, STALL - 1)
    assert await engine.flag_stalled() == []
    await renewed(engine, clock, task, 1)
    (flag,) = await engine.flag_stalled()
    assert (await engine.reclaim()).total == 0
    assert (await task_at(engine, task.key)).status is TaskStatus.RUNNING
    job = await job_of(engine, task.key.job_id)
    assert job.flagged == flag.reason == f"task {task.key} of stage main has reported no progress for 100 s"
    assert (job.flagged_at, job.status) == (clock.now, JobStatus.PROCESSING)
    event = (await job_events(engine, job.id))[-1]
    assert (event.actor, event.origin, event.target) == ("keeper", "processing", "processing")
    assert event.reason == f"flagged: {job.flagged}"


async def test_a_flag_stays_as_it_is_while_nothing_changes(engine: Engine, clock: FakeClock) -> None:
    task = await a_flagged_task(engine, clock)
    before = await job_of(engine, task.key.job_id)
    await renewed(engine, clock, task, 300)
    assert await engine.flag_stalled() == []
    assert await job_of(engine, task.key.job_id) == before


async def test_progress_clears_the_flag(engine: Engine, clock: FakeClock) -> None:
    task = await a_flagged_task(engine, clock)
    worker = (await task_at(engine, task.key)).worker_id or 0
    await engine.report(worker, [progress(task, percent=50)])
    (cleared,) = await engine.flag_stalled()
    assert (cleared.job_id, cleared.reason) == (task.key.job_id, None)
    job = await job_of(engine, task.key.job_id)
    assert (job.flagged, job.flagged_at) == (None, None)
    event = (await job_events(engine, job.id))[-1]
    assert (event.actor, event.reason) == ("keeper", "flag cleared")


async def test_the_flag_names_the_next_task_when_the_first_goes_on(engine: Engine, clock: FakeClock) -> None:
    await declared(
        engine, "own", StageSpec(name="main", each="spec.parts", stall_after=STALL, stall_action="flag", lease=1000.0)
    )
    job_id = await submitted(engine, "own", {"parts": 2})
    worker = await a_worker(engine)
    first, second = await take(engine, worker)
    clock.advance(STALL)
    await engine.flag_stalled()
    assert str(first.key) in ((await job_of(engine, job_id)).flagged or "")
    await engine.report(worker, [progress(first, percent=1)])
    clock.advance(1)
    await engine.flag_stalled()
    job = await job_of(engine, job_id)
    assert str(second.key) in (job.flagged or "")
    assert job.flagged_at == clock.now


@pytest.mark.parametrize("verb", ["complete", "cancel", "force"])
async def test_a_job_that_moves_on_is_not_flagged(engine: Engine, clock: FakeClock, verb: str) -> None:
    task = await a_flagged_task(engine, clock)
    job_id = task.key.job_id
    match verb:
        case "complete":
            await engine.complete([done(task)])
        case "cancel":
            await engine.cancel(job_id)
        case "force":
            await engine.force(job_id, JobStatus.FAILED, reason="it hangs")
    job = await job_of(engine, job_id)
    assert (job.flagged, job.flagged_at) == (None, None)
    assert await engine.flag_stalled() == []
    assert await job_of(engine, job_id) == job


async def test_a_status_set_with_sql_clears_the_flag(engine: Engine, clock: FakeClock, manual_sql: ManualSql) -> None:
    task = await a_flagged_task(engine, clock)
    await engine.complete([done(task)])
    other = await a_running_task(engine, "own")
    await renewed(engine, clock, other, STALL)
    await engine.flag_stalled()
    manual_sql.run(f"UPDATE jobs SET status = 'quarantined', finished_at = changed_at WHERE id = {other.key.job_id}")
    assert (await job_of(engine, other.key.job_id)).flagged is None
    await engine.cancel(other.key.job_id)


async def test_the_deployment_setting_recovers_runs_of_stages_without_one(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "own", StageSpec(name="main", isolate_after=1))
    task = await a_running_task(engine, "own")
    await renewed(engine, clock, task, 600)
    assert (await engine.reclaim()).total == 0, "off unless the deployment sets it"
    assert (await engine.reclaim(stall_after=601)).total == 0
    assert (await engine.reclaim(stall_after=600)).ready == 1
    row = await task_at(engine, task.key)
    assert (row.status, row.reason, row.lost, row.attempt) == (TaskStatus.READY, "stalled", 0, 1)


async def test_a_lost_worker_is_no_stall_though_it_was_silent_for_longer(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    clock.advance(700)
    assert (await engine.reclaim(stall_after=600)).ready == 1
    row = await task_at(engine, task.key)
    assert (row.reason, row.lost) == ("lease expired", 1)


async def test_the_deployment_setting_flags_runs_of_stages_without_one(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "own", StageSpec(name="main"))
    task = await a_running_task(engine, "own")
    await renewed(engine, clock, task, 600)
    assert await engine.flag_stalled() == []
    assert await engine.flag_stalled(stall_after=601) == []
    (flag,) = await engine.flag_stalled(stall_after=600)
    assert flag.reason == f"task {task.key} of stage main has reported no progress for 600 s"
    assert (await task_at(engine, task.key)).status is TaskStatus.RUNNING


@pytest.mark.parametrize("action", ["recover", "flag"])
async def test_the_setting_of_a_stage_overrides_that_of_the_deployment(
    engine: Engine, clock: FakeClock, action: str
) -> None:
    await declared(engine, "own", StageSpec(name="main", stall_after=1000, stall_action=action))
    task = await a_running_task(engine, "own")
    await renewed(engine, clock, task, 900)
    assert (await engine.reclaim(stall_after=600)).total == 0
    assert await engine.flag_stalled(stall_after=600) == []


async def test_no_run_is_recovered_as_stalled_in_a_grace(engine: Engine, clock: FakeClock) -> None:
    """After an outage of the store no worker could report progress: the workers have their lease to do so."""
    task = await a_running_task(engine)
    terms = {"lead": 10.0, "gap": 60.0, "grace": 120.0}
    await engine.lead("keeper", **terms)
    clock.advance(700)
    await engine.lead("keeper", **terms)
    worker = (await task_at(engine, task.key)).worker_id or 0
    await engine.report(worker, [progress(task)])
    assert (await engine.reclaim(gap=60.0, stall_after=600)).total == 0
    await engine.report(worker, [progress(task, percent=1)])
    clock.advance(59)
    await engine.lead("keeper", **terms)
    assert (await engine.reclaim(gap=60.0, stall_after=600)).total == 0


async def test_a_job_that_can_not_be_flagged_holds_up_no_other(
    engine: Engine, clock: FakeClock, manual_sql: ManualSql
) -> None:
    await declared(engine, "own", replace(FLAG, lease=1000.0))
    bad, good = await a_running_task(engine, "own"), await a_running_task(engine, "own")
    refuse_updates(manual_sql, bad.key.job_id)
    clock.advance(STALL)
    assert [flag.job_id for flag in await engine.flag_stalled()] == [good.key.job_id]


def refuse_updates(manual_sql: ManualSql, job_id: int) -> None:
    """Have the database refuse every update of one job."""
    if not manual_sql.postgres:
        manual_sql.run(
            f"CREATE TRIGGER broken BEFORE UPDATE ON jobs WHEN OLD.id = {job_id}"
            " BEGIN SELECT RAISE(ABORT, 'broken'); END"
        )
        return
    manual_sql.run(
        "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken'; END $$"
    )
    manual_sql.run(
        f"CREATE TRIGGER broken BEFORE UPDATE ON jobs FOR EACH ROW WHEN (OLD.id = {job_id}) EXECUTE FUNCTION broken()"
    )


def test_only_two_actions_are_known_and_a_flag_needs_a_time() -> None:
    with pytest.raises(InvalidPipeline, match="stall_action"):
        Graph.of("own", [StageSpec(name="main", stall_after=1, stall_action="ignore")])
    with pytest.raises(InvalidPipeline, match="stall_action"):
        Graph.of("own", [StageSpec(name="main", stall_action="flag")])


def test_a_stage_that_recovers_is_stored_as_before() -> None:
    assert "stall_action" not in StageSpec(name="main", stall_after=5).document()
    assert StageSpec.from_document(FLAG.document()) == FLAG
