"""retry: a stopped job runs again; finished tasks stay finished, unless a stage or parts of it are named."""

import pytest

from reelstate.core.errors import InvalidRequest, InvalidTransition
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Json, Progress, Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from reelstate.services.operate.operation import Operation
from reelstate.services.operate.retry import From
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
    task_path,
    task_statuses,
)
from tests.engines import FakeClock, a_worker, done, failed

NEW, READY, RUNNING, DONE = TaskStatus.NEW, TaskStatus.READY, TaskStatus.RUNNING, TaskStatus.DONE
ERROR, SKIPPED = TaskStatus.ERROR, TaskStatus.SKIPPED


async def a_failed_fan(engine: Engine, worker: int, items: Json = 3) -> int:
    """A job of `fan` that went well up to `pack`, which failed."""
    job_id = await submitted(engine, "fan")
    await engine.complete([done(await take_one(engine, worker), {"items": items})])
    await engine.complete([done(task, task.key.part) for task in await take(engine, worker)])
    await fail_for_good(engine, await take_one(engine, worker))
    assert await status_of(engine, job_id) is JobStatus.FAILED
    return job_id


# Whole.


async def test_a_failed_job_runs_what_is_unfinished_and_keeps_what_is_done(engine: Engine) -> None:
    await submitted(engine, "parts", {"parts": 4})
    worker = await a_worker(engine)
    finished, bad, running = await take(engine, worker, 3)
    await engine.complete([done(finished, "kept")])
    await fail_for_good(engine, bad)
    job_id = bad.key.job_id
    assert await engine.retry(job_id, reason="try again") is Verdict.OK
    assert await task_statuses(engine, job_id) == [DONE, READY, RUNNING, READY]
    job = (await engine.job(job_id)).job
    assert (job.status, job.error, job.finished_at) == (JobStatus.PENDING, None, None)
    await engine.complete([done(running)])
    assert await finish(engine, worker) == ["part", "part"]
    assert await status_of(engine, job_id) is JobStatus.COMPLETED
    assert (await task_at(engine, finished.key)).result == "kept"


async def test_a_retried_job_is_pending_until_its_next_claim(engine: Engine) -> None:
    task = await a_running_task(engine)
    await fail_for_good(engine, task)
    await engine.retry(task.key.job_id)
    assert await status_of(engine, task.key.job_id) is JobStatus.PENDING
    await finish(engine, await a_worker(engine, "other"))
    path = [status for status, _ in await job_path(engine, task.key.job_id)]
    assert path == ["pending", "processing", "failed", "pending", "processing", "completed"]


async def test_a_retry_never_lowers_what_was_counted(engine: Engine) -> None:
    await declared(engine, "twice", StageSpec(name="main", attempts=2))
    job_id = await submitted(engine, "twice")
    worker = await a_worker(engine)
    seen = []
    for _ in range(2):
        while tasks := await take(engine, worker):
            seen += [(task.attempt, task.max_attempts, task.token) for task in tasks]
            await engine.fail([failed(task, retry_in=0) for task in tasks])
            await engine.orchestrate()
        await engine.retry(job_id)
    assert seen == [(1, 2, 1), (2, 2, 2), (3, 4, 3), (4, 4, 4)]


async def test_the_last_running_sibling_may_complete_a_retried_job(engine: Engine) -> None:
    bad, running = await running_parts(engine, 2)
    await fail_for_good(engine, bad)
    await engine.retry(bad.key.job_id)
    again = await take_one(engine, await a_worker(engine, "other"))
    await engine.complete([done(again)])
    assert await engine.complete([done(running)]) == [Verdict.OK]
    assert await status_of(engine, bad.key.job_id) is JobStatus.COMPLETED


async def test_a_job_at_work_needs_no_retry(engine: Engine) -> None:
    pending = await submitted(engine)
    assert await engine.retry(pending) is Verdict.REPEATED
    task = await take_one(engine, await a_worker(engine))
    before = (await engine.job(pending)).job
    assert await engine.retry(pending) is Verdict.REPEATED
    assert (await engine.job(pending)).job == before
    assert (await task_at(engine, task.key)).status is RUNNING


async def test_a_finished_job_can_not_be_retried(engine: Engine) -> None:
    completed = await submitted(engine)
    await finish(engine, await a_worker(engine))
    cancelled = await submitted(engine)
    await engine.cancel(cancelled)
    for job_id in (completed, cancelled):
        for start in (None, From("main")):
            with pytest.raises(InvalidTransition):
                await engine.retry(job_id, start=start)


async def test_a_user_may_retry_a_failed_job(engine: Engine) -> None:
    task = await a_running_task(engine)
    await fail_for_good(engine, task)
    assert await engine.retry(task.key.job_id, actor="user:ada") is Verdict.OK
    assert (await task_path(engine, task.key))[-1] == ("error", "ready", "user:ada")


async def test_many_jobs_are_retried_at_once(engine: Engine) -> None:
    jobs = [await submitted(engine, "parts", {"parts": 2}) for _ in range(3)]
    worker = await a_worker(engine)
    await fail_for_good(engine, *(await take(engine, worker))[:5])
    outcomes = await engine.retry_many(Operation(job_ids=jobs, actor="operator"))
    assert [outcome.verdict for outcome in outcomes] == [Verdict.OK] * 3
    assert len(await take(engine, worker)) == 5


async def test_a_job_that_failed_by_its_fan_out_fails_again_until_the_plan_runs_again(
    engine: Engine,
) -> None:
    job_id = await submitted(engine, "fan")
    worker = await a_worker(engine)
    await finish(engine, worker, {"plan": {}})
    await engine.retry(job_id)
    assert await status_of(engine, job_id) is JobStatus.FAILED
    await engine.retry(job_id, start=From("plan"))
    await finish(engine, worker, {"plan": {"items": [1]}})
    assert await status_of(engine, job_id) is JobStatus.COMPLETED


async def failed_with_its_optional_part(engine: Engine) -> tuple[int, int]:
    """A job of which everything failed for good, and a worker."""
    extra, main = StageSpec(name="extra", required=False, attempts=1), StageSpec(name="main", attempts=1)
    await declared(engine, "lenient", extra, main)
    job_id = await submitted(engine, "lenient")
    worker = await a_worker(engine)
    await engine.fail([failed(task) for task in await take(engine, worker)])
    return job_id, worker


async def test_a_finally_failed_optional_part_is_not_run_again_by_a_plain_retry(engine: Engine) -> None:
    job_id, worker = await failed_with_its_optional_part(engine)
    await engine.retry(job_id)
    assert await finish(engine, worker) == ["main"]
    assert (await engine.job(job_id)).job.degraded == ["extra: 1 failed, part 0: it broke"]


async def test_a_finally_failed_optional_part_is_run_again_when_its_stage_is_named(engine: Engine) -> None:
    job_id, worker = await failed_with_its_optional_part(engine)
    await engine.retry(job_id, start=From("extra"))
    assert sorted(await finish(engine, worker)) == ["extra", "main"]
    job = (await engine.job(job_id)).job
    assert (job.status, job.degraded) == (JobStatus.COMPLETED, None)


# From a stage.


async def test_a_retry_from_a_stage_runs_it_and_all_that_follows(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await a_failed_fan(engine, worker)
    assert await engine.retry(job_id, start=From("work"), reason="other settings") is Verdict.OK
    assert await task_statuses(engine, job_id) == [DONE, READY, READY, READY, NEW]
    assert await stage_statuses(engine, job_id) == {"plan": DONE, "work": READY, "pack": NEW}
    assert await finish(engine, worker) == ["work"] * 3 + ["pack"]
    assert await status_of(engine, job_id) is JobStatus.COMPLETED


async def test_parts_run_again_with_the_stages_attempts_once_more(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await a_failed_fan(engine, worker, 1)
    await engine.retry(job_id, start=From("work"))
    task = await take_one(engine, worker)
    assert (task.attempt, task.max_attempts, task.token) == (2, 4, 2)
    path = await task_path(engine, task.key)
    assert path[-2:] == [("done", "ready", "operator"), ("ready", "running", "worker")]


@pytest.mark.parametrize("items, parts", [(5, 5), (2, 3), (0, 3), ([7, 8], 3)])
async def test_a_new_plan_may_be_longer_or_shorter(engine: Engine, items: Json, parts: int) -> None:
    worker = await a_worker(engine)
    job_id = await a_failed_fan(engine, worker, 3)
    await engine.retry(job_id, start=From("plan"))
    assert await task_statuses(engine, job_id) == [READY, NEW, NEW, NEW, NEW]
    expected = list(range(items)) if isinstance(items, int) else items
    await engine.complete([done(await take_one(engine, worker), {"items": items})])
    tasks = await take(engine, worker)
    wanted = [task for task in tasks if task.stage_name == "work"]
    assert [task.input for task in wanted] == expected
    await engine.complete([done(task) for task in tasks])
    await finish(engine, worker)
    assert await status_of(engine, job_id) is JobStatus.COMPLETED
    stage = (await engine.job(job_id)).stages[1]
    surplus = parts - len(expected)
    assert (stage.total, stage.done, stage.skipped) == (parts, len(expected), surplus)
    assert await task_statuses(engine, job_id, "work") == [DONE] * len(expected) + [SKIPPED] * surplus


async def test_a_fan_out_that_shrank_may_grow_again(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await a_failed_fan(engine, worker, 3)
    for items in (1, 4):
        await engine.retry(job_id, start=From("plan"))
        await engine.complete([done(await take_one(engine, worker), {"items": items})])
        await engine.complete([done(task) for task in await take(engine, worker)])
        await fail_for_good(engine, await take_one(engine, worker))
    assert await task_statuses(engine, job_id, "work") == [DONE] * 4
    opened = [event.version for event in (await engine.history(job_id, stage=1, part=-1)).items]
    assert opened == [1, 2, 3]


async def test_a_range_of_parts_is_run_again_and_the_others_stay(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await a_failed_fan(engine, worker, 6)
    await engine.retry(job_id, start=From("work", (2, 3)))
    assert await task_statuses(engine, job_id, "work") == [DONE, DONE, READY, READY, DONE, DONE]
    assert [task.key.part for task in await take(engine, worker)] == [2, 3]
    assert await task_statuses(engine, job_id, "pack") == [NEW]


async def test_several_ranges_of_parts_are_run_again_at_once(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await a_failed_fan(engine, worker, items=6)
    await engine.retry(job_id, start=From("work", (0, 1), also=((1, 1), (4, 4))))
    assert [task.key.part for task in await take(engine, worker)] == [0, 1, 4]


async def test_a_range_of_parts_past_the_end_runs_what_there_is(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await a_failed_fan(engine, worker, 3)
    await engine.retry(job_id, start=From("work", (2, 99)))
    assert await task_statuses(engine, job_id, "work") == [DONE, DONE, READY]


@pytest.mark.parametrize("parts", [(-1, 3), (4, 3)])
def test_a_range_that_is_none_is_refused(parts: tuple[int, int]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        From("work", parts)
    assert refused.value.field == "parts"


async def test_an_unknown_stage_is_refused_and_nothing_is_changed(engine: Engine) -> None:
    job_id = await a_failed_fan(engine, await a_worker(engine))
    before = await engine.job(job_id)
    with pytest.raises(InvalidRequest, match="plan, work, pack") as refused:
        await engine.retry(job_id, start=From("wrok"))
    assert refused.value.field == "stage"
    assert await engine.job(job_id) == before


async def test_a_job_at_work_may_be_run_again_from_a_stage(engine: Engine) -> None:
    plan = await a_running_task(engine, "fan")
    await engine.complete([done(plan, {"items": 2})])
    job_id = plan.key.job_id
    assert await engine.retry(job_id, start=From("plan")) is Verdict.OK
    assert await task_statuses(engine, job_id) == [READY, NEW, NEW]
    job = (await engine.job(job_id)).job
    assert (job.status, job.phase) == (JobStatus.PENDING, JobStatus.PLANNING)
    await finish(engine, await a_worker(engine, "other"), {"plan": {"items": 1}})
    assert await status_of(engine, job_id) is JobStatus.COMPLETED


async def test_a_pending_job_may_be_run_again_from_a_stage(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await a_failed_fan(engine, worker)
    await engine.retry(job_id)
    assert await status_of(engine, job_id) is JobStatus.PENDING
    assert await engine.retry(job_id, start=From("work")) is Verdict.OK
    assert await task_statuses(engine, job_id) == [DONE, READY, READY, READY, NEW]


async def test_a_user_may_not_rewind_a_job_at_work(engine: Engine) -> None:
    plan = await a_running_task(engine, "fan")
    await engine.complete([done(plan, {"items": 2})])
    with pytest.raises(InvalidTransition):
        await engine.retry(plan.key.job_id, start=From("plan"), actor="user")


async def test_a_stage_is_not_run_again_under_those_that_run_on_what_it_made(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await submitted(engine, "fan")
    await engine.complete([done(await take_one(engine, worker), {"items": 3})])
    running = await take_one(engine, worker)
    before = (await engine.tasks(job_id)).items
    with pytest.raises(InvalidRequest, match="running tasks of work"):
        await engine.retry(job_id, start=From("plan"))
    assert (await engine.tasks(job_id)).items == before
    assert await engine.complete([done(running)]) == [Verdict.OK]


async def test_only_the_stages_after_the_named_one_run_again(engine: Engine) -> None:
    await declared(
        engine,
        "branches",
        StageSpec(name="left"),
        StageSpec(name="right"),
        StageSpec(name="after-left", after=("left",)),
        StageSpec(name="join", after=("after-left", "right")),
    )
    job_id = await submitted(engine, "branches")
    worker = await a_worker(engine)
    await engine.complete([done(task) for task in await take(engine, worker)])
    await engine.complete([done(task) for task in await take(engine, worker)])
    await fail_for_good(engine, await take_one(engine, worker))
    await engine.retry(job_id, start=From("left"))
    assert await finish(engine, worker) == ["left", "after-left", "join"]
    assert (await engine.tasks(job_id, stage="right")).items[0].attempt == 1


async def test_a_quarantined_job_may_be_run_again_from_a_stage(engine: Engine) -> None:
    worker = await a_worker(engine)
    job_id = await a_failed_fan(engine, worker)
    await engine.quarantine(job_id, reason="odd")
    await engine.retry(job_id, start=From("plan"), reason="fixed")
    assert await finish(engine, worker, {"plan": {"items": 1}}) == ["plan", "work", "pack"]
    assert await status_of(engine, job_id) is JobStatus.COMPLETED


async def test_a_result_of_an_earlier_run_is_not_the_plan_of_the_next(engine: Engine, clock: FakeClock) -> None:
    worker = await a_worker(engine)
    job_id = await a_failed_fan(engine, worker)
    await engine.retry(job_id, start=From("plan"))
    assert (await engine.job(job_id)).plan == {}


async def test_a_part_that_runs_again_starts_from_its_beginning(engine: Engine) -> None:
    job_id = (await engine.submit("fan")).job_id
    worker = await a_worker(engine)
    (plan,) = (await engine.claim(worker, 1)).tasks
    await engine.complete([done(plan, {"items": ["old"]})])
    (part,) = (await engine.claim(worker, 1)).tasks
    await engine.report(worker, [Progress(key=part.key, token=part.token, checkpoint={"of": "old"}, step="half")])
    await engine.complete([done(part)])
    await engine.force(job_id, JobStatus.FAILED, reason="the plan was wrong")
    await engine.retry(job_id, start=From("plan"))
    (plan,) = (await engine.claim(worker, 1)).tasks
    await engine.complete([done(plan, {"items": ["new"]})])
    (part,) = (await engine.claim(worker, 1)).tasks
    assert (part.input, part.checkpoint) == ("new", None)


async def test_parts_that_are_not_there_can_not_be_run_again(engine: Engine) -> None:
    job_id = (await engine.submit("parts", {"parts": 2})).job_id
    await engine.force(job_id, JobStatus.FAILED, reason="try")
    with pytest.raises(InvalidRequest, match="has 2 parts"):
        await engine.retry(job_id, start=From("part", (5, 9)))
    assert (await engine.job(job_id)).job.status is JobStatus.FAILED


async def test_a_job_named_twice_is_moved_once(engine: Engine) -> None:
    job_id = (await engine.submit("simple")).job_id
    operated = await engine.cancel_many(Operation(job_ids=[job_id, job_id], actor="operator"))
    assert [outcome.verdict for outcome in operated] == [Verdict.OK, Verdict.REPEATED]


async def test_a_batch_from_a_stage_runs_the_jobs_that_can_and_refuses_the_others_with_a_reason(engine: Engine) -> None:
    worker = await a_worker(engine)
    can = [await a_failed_fan(engine, worker) for _ in range(2)]
    stageless = await submitted(engine, "parts", {"parts": 2})
    await engine.force(stageless, JobStatus.FAILED, reason="to see")
    busy = await submitted(engine, "fan")
    await engine.complete([done(await take_one(engine, worker), {"items": 1})])
    await engine.complete([done(await take_one(engine, worker))])
    pack = await take_one(engine, worker)
    before = [await engine.job(job_id) for job_id in (stageless, busy)]
    operation = Operation(job_ids=[can[0], stageless, 404, busy, can[1], stageless], actor="operator")
    outcomes = await engine.retry_many(operation, From("work"))
    assert [outcome.job_id for outcome in outcomes] == list(operation.job_ids)
    refused = [Verdict.OK, None, Verdict.UNKNOWN, None, Verdict.OK, None]
    assert [outcome.verdict for outcome in outcomes] == refused
    errors = [str(outcome.error) for outcome in outcomes if outcome.verdict is None]
    assert errors[0] == errors[2] == "stage: pipeline 'parts' has no stage 'work' (stages: part)"
    assert errors[1] == "stage: running tasks of pack use its results (wait for them, or cancel)"
    for job_id in can:
        assert await stage_statuses(engine, job_id) == {"plan": DONE, "work": READY, "pack": NEW}
    assert [await engine.job(job_id) for job_id in (stageless, busy)] == before
    assert await engine.complete([done(pack)]) == [Verdict.OK]


async def test_a_batch_from_a_part_passes_over_the_jobs_that_have_no_such_part(engine: Engine) -> None:
    few, many = [await submitted(engine, "parts", {"parts": parts}) for parts in (2, 8)]
    operation = Operation(job_ids=[few, many], actor="operator")
    await finish_all_but_one(engine, few, many)
    few_outcome, many_outcome = await engine.retry_many(operation, From("part", (5, 6)))
    assert (few_outcome.verdict, many_outcome.verdict) == (None, Verdict.OK)
    assert isinstance(few_outcome.error, InvalidRequest)
    assert few_outcome.error.field == "parts"
    assert await status_of(engine, few) is JobStatus.FAILED
    assert await task_statuses(engine, many) == [READY, *[DONE] * 4, READY, READY, DONE]


async def finish_all_but_one(engine: Engine, *job_ids: int) -> None:
    """The first part of each job fails for good, the others are done."""
    tasks = await take(engine, await a_worker(engine))
    bad = [task for task in tasks if task.key.part == 0]
    await engine.complete([done(task) for task in tasks if task not in bad])
    await fail_for_good(engine, *bad)
    assert [await status_of(engine, job_id) for job_id in job_ids] == [JobStatus.FAILED] * len(job_ids)


async def test_a_stage_that_has_not_begun_is_not_run_again(engine: Engine) -> None:
    job_id = (await engine.submit("fan", {"parts": 2})).job_id
    before = (await engine.job(job_id)).job
    stages = [stage.name for stage in (await engine.job(job_id)).stages]
    with pytest.raises(InvalidRequest, match="was not opened yet"):
        await engine.retry(job_id, start=From(stages[-1]))
    assert (await engine.job(job_id)).job == before
