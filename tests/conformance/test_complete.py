"""complete: a result counts once, and only under the token that holds the task."""

import pytest

from reelstate.core.errors import TooLarge
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Completion, TaskKey, Verdict
from reelstate.engine import Engine
from reelstate.services.operate.retry import From
from tests.conformance.scenarios import (
    a_running_task,
    fail_for_good,
    lose,
    running_parts,
    stage_statuses,
    status_of,
    submitted,
    take,
    take_one,
    task_at,
    task_path,
    task_statuses,
)
from tests.engines import FakeClock, a_worker, done, failed

OK, REPEATED, LOST = Verdict.OK, Verdict.REPEATED, Verdict.LOST
CANCELLED, UNKNOWN = Verdict.CANCELLED, Verdict.UNKNOWN


async def test_a_completed_task_is_done_with_its_result_and_without_a_lease(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    clock.advance(9)
    assert await engine.complete([done(task, {"file": "a.mp4"})]) == [OK]
    row = await task_at(engine, task.key)
    assert (row.status, row.result, row.percent) == (TaskStatus.DONE, {"file": "a.mp4"}, 100)
    assert (row.worker_id, row.lease_expires_at, row.finished_at) == (None, None, clock.now)
    assert (row.token, row.attempt, row.last_worker is not None) == (1, 1, True)
    assert (await task_path(engine, task.key))[-1] == ("running", "done", "worker")
    job = (await engine.job(task.key.job_id)).job
    assert (job.status, job.finished_at, job.ended) == (JobStatus.COMPLETED, clock.now, True)


async def test_a_task_may_turn_out_to_be_nothing_to_do(engine: Engine) -> None:
    task = await a_running_task(engine)
    assert await engine.complete([Completion(key=task.key, token=task.token, skipped=True)]) == [OK]
    assert (await task_at(engine, task.key)).status is TaskStatus.SKIPPED
    assert await status_of(engine, task.key.job_id) is JobStatus.COMPLETED


async def test_completing_nothing_returns_nothing(engine: Engine) -> None:
    assert await engine.complete([]) == []


async def test_a_late_completion_is_accepted_until_another_claim_of_the_task(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    clock.advance(100_000)
    assert await engine.complete([done(task, "late")]) == [OK]
    assert (await task_at(engine, task.key)).result == "late"


async def test_the_old_token_is_refused_while_the_new_one_runs_and_after(engine: Engine, clock: FakeClock) -> None:
    old = await a_running_task(engine)
    await lose(engine, clock)
    new = await take_one(engine, await a_worker(engine, "other"))
    assert await engine.complete([done(old, "old")]) == [LOST]
    assert await engine.complete([done(new, "new")]) == [OK]
    assert await engine.complete([done(old, "old")]) == [LOST]
    assert (await task_at(engine, new.key)).result == "new"


async def test_a_repeated_completion_gets_the_first_answer_and_changes_nothing(engine: Engine) -> None:
    task = await a_running_task(engine)
    await engine.complete([done(task, "first")])
    before = await task_at(engine, task.key)
    assert await engine.complete([done(task, "second")]) == [REPEATED]
    assert await engine.complete([done(task, "third")]) == [REPEATED]
    assert await task_at(engine, task.key) == before


async def test_a_completion_repeated_after_an_operator_ran_the_task_again_is_still_repeated(
    engine: Engine, clock: FakeClock
) -> None:
    first, second = await running_parts(engine, 2)
    await engine.complete([done(first, "first")])
    await engine.fail([failed(second, retryable=False)])
    await engine.retry(first.key.job_id, start=From("part", (0, 0)))
    assert await engine.complete([done(first, "again")]) == [REPEATED]
    assert (await task_at(engine, first.key)).status is TaskStatus.READY


async def test_a_task_twice_in_one_batch_counts_once(engine: Engine) -> None:
    first, second = await running_parts(engine, 2)
    assert await engine.complete([done(first, 1), done(second, 2), done(first, 1)]) == [OK, OK, REPEATED]
    stage = (await engine.job(first.key.job_id)).stages[0]
    assert (stage.total, stage.done) == (2, 2)


async def test_of_two_results_for_one_task_in_one_batch_the_first_counts(engine: Engine) -> None:
    task = await a_running_task(engine)
    assert await engine.complete([done(task, "first"), done(task, "second")]) == [OK, REPEATED]
    assert (await task_at(engine, task.key)).result == "first"


async def test_one_batch_may_hold_the_old_and_the_new_token_of_a_task(engine: Engine, clock: FakeClock) -> None:
    old = await a_running_task(engine)
    await lose(engine, clock)
    new = await take_one(engine, await a_worker(engine, "other"))
    assert await engine.complete([done(old, "old"), done(new, "new"), done(old, "old")]) == [LOST, OK, LOST]
    assert (await task_at(engine, new.key)).result == "new"


async def test_every_item_of_a_batch_gets_its_own_verdict(engine: Engine, clock: FakeClock) -> None:
    fresh, ended, broken, lost = await running_parts(engine, 4)
    await submitted(engine)
    cancelled = await take_one(engine, await a_worker(engine, "other"))
    await engine.cancel(cancelled.key.job_id)
    await engine.complete([done(ended)])
    await engine.fail([failed(broken)])
    items = [
        done(cancelled),
        Completion(key=lost.key, token=0),
        done(ended),
        Completion(key=TaskKey(404, 0, 0), token=1),
        done(fresh),
        Completion(key=lost.key, token=lost.token + 1),
        done(broken),
        Completion(key=lost.key._replace(part=77), token=1),
    ]
    verdicts = await engine.complete(items)
    assert verdicts == [CANCELLED, LOST, REPEATED, UNKNOWN, OK, UNKNOWN, LOST, UNKNOWN]
    assert (await task_at(engine, lost.key)).status is TaskStatus.RUNNING


async def test_a_task_that_was_never_claimed_can_not_be_completed(engine: Engine) -> None:
    job_id = await submitted(engine)
    key = TaskKey(job_id, 0, 0)
    assert await engine.complete([Completion(key=key, token=0), Completion(key=key, token=1)]) == [
        LOST,
        UNKNOWN,
    ]
    assert await task_statuses(engine, job_id) == [TaskStatus.READY]


async def test_a_completion_after_a_cancel_gets_the_verdict_cancelled(engine: Engine) -> None:
    task = await a_running_task(engine)
    await engine.cancel(task.key.job_id)
    assert await engine.complete([done(task)]) == [CANCELLED]
    assert (await task_at(engine, task.key)).status is TaskStatus.CANCELLED


async def test_a_second_report_does_not_turn_done_into_skipped_or_failed(engine: Engine) -> None:
    task = await a_running_task(engine)
    await engine.complete([done(task)])
    assert await engine.complete([Completion(key=task.key, token=task.token, skipped=True)]) == [LOST]
    assert await engine.fail([failed(task)]) == [LOST]
    assert (await task_at(engine, task.key)).status is TaskStatus.DONE


async def test_success_after_a_failed_attempt_leaves_no_error_on_the_task(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await engine.fail([failed(task, retry_in=0)])
    await engine.orchestrate()
    again = await take_one(engine, await a_worker(engine, "other"))
    await engine.complete([done(again)])
    row = await task_at(engine, task.key)
    assert (row.error, row.attempt) == (None, 2)


async def test_one_batch_moves_many_jobs_on(engine: Engine) -> None:
    jobs = [await submitted(engine, "fan") for _ in range(3)]
    worker = await a_worker(engine)
    plans = await take(engine, worker)
    await engine.complete([done(plan, {"items": number}) for number, plan in enumerate(plans)])
    opened = [len(await task_statuses(engine, job_id, "work")) for job_id in jobs]
    assert opened == [0, 1, 2]
    assert [task.stage_name for task in await take(engine, worker)] == ["pack", "work", "work", "work"]


async def test_a_stage_closes_with_its_last_part(engine: Engine) -> None:
    first, second = await running_parts(engine, 2)
    await engine.complete([done(second)])
    assert await stage_statuses(engine, first.key.job_id) == {"part": TaskStatus.RUNNING}
    await engine.complete([done(first)])
    assert await stage_statuses(engine, first.key.job_id) == {"part": TaskStatus.DONE}


async def test_a_result_has_a_largest_size_and_a_batch_over_it_changes_nothing(engine: Engine) -> None:
    first, second = await running_parts(engine, 2)
    with pytest.raises(TooLarge, match=str(second.key)):
        await engine.complete([done(first), done(second, "x" * (16 * 1024 * 1024))])
    assert (await task_at(engine, first.key)).status is TaskStatus.RUNNING


async def test_the_result_of_a_running_sibling_is_kept_when_its_job_has_failed(engine: Engine) -> None:
    bad, good = await running_parts(engine, 2)
    await fail_for_good(engine, bad)
    assert await engine.complete([done(good, "kept")]) == [OK]
    assert (await task_at(engine, good.key)).result == "kept"
    assert await status_of(engine, good.key.job_id) is JobStatus.FAILED


async def test_an_inactive_job_opens_no_further_stage(engine: Engine) -> None:
    plan = await a_running_task(engine, "fan")
    await engine.force(plan.key.job_id, JobStatus.FAILED, reason="stop")
    job_id = await submitted(engine, "fan")
    other = await take_one(engine, await a_worker(engine, "other"))
    await engine.complete([done(other, {"items": 1})])
    assert await task_statuses(engine, plan.key.job_id) == [TaskStatus.NEW]
    assert await task_statuses(engine, job_id) == [TaskStatus.DONE, TaskStatus.READY]
