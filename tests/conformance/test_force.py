"""force: an operator sets the status of a job. It needs a reason, ends any lease, and is audited."""

import pytest

from reelstate.core.errors import InvalidRequest, InvalidTransition
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    fail_for_good,
    finish,
    job_path,
    running_parts,
    stage_statuses,
    status_of,
    submitted,
    take,
    take_one,
    task_at,
    task_statuses,
)
from tests.engines import FakeClock, a_worker, done, failed

PENDING, FAILED, COMPLETED = JobStatus.PENDING, JobStatus.FAILED, JobStatus.COMPLETED


async def job_in(engine: Engine, status: JobStatus) -> int:
    """A job of two parts in one of the statuses that can be forced; part 0 has run."""
    if status is PENDING:
        return await submitted(engine, "parts", {"parts": 2})
    first, _ = await running_parts(engine, 2)
    job_id = first.key.job_id
    if status is FAILED:
        await fail_for_good(engine, first)
    elif status is JobStatus.QUARANTINED:
        await engine.quarantine(job_id, reason="odd")
    assert await status_of(engine, job_id) is status
    return job_id


@pytest.mark.parametrize("target", [PENDING, FAILED, COMPLETED])
@pytest.mark.parametrize("origin", [PENDING, JobStatus.PROCESSING, FAILED, JobStatus.QUARANTINED])
async def test_every_unfinished_job_can_be_forced(
    engine: Engine, clock: FakeClock, origin: JobStatus, target: JobStatus
) -> None:
    job_id = await job_in(engine, origin)
    verdict = await engine.force(job_id, target, reason="forced", actor="operator:ada")
    assert verdict is (Verdict.REPEATED if origin is target else Verdict.OK)
    job = (await engine.job(job_id)).job
    assert (job.status, job.finished_at) == (target, None if target is PENDING else clock.now)
    if origin is not target:
        assert (job.actor, job.reason) == ("operator:ada", "forced")
        assert (await job_path(engine, job_id))[-1] == (target, "operator:ada")
        rows = (await engine.tasks(job_id)).items
        assert {row.worker_id for row in rows} == {None}


async def test_a_job_forced_to_pending_runs_what_is_unfinished(engine: Engine) -> None:
    done_part, running = await running_parts(engine, 2)
    await engine.complete([done(done_part, "kept")])
    job_id = running.key.job_id
    await engine.force(job_id, PENDING, reason="worker is stuck")
    assert await engine.complete([done(running)]) == [Verdict.LOST]
    again = await take_one(engine, await a_worker(engine, "other"))
    assert (again.key, again.token, again.attempt, again.max_attempts) == (running.key, 2, 1, 3)
    await engine.complete([done(again)])
    assert await status_of(engine, job_id) is COMPLETED
    assert (await task_at(engine, done_part.key)).result == "kept"


async def test_a_job_forced_to_failed_has_its_runs_stopped(engine: Engine, clock: FakeClock) -> None:
    await submitted(engine, "parts", {"parts": 3})
    running, waiting = await take(engine, await a_worker(engine), 2)
    await engine.fail([failed(waiting, retry_in=5)])
    job_id = running.key.job_id
    await engine.force(job_id, FAILED, reason="enough")
    assert await task_statuses(engine, job_id) == [TaskStatus.NEW] * 3
    assert (await task_at(engine, running.key)).attempt == 0
    clock.advance(100)
    await engine.orchestrate()
    assert await take(engine, await a_worker(engine, "other")) == []
    await engine.retry(job_id)
    assert await finish(engine, await a_worker(engine, "third")) == ["part"] * 3
    assert await status_of(engine, job_id) is COMPLETED


async def test_a_job_forced_to_completed_leaves_nothing_to_run(engine: Engine) -> None:
    await submitted(engine, "parts", {"parts": 4})
    bad, running, finished = await take(engine, await a_worker(engine), 3)
    await engine.complete([done(finished, "kept")])
    await fail_for_good(engine, bad)
    job_id = bad.key.job_id
    await engine.force(job_id, COMPLETED, reason="good enough")
    cancelled = TaskStatus.CANCELLED
    assert await task_statuses(engine, job_id) == [cancelled, cancelled, TaskStatus.DONE, cancelled]
    detail = await engine.job(job_id)
    assert (detail.job.error, detail.progress) == (None, 100.0)
    assert await engine.complete([done(running)]) == [Verdict.CANCELLED]


async def test_a_forced_completion_opens_no_later_stage(engine: Engine) -> None:
    plan = await a_running_task(engine, "fan")
    await engine.force(plan.key.job_id, COMPLETED, reason="no need")
    assert set((await stage_statuses(engine, plan.key.job_id)).values()) == {TaskStatus.CANCELLED}
    assert await take(engine, await a_worker(engine, "other")) == []


@pytest.mark.parametrize("target", [PENDING, FAILED, COMPLETED])
async def test_it_needs_a_reason(engine: Engine, target: JobStatus) -> None:
    job_id = await submitted(engine)
    for reason in (None, "", " \n"):
        with pytest.raises(InvalidRequest) as refused:
            await engine.force(job_id, target, reason=reason)
        assert refused.value.field == "reason"
    assert await job_path(engine, job_id) == [("pending", "user")]


@pytest.mark.parametrize("target", [status for status in JobStatus if status not in (PENDING, FAILED, COMPLETED)])
async def test_a_job_can_not_be_forced_to_anything_else(engine: Engine, target: JobStatus) -> None:
    job_id = await submitted(engine)
    with pytest.raises(InvalidRequest) as refused:
        await engine.force(job_id, target, reason="why")
    assert refused.value.field == "target"


@pytest.mark.parametrize("target", [PENDING, FAILED])
async def test_a_finished_job_can_not_be_forced(engine: Engine, target: JobStatus) -> None:
    completed = await submitted(engine)
    await finish(engine, await a_worker(engine))
    cancelled = await submitted(engine)
    await engine.cancel(cancelled)
    for job_id in (completed, cancelled):
        with pytest.raises(InvalidTransition):
            await engine.force(job_id, target, reason="why")
    with pytest.raises(InvalidTransition):
        await engine.force(cancelled, COMPLETED, reason="why")


async def test_only_an_operator_may_force(engine: Engine) -> None:
    first, _ = await running_parts(engine, 2)
    for target in (PENDING, FAILED, COMPLETED):
        with pytest.raises(InvalidTransition):
            await engine.force(first.key.job_id, target, reason="why", actor="user")
    await fail_for_good(engine, first)
    with pytest.raises(InvalidTransition):
        await engine.force(first.key.job_id, PENDING, reason="why", actor="user")


async def test_a_job_that_failed_by_its_fan_out_may_be_forced_to_completed(engine: Engine) -> None:
    job_id = await submitted(engine, "fan")
    await finish(engine, await a_worker(engine), {"plan": {}})
    assert await status_of(engine, job_id) is FAILED
    await engine.force(job_id, COMPLETED, reason="nothing to do")
    assert (await engine.job(job_id)).outputs == {}


async def test_forcing_a_degraded_stage_to_pending_keeps_what_is_closed(engine: Engine) -> None:
    await declared(
        engine,
        "lenient",
        StageSpec(name="extra", required=False, attempts=1),
        StageSpec(name="main", attempts=1),
    )
    job_id = await submitted(engine, "lenient")
    worker = await a_worker(engine)
    extra, main = await take(engine, worker)
    await engine.fail([failed(extra), failed(main)])
    assert await status_of(engine, job_id) is FAILED
    await engine.force(job_id, PENDING, reason="again")
    assert await finish(engine, worker) == ["main"]
    job = (await engine.job(job_id)).job
    assert (job.status, job.degraded) == (COMPLETED, ["extra: 1 failed, part 0: it broke"])
