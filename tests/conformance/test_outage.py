"""After an outage of the store: what living workers hold stays theirs, and what they finished is accepted."""

import pytest

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Completion, Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from reelstate.services.operate.retry import From
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    fail_for_good,
    lose,
    progress,
    running_parts,
    status_of,
    submitted,
    take,
    take_one,
    task_at,
    task_path,
)
from tests.engines import FakeClock, a_worker, done, failed

TERMS = {"lead": 10.0, "gap": 60.0, "grace": 120.0}
"""Those of a keeper with the default settings."""


async def sweep(engine: Engine) -> int:
    """What a keeper does at every sweep; gives how many tasks were taken back."""
    await engine.lead("keeper", **TERMS)
    return (await engine.reclaim(gap=TERMS["gap"])).total


async def keep_for(engine: Engine, clock: FakeClock, seconds: int) -> int:
    """Sweeps every five seconds for so long; gives how many tasks were taken back."""
    taken = 0
    for _ in range(seconds // 5):
        clock.advance(5)
        taken += await sweep(engine)
    return taken


async def a_leased_task(engine: Engine, lease: float) -> StageSpec:
    stage = StageSpec(name="main", lease=lease)
    await declared(engine, "leased", stage)
    await submitted(engine, "leased")
    return stage


@pytest.mark.parametrize("lease, outage", [(30, 42), (60, 59), (15, 20), (300, 400)])
async def test_an_outage_longer_than_the_lease_takes_nothing_from_who_renews_afterwards(
    engine: Engine, clock: FakeClock, lease: float, outage: float
) -> None:
    await a_leased_task(engine, lease)
    worker = await a_worker(engine)
    await sweep(engine)
    task = await take_one(engine, worker)
    clock.advance(outage)
    assert await sweep(engine) == 0
    assert await keep_for(engine, clock, 10) == 0
    assert (await engine.report(worker, [progress(task)])).verdicts == [Verdict.OK]
    assert await keep_for(engine, clock, int(lease) - 5) == 0


@pytest.mark.parametrize("lease", [30, 300])
async def test_who_does_not_renew_loses_the_task_a_lease_after_the_outage(
    engine: Engine, clock: FakeClock, lease: float
) -> None:
    await a_leased_task(engine, lease)
    await sweep(engine)
    await take_one(engine, await a_worker(engine))
    clock.advance(lease + 12)
    assert await sweep(engine) == 0
    grace = int(min(lease, TERMS["grace"]))
    assert await keep_for(engine, clock, grace - 5) == 0
    assert await keep_for(engine, clock, 10) == 1


async def test_a_lease_that_ran_out_before_the_outage_has_no_grace(engine: Engine, clock: FakeClock) -> None:
    await a_leased_task(engine, 30)
    await take_one(engine, await a_worker(engine))
    clock.advance(31)
    await engine.lead("keeper", **TERMS)
    clock.advance(42)
    assert await sweep(engine) == 1


async def test_a_timeout_has_no_grace(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "limited", StageSpec(name="main", lease=30, timeout=20))
    await submitted(engine, "limited")
    await sweep(engine)
    await take_one(engine, await a_worker(engine))
    clock.advance(300)
    assert await sweep(engine) == 1


async def test_a_short_pause_of_the_keepers_does_not_delay_a_recovery(engine: Engine, clock: FakeClock) -> None:
    await take_one_of_simple(engine)
    await keep_for(engine, clock, 40)
    clock.advance(12)
    await sweep(engine)
    assert await keep_for(engine, clock, 10) == 1


async def take_one_of_simple(engine: Engine) -> None:
    await a_running_task(engine)
    await sweep(engine)


# A result that comes after the task was taken back


async def test_a_result_is_accepted_until_another_worker_claims_the_task(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await lose(engine, clock)
    assert await engine.complete([done(task, "late")]) == [Verdict.OK]
    row = await task_at(engine, task.key)
    assert (row.status, row.result, row.attempt, row.lost) == (TaskStatus.DONE, "late", 1, 0)
    assert await status_of(engine, task.key.job_id) is JobStatus.COMPLETED
    assert await task_path(engine, task.key) == [
        ("ready", "running", "worker"),
        ("running", "ready", "keeper"),
        ("ready", "done", "worker"),
    ]


async def test_the_same_result_twice_has_the_first_answer(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await lose(engine, clock)
    assert await engine.complete([done(task, "late")]) == [Verdict.OK]
    assert await engine.complete([done(task, "late")]) == [Verdict.REPEATED]


async def test_a_result_is_refused_once_another_worker_has_claimed_the_task(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await lose(engine, clock)
    other = await take_one(engine, await a_worker(engine, "other"))
    assert await engine.complete([done(task, "late")]) == [Verdict.LOST]
    assert await engine.complete([done(other, "right")]) == [Verdict.OK]
    assert (await task_at(engine, task.key)).result == "right"


async def test_that_there_was_nothing_to_do_is_accepted_too(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await lose(engine, clock)
    assert await engine.complete([Completion(key=task.key, token=task.token, skipped=True)]) == [Verdict.OK]
    assert (await task_at(engine, task.key)).status is TaskStatus.SKIPPED


async def test_what_a_worker_gave_back_itself_is_not_accepted(engine: Engine) -> None:
    task = await a_running_task(engine)
    await engine.disable("worker")
    assert await engine.complete([done(task, "late")]) == [Verdict.LOST]


async def test_a_result_for_a_job_that_was_stopped_is_not_accepted(engine: Engine, clock: FakeClock) -> None:
    first, second = await running_parts(engine, 2)
    clock.advance(1)
    await fail_for_good(engine, first)
    await lose(engine, clock)
    assert await engine.complete([done(second, "late")]) == [Verdict.LOST]


async def test_a_result_of_the_last_attempt_is_not_accepted_once_the_job_has_failed(
    engine: Engine, clock: FakeClock
) -> None:
    await declared(engine, "single", StageSpec(name="main", attempts=1))
    task = await a_running_task(engine, "single")
    await lose(engine, clock)
    assert await status_of(engine, task.key.job_id) is JobStatus.FAILED
    assert await engine.complete([done(task, "late")]) == [Verdict.LOST]
    assert (await task_at(engine, task.key)).status is TaskStatus.ERROR


async def test_a_result_is_not_accepted_after_the_failure_of_the_same_run(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await engine.fail([failed(task, retry_in=1)])
    clock.advance(2)
    await engine.orchestrate()
    assert (await task_at(engine, task.key)).status is TaskStatus.READY
    assert await engine.complete([done(task, "late")]) == [Verdict.LOST]


async def test_a_repetition_is_no_result_of_a_run_that_was_ordered_again(engine: Engine) -> None:
    """The task is ready under the same token, but an operator made it so: the old result is what should be replaced."""
    tasks = await running_parts(engine, 2)
    await engine.complete([done(tasks[0], "old")])
    await fail_for_good(engine, tasks[1])
    await engine.retry(tasks[0].key.job_id)
    await engine.retry(tasks[0].key.job_id, start=From("part", (0, 0)))
    assert (await task_at(engine, tasks[0].key)).status is TaskStatus.READY
    assert await engine.complete([done(tasks[0], "old")]) == [Verdict.REPEATED]
    assert (await task_at(engine, tasks[0].key)).status is TaskStatus.READY


async def test_the_loss_that_was_none_does_not_isolate_a_later_run(engine: Engine, clock: FakeClock) -> None:
    tasks = await running_parts(engine, 2)
    await lose(engine, clock)
    assert await engine.complete([done(tasks[0], "late")]) == [Verdict.OK]
    other = await a_worker(engine, "other")
    (again,) = await take(engine, other)
    await engine.fail([failed(again, retryable=False)])
    assert (await task_at(engine, tasks[0].key)).lost == 0
