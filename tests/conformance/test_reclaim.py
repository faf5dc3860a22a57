"""reclaim: an expired lease is taken back, and nothing but the expiry counts."""

import pytest

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import ClaimedTask, Reclaimed, TaskKey
from reelstate.core.pipeline import StageSpec
from reelstate.core.policy import BACKSTOP_MARGIN
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    fail_for_good,
    job_path,
    lose,
    progress,
    running_parts,
    status_of,
    submitted,
    take,
    take_one,
    task_at,
    task_path,
    task_statuses,
)
from tests.engines import FakeClock, a_worker, failed

NOTHING = Reclaimed(ready=0, failed=0, stopped=0, quarantined=())


async def a_task_of(engine: Engine, **stage: float) -> ClaimedTask:
    await declared(engine, "own", StageSpec(name="main", isolate_after=1, **stage))  # type: ignore[arg-type]
    return await a_running_task(engine, "own")


async def lose_alone(engine: Engine, clock: FakeClock, name: str) -> ClaimedTask:
    """Have the one task that waits taken by a new worker with one slot, which is then lost."""
    task = await take_one(engine, await a_worker(engine, name, slots=1))
    await lose(engine, clock)
    return task


async def test_an_expired_lease_makes_the_task_ready_for_others(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    worker = (await task_at(engine, task.key)).worker_id
    clock.advance(60)
    assert await engine.reclaim() == NOTHING
    clock.advance(1)
    assert await engine.reclaim() == Reclaimed(ready=1, failed=0, stopped=0, quarantined=())
    row = await task_at(engine, task.key)
    assert (row.status, row.attempt, row.lost, row.token) == (TaskStatus.READY, 1, 1, 1)
    assert (row.worker_id, row.lease_expires_at, row.ready_at) == (None, None, clock.now)
    assert row.last_worker == worker
    assert row.reason == "lease expired"
    assert (await task_path(engine, task.key))[-1] == ("running", "ready", "keeper")
    assert await engine.reclaim() == NOTHING


async def test_only_the_expired_are_taken(engine: Engine, clock: FakeClock) -> None:
    first, second = await running_parts(engine, 2)
    worker = (await task_at(engine, first.key)).worker_id or 0
    clock.advance(40)
    await engine.report(worker, [progress(second)])
    clock.advance(40)
    assert (await engine.reclaim()).ready == 1
    assert (await task_at(engine, second.key)).status is TaskStatus.RUNNING


async def test_a_dead_worker_keeps_its_lease_until_it_expires(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    clock.advance(50)
    assert len(await engine.reclaim_workers(stale_after=45)) == 1
    assert await engine.reclaim() == NOTHING
    assert (await task_at(engine, task.key)).status is TaskStatus.RUNNING


async def test_a_live_worker_loses_what_it_does_not_renew(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    clock.advance(61)
    await engine.report((await task_at(engine, task.key)).worker_id or 0)
    assert (await engine.reclaim()).ready == 1


@pytest.mark.parametrize(
    "phase",
    [JobStatus.VALIDATING, JobStatus.PLANNING, JobStatus.DOWNLOADING_INPUTS, JobStatus.UPLOADING_OUTPUTS],
)
async def test_a_lease_is_taken_back_in_any_phase(engine: Engine, clock: FakeClock, phase: JobStatus) -> None:
    await declared(engine, "phased", StageSpec(name="main", phase=phase))
    task = await a_running_task(engine, "phased")
    assert await status_of(engine, task.key.job_id) is phase
    await lose(engine, clock)
    assert (await task_at(engine, task.key)).status is TaskStatus.READY
    assert await status_of(engine, task.key.job_id) is phase


async def test_a_sweep_takes_no_more_than_its_limit(engine: Engine, clock: FakeClock) -> None:
    await running_parts(engine, 5)
    clock.advance(61)
    assert [(await engine.reclaim(limit=2)).ready for _ in range(4)] == [2, 2, 1, 0]


async def test_a_lost_lease_uses_up_an_attempt(engine: Engine, clock: FakeClock) -> None:
    task = await a_task_of(engine, attempts=1)
    clock.advance(61)
    assert await engine.reclaim() == Reclaimed(ready=0, failed=1, stopped=0, quarantined=())
    row = await task_at(engine, task.key)
    assert (row.status, row.run_after, row.finished_at) == (TaskStatus.ERROR, None, clock.now)
    assert (await task_path(engine, task.key))[-1] == ("running", "error", "keeper")
    assert await job_path(engine, task.key.job_id) == [
        ("pending", "user"),
        ("processing", "worker"),
        ("failed", "keeper"),
    ]


async def test_the_last_lost_lease_of_an_optional_stage_leaves_the_job_degraded(
    engine: Engine, clock: FakeClock
) -> None:
    task = await a_task_of(engine, attempts=1, required=False)
    await lose(engine, clock)
    job = (await engine.job(task.key.job_id)).job
    (missing,) = job.degraded
    assert job.status is JobStatus.COMPLETED
    assert missing.startswith("main: 1 failed, part 0: ")


async def test_a_stall_counts_as_an_attempt_but_not_as_a_lost_worker(engine: Engine, clock: FakeClock) -> None:
    task = await a_task_of(engine, stall_after=30)
    worker = (await task_at(engine, task.key)).worker_id or 0
    clock.advance(29)
    await engine.report(worker, [progress(task)])
    clock.advance(2)
    assert (await engine.reclaim()).ready == 1
    row = await task_at(engine, task.key)
    assert (row.status, row.lost, row.attempt, row.reason) == (TaskStatus.READY, 0, 1, "stalled")


async def test_a_timeout_counts_as_an_attempt_but_not_as_a_lost_worker(engine: Engine, clock: FakeClock) -> None:
    task = await a_task_of(engine, timeout=90, stall_after=50, attempts=1)
    worker = (await task_at(engine, task.key)).worker_id or 0
    for percent in (1, 2, 3):
        clock.advance(30)
        await engine.report(worker, [progress(task, percent=percent)])
    clock.advance(1)
    assert (await engine.reclaim()).total == 0, "the worker has not had the time to end the run by itself"
    clock.advance(BACKSTOP_MARGIN)
    assert (await engine.reclaim()).failed == 1
    row = await task_at(engine, task.key)
    assert (row.lost, row.error["message"]) == (0, "timed out")
    assert await status_of(engine, task.key.job_id) is JobStatus.FAILED


async def test_a_running_task_of_a_failed_job_that_is_lost_waits_as_new(engine: Engine, clock: FakeClock) -> None:
    bad, other = await running_parts(engine, 2)
    await fail_for_good(engine, bad)
    clock.advance(61)
    assert await engine.reclaim() == Reclaimed(ready=0, failed=0, stopped=1, quarantined=())
    row = await task_at(engine, other.key)
    assert (row.status, row.lost) == (TaskStatus.NEW, 1)


# A task that keeps losing its worker while alone on it is a poison task.


async def test_a_poison_task_is_quarantined_with_the_evidence(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "deadly", StageSpec(name="main", attempts=10, isolate_after=1))
    job_id = await submitted(engine, "deadly")
    await lose_alone(engine, clock, "first")
    await lose_alone(engine, clock, "second")
    assert await task_statuses(engine, job_id) == [TaskStatus.READY]
    worker = await a_worker(engine, "third", slots=1)
    task = await take_one(engine, worker)
    await engine.report(worker, [progress(task, step="ffmpeg -i bomb.mkv", message="Killed")])
    clock.advance(61)
    assert await engine.reclaim() == Reclaimed(ready=0, failed=1, stopped=0, quarantined=(job_id,))
    job = (await engine.job(job_id)).job
    assert job.status is JobStatus.QUARANTINED
    assert (await job_path(engine, job_id))[-1] == ("quarantined", "keeper")
    assert str(task.key) in (job.reason or "")
    assert (job.error["task"], job.error["stage"], job.error["part"]) == (str(task.key), "main", 0)
    cause = job.error["cause"]
    assert (cause["type"], cause["message"], cause["attempt"]) == ("lost", "lease expired", 3)
    assert (cause["worker"], cause["step"], cause["last_message"]) == (worker, "ffmpeg -i bomb.mkv", "Killed")


async def test_losses_beside_others_do_not_count_towards_quarantine(engine: Engine, clock: FakeClock) -> None:
    stage = StageSpec(name="part", each="spec.parts", attempts=10, isolate_after=1, max_lost=1)
    await declared(engine, "crowd", stage)
    job_id = await submitted(engine, "crowd", {"parts": 4})
    await take(engine, await a_worker(engine))
    clock.advance(61)
    assert await engine.reclaim() == Reclaimed(ready=4, failed=0, stopped=0, quarantined=())
    assert await status_of(engine, job_id) is JobStatus.PROCESSING


async def test_only_the_poison_task_of_several_isolated_tasks_is_quarantined(engine: Engine, clock: FakeClock) -> None:
    stage = StageSpec(name="main", attempts=10, isolate_after=1, max_lost=2)
    await declared(engine, "crowd", stage)
    poison, innocent = await submitted(engine, "crowd", priority=9), await submitted(engine, "crowd")
    await take(engine, await a_worker(engine))
    await lose(engine, clock)
    for name in ("first", "second"):
        worker = await a_worker(engine, name)
        assert [task.key.job_id for task in await take(engine, worker)] == [poison]
        await lose(engine, clock)
    assert await status_of(engine, poison) is JobStatus.QUARANTINED
    assert await status_of(engine, innocent) is JobStatus.PROCESSING
    task = await take_one(engine, await a_worker(engine, "third"))
    assert (task.key.job_id, task.lost) == (innocent, 1)


@pytest.mark.parametrize("max_lost, status", [(2, JobStatus.QUARANTINED), (3, JobStatus.FAILED)])
async def test_losing_its_last_attempt_alone_makes_a_poison_task_only_if_it_lost_too_many(
    engine: Engine, clock: FakeClock, max_lost: int, status: JobStatus
) -> None:
    await declared(engine, "deadly", StageSpec(name="main", attempts=2, isolate_after=1, max_lost=max_lost))
    job_id = await submitted(engine, "deadly")
    await take_one(engine, await a_worker(engine, "shared", slots=4))
    clock.advance(61)
    await engine.reclaim()
    await lose_alone(engine, clock, "alone")
    assert await status_of(engine, job_id) is status


async def test_the_siblings_of_a_poison_task_are_stopped_without_counting_the_attempt(
    engine: Engine, clock: FakeClock
) -> None:
    stage = StageSpec(name="part", each="spec.parts", attempts=5, isolate_after=1, max_lost=1)
    await declared(engine, "deadly", stage)
    job_id = await submitted(engine, "deadly", {"parts": 3})
    alone = await take_one(engine, await a_worker(engine, "alone", slots=1))
    busy = await a_worker(engine, "busy")
    other = await take_one(engine, busy)
    clock.advance(50)
    await engine.report(busy, [progress(other)])
    clock.advance(11)
    assert (await engine.reclaim()).quarantined == (job_id,)
    new = TaskStatus.NEW
    assert await task_statuses(engine, job_id) == [TaskStatus.ERROR, new, new]
    assert (await task_at(engine, alone.key)).attempt == 1
    assert (await task_at(engine, other.key)).attempt == 0
    assert await take(engine, busy) == []


async def test_a_poison_task_of_an_optional_stage_is_quarantined_all_the_same(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "deadly", StageSpec(name="main", isolate_after=1, max_lost=1, required=False))
    job_id = await submitted(engine, "deadly")
    await lose_alone(engine, clock, "first")
    assert await status_of(engine, job_id) is JobStatus.QUARANTINED


async def test_a_worker_with_one_slot_that_took_several_had_none_of_them_alone(
    engine: Engine, clock: FakeClock
) -> None:
    stage = StageSpec(name="part", each="spec.parts", isolate_after=1, max_lost=1)
    await declared(engine, "greedy", stage)
    job_id = await submitted(engine, "greedy", {"parts": 3})
    await take(engine, await a_worker(engine, "greedy", slots=1))
    await lose(engine, clock)
    assert await status_of(engine, job_id) is JobStatus.PROCESSING
    assert await task_statuses(engine, job_id) == [TaskStatus.READY] * 3


async def test_a_job_with_a_poison_task_is_quarantined_even_if_another_part_fails_it(
    engine: Engine, clock: FakeClock
) -> None:
    stage = StageSpec(name="part", each="spec.parts", attempts=1, isolate_after=1, max_lost=1)
    await declared(engine, "both", stage)
    job_id = await submitted(engine, "both", {"parts": 2})
    await take(engine, await a_worker(engine, "many"), 1)
    await take(engine, await a_worker(engine, "alone", slots=1), 1)
    clock.advance(61)
    assert (await engine.reclaim()).quarantined == (job_id,)
    job = (await engine.job(job_id)).job
    assert (job.status, job.error["part"]) == (JobStatus.QUARANTINED, 1)


async def test_a_retried_poison_task_is_still_run_alone_but_counted_anew(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "deadly", StageSpec(name="main", isolate_after=1, max_lost=1, attempts=3))
    job_id = await submitted(engine, "deadly")
    await lose_alone(engine, clock, "first")
    await engine.retry(job_id, reason="new codec")
    await submitted(engine)
    worker = await a_worker(engine, "second")
    (task,) = await take(engine, worker)
    assert (task.key, task.lost) == (TaskKey(job_id, 0, 0), 1)
    await engine.fail([failed(task, retry_in=0)])
    assert await status_of(engine, job_id) is JobStatus.PROCESSING
