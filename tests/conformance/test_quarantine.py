"""quarantine: a job is put aside, its runs are stopped, and nothing automatic touches it."""

import pytest

from reelstate.core.errors import InvalidRequest, InvalidTransition
from reelstate.core.machine import PHASES, JobStatus, TaskStatus
from reelstate.core.model import Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    fail_for_good,
    finish,
    progress,
    running_parts,
    status_of,
    submitted,
    take,
    task_at,
    task_path,
    task_statuses,
)
from tests.engines import FakeClock, a_worker, done, failed

NEW = TaskStatus.NEW


async def test_running_tasks_are_stopped_without_counting_an_attempt(engine: Engine) -> None:
    task = await a_running_task(engine)
    assert await engine.quarantine(task.key.job_id, reason="odd") is Verdict.OK
    row = await task_at(engine, task.key)
    assert (row.status, row.attempt, row.token, row.worker_id) == (NEW, 0, 1, None)
    assert (await task_path(engine, task.key))[-1] == ("running", "new", "operator")
    assert await engine.complete([done(task)]) == [Verdict.LOST]


async def test_whatever_waits_goes_back_to_new_and_done_work_stays(engine: Engine, clock: FakeClock) -> None:
    await submitted(engine, "parts", {"parts": 4})
    running, waiting, finished = await take(engine, await a_worker(engine), 3)
    await engine.fail([failed(waiting, retry_in=10)])
    await engine.complete([done(finished)])
    job_id = running.key.job_id
    await engine.quarantine(job_id, reason="odd")
    assert await task_statuses(engine, job_id) == [NEW, NEW, TaskStatus.DONE, NEW]
    clock.advance(1000)
    await engine.orchestrate()
    await engine.reclaim()
    assert await task_statuses(engine, job_id) == [NEW, NEW, TaskStatus.DONE, NEW]
    assert await take(engine, await a_worker(engine, "other")) == []
    assert await status_of(engine, job_id) is JobStatus.QUARANTINED


@pytest.mark.parametrize("phase", PHASES)
async def test_a_job_is_put_aside_in_any_phase(engine: Engine, phase: JobStatus) -> None:
    await declared(engine, "phased", StageSpec(name="main", phase=phase))
    task = await a_running_task(engine, "phased")
    await engine.quarantine(task.key.job_id, reason="odd")
    assert await status_of(engine, task.key.job_id) is JobStatus.QUARANTINED


async def test_a_failed_job_is_put_aside_and_its_running_siblings_stopped(engine: Engine) -> None:
    bad, other = await running_parts(engine, 2)
    await fail_for_good(engine, bad)
    assert await engine.quarantine(bad.key.job_id, reason="odd") is Verdict.OK
    assert await task_statuses(engine, bad.key.job_id) == [TaskStatus.ERROR, NEW]
    assert (await task_at(engine, other.key)).attempt == 0


async def test_the_worker_of_a_stopped_task_gets_the_verdict_lost(engine: Engine) -> None:
    task = await a_running_task(engine)
    worker = (await task_at(engine, task.key)).worker_id or 0
    await engine.quarantine(task.key.job_id, reason="odd")
    assert (await engine.report(worker, [progress(task)])).verdicts == [Verdict.LOST]


async def test_it_needs_a_reason(engine: Engine) -> None:
    job_id = await submitted(engine)
    for reason in (None, "", "  "):
        with pytest.raises(InvalidRequest) as refused:
            await engine.quarantine(job_id, reason=reason)
        assert refused.value.field == "reason"
    assert await status_of(engine, job_id) is JobStatus.PENDING


async def test_twice_is_once(engine: Engine) -> None:
    job_id = await submitted(engine)
    await engine.quarantine(job_id, reason="odd")
    assert await engine.quarantine(job_id, reason="odder") is Verdict.REPEATED
    assert (await engine.job(job_id)).job.reason == "odd"


async def test_a_finished_job_can_not_be_quarantined(engine: Engine) -> None:
    completed = await submitted(engine)
    await finish(engine, await a_worker(engine))
    cancelled = await submitted(engine)
    await engine.cancel(cancelled)
    for job_id in (completed, cancelled):
        with pytest.raises(InvalidTransition):
            await engine.quarantine(job_id, reason="odd")


async def test_a_user_may_not_put_a_job_aside(engine: Engine) -> None:
    job_id = await submitted(engine)
    with pytest.raises(InvalidTransition, match="allowed for doctor, keeper, operator"):
        await engine.quarantine(job_id, reason="odd", actor="user:ada")


async def test_only_an_operator_brings_it_back(engine: Engine) -> None:
    job_id = await submitted(engine)
    await engine.quarantine(job_id, reason="odd")
    with pytest.raises(InvalidTransition, match="allowed for operator"):
        await engine.retry(job_id, actor="user")
    assert await engine.retry(job_id, actor="operator") is Verdict.OK
    assert await finish(engine, await a_worker(engine)) == ["main"]
    assert await status_of(engine, job_id) is JobStatus.COMPLETED
