"""fail: an attempt fails, a task is retried, a job fails."""

from datetime import timedelta
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Completion, Failure, Json, TaskKey, Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.core.policy import Backoff
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    fail_for_good,
    job_path,
    lose,
    running_parts,
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


async def test_a_failed_attempt_waits_for_its_retry_and_the_job_continues(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    assert await engine.fail([failed(task, error="no such file", retry_in=20)]) == [OK]
    row = await task_at(engine, task.key)
    assert (row.status, row.error) == (TaskStatus.ERROR, {"message": "no such file"})
    assert (row.run_after, row.finished_at) == (clock.now + timedelta(seconds=20), None)
    assert (row.worker_id, row.lease_expires_at, row.attempt) == (None, None, 1)
    assert await status_of(engine, task.key.job_id) is JobStatus.PROCESSING
    assert (await task_path(engine, task.key))[-1] == ("running", "error", "worker")


async def test_the_retry_delay_is_between_zero_and_the_backoff_of_the_stage(engine: Engine, clock: FakeClock) -> None:
    backoff = Backoff(base=8, cap=20)
    stage = StageSpec(name="part", each="spec.parts", attempts=6, backoff=backoff)
    await declared(engine, "shaky", stage)
    job_id = await submitted(engine, "shaky", {"parts": 300})
    worker = await a_worker(engine)
    for ceiling in (8, 16, 20, 20):
        await engine.fail([failed(task) for task in await take(engine, worker)])
        due = [task.run_after for task in (await engine.tasks(job_id)).items if task.run_after is not None]
        delays = [(at - clock.now).total_seconds() for at in due]
        assert len(delays) == 300
        assert 0 <= min(delays) < ceiling * 0.1
        assert ceiling * 0.9 < max(delays) <= ceiling
        assert ceiling * 0.4 < sum(delays) / 300 < ceiling * 0.6
        clock.advance(ceiling)
        assert (await engine.orchestrate()).ready == 300


async def test_a_task_that_is_out_of_attempts_fails_its_job(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine)
    worker = await a_worker(engine)
    for number in (1, 2, 3):
        assert await status_of(engine, job_id) is not JobStatus.FAILED
        task = await take_one(engine, worker)
        assert (task.attempt, task.max_attempts) == (number, 3)
        await engine.fail([failed(task, retry_in=0, error=f"run {number}")])
        await engine.orchestrate()
    row = await task_at(engine, TaskKey(job_id, 0, 0))
    assert (row.status, row.run_after, row.finished_at) == (TaskStatus.ERROR, None, clock.now)
    assert (row.worker_id, row.lease_expires_at) == (None, None)
    job = (await engine.job(job_id)).job
    assert (job.status, job.finished_at) == (JobStatus.FAILED, clock.now)
    assert await take(engine, worker) == []


async def test_the_error_of_a_job_names_the_failed_task_and_the_cause(engine: Engine) -> None:
    _, task = await running_parts(engine, 2)
    await engine.fail([failed(task, error={"type": "codec", "message": "bad"}, retryable=False)])
    job = (await engine.job(task.key.job_id)).job
    assert job.error == {
        "task": str(task.key),
        "stage": "part",
        "part": 1,
        "cause": {"type": "codec", "message": "bad"},
    }
    assert str(task.key) in (job.reason or "")
    assert (await job_path(engine, job.id))[-1] == ("failed", "orchestrator")


async def test_an_error_that_is_not_retryable_fails_the_job_at_once(engine: Engine) -> None:
    task = await a_running_task(engine)
    await engine.fail([failed(task, retryable=False)])
    row = await task_at(engine, task.key)
    assert (row.status, row.attempt, row.max_attempts, row.run_after) == (TaskStatus.ERROR, 1, 3, None)
    assert await status_of(engine, task.key.job_id) is JobStatus.FAILED


async def test_when_a_job_fails_what_waits_goes_back_to_new_and_what_runs_may_finish(
    engine: Engine, clock: FakeClock
) -> None:
    await submitted(engine, "parts", {"parts": 5})
    worker = await a_worker(engine)
    bad, resting, running, ended = await take(engine, worker, 4)
    await engine.complete([done(ended)])
    await engine.fail([failed(resting, retry_in=100)])
    await fail_for_good(engine, bad)
    job_id = bad.key.job_id
    new, error, done_ = TaskStatus.NEW, TaskStatus.ERROR, TaskStatus.DONE
    assert await task_statuses(engine, job_id) == [error, new, TaskStatus.RUNNING, done_, new]
    clock.advance(200)
    await engine.orchestrate()
    assert await take(engine, worker) == []
    assert await engine.complete([done(running, "kept")]) == [OK]
    assert (await task_at(engine, running.key)).result == "kept"
    assert await status_of(engine, job_id) is JobStatus.FAILED


async def test_two_final_errors_in_one_batch_fail_the_job_once(engine: Engine) -> None:
    first, second = await running_parts(engine, 2)
    await fail_for_good(engine, first, second)
    assert [status for status, _ in await job_path(engine, first.key.job_id)].count("failed") == 1
    assert (await engine.job(first.key.job_id)).stages[0].failed == 2


async def test_a_final_error_in_a_failed_job_changes_only_the_task(engine: Engine) -> None:
    first, second = await running_parts(engine, 2)
    await fail_for_good(engine, first)
    before = (await engine.job(first.key.job_id)).job
    await fail_for_good(engine, second)
    after = await engine.job(first.key.job_id)
    assert after.job == before
    assert after.stages[0].failed == 2


async def test_jobs_of_one_batch_fail_each_for_themselves(engine: Engine) -> None:
    bad, good = await submitted(engine), await submitted(engine)
    tasks = await take(engine, await a_worker(engine))
    await engine.fail([failed(tasks[0], retryable=False), failed(tasks[1])])
    assert await status_of(engine, bad) is JobStatus.FAILED
    assert await status_of(engine, good) is JobStatus.PROCESSING


@pytest.mark.parametrize("retry_in", [-1, float("nan"), float("inf"), 31 * 86_400])
async def test_an_invalid_retry_delay_is_refused(engine: Engine, retry_in: float) -> None:
    task = await a_running_task(engine)
    with pytest.raises(InvalidRequest) as refused:
        await engine.fail([failed(task, retry_in=retry_in)])
    assert refused.value.field == "retry_in"
    assert (await task_at(engine, task.key)).status is TaskStatus.RUNNING


async def test_a_long_error_text_is_cut_and_its_nul_replaced(engine: Engine) -> None:
    task = await a_running_task(engine)
    await engine.fail([failed(task, error={"message": "x" * 9000, "stderr": "a\x00b"})])
    error = (await task_at(engine, task.key)).error
    assert len(error["message"]) <= 4096
    assert error["stderr"] == "a\ufffdb"


@pytest.mark.parametrize("error", [{"lines": ["x" * 70_000]}, object()])
async def test_an_error_that_can_not_be_kept_as_it_is_is_kept_as_text(engine: Engine, error: Json) -> None:
    task = await a_running_task(engine)
    assert await engine.fail([failed(task, error=error)]) == [OK]
    kept = (await task_at(engine, task.key)).error
    assert 0 < len(kept["message"]) <= 4096
    assert kept["message"][:8] == str(error)[:8]


@pytest.mark.parametrize("error", [None, [], 7, {"list": [1]}])
async def test_an_error_may_be_any_json(engine: Engine, error: Json) -> None:
    task = await a_running_task(engine)
    assert await engine.fail([Failure(key=task.key, token=task.token, error=error)]) == [OK]
    assert (await task_at(engine, task.key)).error == error


# Verdicts.


async def test_a_repeated_failure_gets_the_first_answer_and_counts_once(engine: Engine) -> None:
    task = await a_running_task(engine)
    await engine.fail([failed(task, error="first", retry_in=50)])
    before = await task_at(engine, task.key)
    assert await engine.fail([failed(task, error="second", retry_in=1)]) == [REPEATED]
    assert await task_at(engine, task.key) == before


async def test_a_failure_repeated_after_the_next_claim_is_still_repeated(engine: Engine) -> None:
    task = await a_running_task(engine)
    await engine.fail([failed(task, retry_in=0)])
    await engine.orchestrate()
    again = await take_one(engine, await a_worker(engine, "other"))
    assert await engine.fail([failed(task)]) == [REPEATED]
    assert (await task_at(engine, again.key)).status is TaskStatus.RUNNING


async def test_a_failure_twice_in_one_batch_counts_once(engine: Engine) -> None:
    task = await a_running_task(engine)
    first = failed(task, error="first", retryable=False)
    assert await engine.fail([first, failed(task, error="second", retryable=False)]) == [OK, REPEATED]
    assert (await task_at(engine, task.key)).error == {"message": "first"}
    assert (await engine.job(task.key.job_id)).stages[0].failed == 1


async def test_every_item_of_a_batch_gets_its_own_verdict(engine: Engine, clock: FakeClock) -> None:
    lost = await a_running_task(engine)
    await lose(engine, clock)
    await take_one(engine, await a_worker(engine, "lonely"))
    fresh, ended = await running_parts(engine, 2)
    await engine.complete([done(ended)])
    await submitted(engine)
    cancelled = await take_one(engine, await a_worker(engine, "third"))
    await engine.cancel(cancelled.key.job_id)
    unknown = Failure(key=TaskKey(404, 0, 0), token=1, error="x")
    verdicts = await engine.fail([failed(lost), unknown, failed(cancelled), failed(fresh), failed(ended)])
    assert verdicts == [LOST, Verdict.UNKNOWN, Verdict.CANCELLED, OK, LOST]


async def test_a_failure_is_refused_once_the_lease_was_taken_back(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    await lose(engine, clock)
    again = await take_one(engine, await a_worker(engine, "other"))
    assert await engine.fail([failed(task, retryable=False)]) == [LOST]
    assert (await task_at(engine, again.key)).status is TaskStatus.RUNNING
    assert await status_of(engine, task.key.job_id) is JobStatus.PROCESSING


async def test_a_late_failure_is_accepted_until_another_claim_of_the_task(engine: Engine, clock: FakeClock) -> None:
    task = await a_running_task(engine)
    clock.advance(10_000)
    assert await engine.fail([failed(task)]) == [OK]


async def test_failing_nothing_returns_nothing(engine: Engine) -> None:
    assert await engine.fail([]) == []


@pytest.mark.parametrize("spec", [{"attempts": 1}, {"attempts": 5}])
async def test_a_stage_defines_how_many_runs_its_tasks_have(engine: Engine, spec: dict[str, Any]) -> None:
    await declared(engine, "counted", StageSpec(name="main", **spec))
    job_id = await submitted(engine, "counted")
    worker = await a_worker(engine)
    runs = 0
    while tasks := await take(engine, worker):
        runs += 1
        await engine.fail([failed(task, retry_in=0) for task in tasks])
        await engine.orchestrate()
    assert runs == spec["attempts"]
    assert await status_of(engine, job_id) is JobStatus.FAILED


async def test_a_skipped_sibling_does_not_hide_a_failure(engine: Engine) -> None:
    bad, skipped = await running_parts(engine, 2)
    await engine.complete([Completion(key=skipped.key, token=skipped.token, skipped=True)])
    await fail_for_good(engine, bad)
    assert await status_of(engine, bad.key.job_id) is JobStatus.FAILED


async def test_the_record_keeps_the_error_of_every_attempt(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    job_id = (await engine.submit("simple")).job_id
    for words in ("first", "second", "third"):
        (task,) = (await engine.claim(worker, 1)).tasks
        await engine.fail([failed(task, error=words, retry_in=0)])
        clock.advance(1)
        await engine.orchestrate()
    events = (await engine.history(job_id)).items
    kept = [event.data["message"] for event in events if event.entity == "task" and event.target == "error"]
    assert kept == ["first", "second", "third"]
    (end,) = [event for event in events if event.entity == "job" and event.target == "failed"]
    assert end.data["cause"] == {"message": "third"}
