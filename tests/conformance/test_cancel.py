"""cancel: a job and whatever of it is unfinished ends now."""

import pytest

from reelstate.core.errors import InvalidTransition
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
    released,
    running_parts,
    status_of,
    submitted,
    take,
    task_at,
    task_path,
    task_statuses,
)
from tests.engines import FakeClock, a_worker, done, failed

CANCELLED = TaskStatus.CANCELLED


async def test_a_pending_job_is_cancelled(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine, "parts", {"parts": 2})
    clock.advance(3)
    assert await engine.cancel(job_id) is Verdict.OK
    job = (await engine.job(job_id)).job
    assert (job.status, job.finished_at, job.ended) == (JobStatus.CANCELLED, clock.now, True)
    assert await task_statuses(engine, job_id) == [CANCELLED] * 2
    assert await take(engine, await a_worker(engine)) == []


@pytest.mark.parametrize("phase", PHASES)
async def test_a_job_is_cancelled_in_any_phase(engine: Engine, phase: JobStatus) -> None:
    await declared(engine, "phased", StageSpec(name="main", phase=phase))
    task = await a_running_task(engine, "phased")
    assert await engine.cancel(task.key.job_id) is Verdict.OK
    assert await status_of(engine, task.key.job_id) is JobStatus.CANCELLED
    assert (await task_path(engine, task.key))[-1] == ("running", "cancelled", "operator")


async def test_every_unfinished_task_is_cancelled_and_done_work_stays(engine: Engine) -> None:
    await submitted(engine, "parts", {"parts": 4})
    running, waiting, finished = await take(engine, await a_worker(engine), 3)
    await engine.fail([failed(waiting, retry_in=100)])
    await engine.complete([done(finished, "kept")])
    job_id = running.key.job_id
    await engine.cancel(job_id)
    assert await task_statuses(engine, job_id) == [CANCELLED, CANCELLED, TaskStatus.DONE, CANCELLED]
    row = await task_at(engine, running.key)
    assert (row.worker_id, row.lease_expires_at) == (None, None)
    assert (await task_at(engine, finished.key)).result == "kept"


async def test_a_delayed_job_is_cancelled_and_never_becomes_due(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine, delay=5)
    await engine.cancel(job_id)
    clock.advance(5)
    assert (await engine.orchestrate()).ready == 0
    assert await task_statuses(engine, job_id) == [CANCELLED]


async def test_a_failed_job_is_cancelled_with_its_failed_task(engine: Engine) -> None:
    bad, other = await running_parts(engine, 2)
    await fail_for_good(engine, bad)
    assert await engine.cancel(bad.key.job_id) is Verdict.OK
    assert await task_statuses(engine, bad.key.job_id) == [CANCELLED] * 2
    assert await engine.complete([done(other)]) == [Verdict.CANCELLED]


async def test_a_quarantined_job_is_cancelled(engine: Engine) -> None:
    job_id = await submitted(engine)
    await engine.quarantine(job_id, reason="odd")
    assert await engine.cancel(job_id) is Verdict.OK
    assert await task_statuses(engine, job_id) == [CANCELLED]


async def test_a_cancel_twice_is_one_cancel(engine: Engine) -> None:
    job_id = await submitted(engine)
    await engine.cancel(job_id, reason="first")
    before = (await engine.job(job_id)).job
    assert await engine.cancel(job_id, reason="second") is Verdict.REPEATED
    assert (await engine.job(job_id)).job == before


async def test_a_completed_job_can_not_be_cancelled(engine: Engine) -> None:
    job_id = await submitted(engine)
    await finish(engine, await a_worker(engine))
    with pytest.raises(InvalidTransition, match="completed to cancelled"):
        await engine.cancel(job_id)
    assert await task_statuses(engine, job_id) == [TaskStatus.DONE]


async def test_a_user_may_cancel(engine: Engine) -> None:
    task = await a_running_task(engine)
    assert await engine.cancel(task.key.job_id, actor="user:ada") is Verdict.OK
    assert (await task_path(engine, task.key))[-1] == ("running", "cancelled", "user:ada")


async def test_a_worker_learns_of_the_cancel_by_any_report(engine: Engine) -> None:
    task = await a_running_task(engine)
    worker = (await task_at(engine, task.key)).worker_id or 0
    await engine.cancel(task.key.job_id)
    cancelled = [Verdict.CANCELLED]
    assert (await engine.report(worker, [progress(task)])).verdicts == cancelled
    assert await engine.complete([done(task)]) == cancelled
    assert await engine.fail([failed(task)]) == cancelled
    assert await engine.release([released(task)]) == cancelled


async def test_nothing_is_left_to_reclaim(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await engine.cancel(task.key.job_id)
    clock.advance(1000)
    assert (await engine.reclaim()).total == 0
