"""claim: a worker takes ready tasks under lease, the most urgent first."""

from datetime import timedelta
from typing import Any

import pytest

from reelstate.core.errors import InvalidRequest, WorkerRefused
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import ClaimedTask, Submission, TaskKey
from reelstate.core.pipeline import StageSpec
from reelstate.core.policy import BACKSTOP_MARGIN
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    keys,
    lose,
    progress,
    released,
    running_parts,
    submitted,
    take,
    take_one,
    task_at,
    task_path,
)
from tests.engines import FakeClock, a_worker, done, failed
from tests.manual_sql import ManualSql

GPU = frozenset({"gpu"})
ENCODE = StageSpec(name="encode", each="spec.parts", prefers=GPU, needs=frozenset({"h264"}))


async def test_urgent_tasks_come_first_then_the_oldest_job_then_stage_then_part(engine: Engine) -> None:
    await declared(
        engine, "pair", StageSpec(name="one", each="spec.n"), StageSpec(name="two", each="spec.n", needs=GPU)
    )
    priorities = [3, 10, 3, 7, 0, 10, 5]
    answers = await engine.submit_many(
        [Submission(pipeline="pair", spec={"n": 2}, priority=priority) for priority in priorities]
    )
    jobs = [answer.job_id for answer in answers]
    order = [jobs[place] for place in (1, 5, 3, 6, 0, 2, 4)]
    expected = [TaskKey(job, stage, part) for job in order for stage in (0, 1) for part in (0, 1)]
    worker = await a_worker(engine)
    seen: list[TaskKey] = []
    for portion in (1, 2, 3, 5, 8, 100):
        seen += keys(await take(engine, worker, portion, capabilities=GPU))
    assert seen == expected


async def test_tasks_of_one_job_that_open_later_still_come_before_younger_jobs(engine: Engine) -> None:
    old = await submitted(engine, "fan")
    worker = await a_worker(engine)
    plan = await take_one(engine, worker)
    young = await submitted(engine)
    await engine.complete([done(plan, {"items": 2})])
    assert keys(await take(engine, worker)) == [TaskKey(old, 1, 0), TaskKey(old, 1, 1), TaskKey(young, 0, 0)]


async def test_a_claimed_task_carries_all_that_a_run_needs(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine, "parts", {"parts": ["a"]}, priority=8)
    clock.advance(3)
    worker = await a_worker(engine)
    task = await take_one(engine, worker)
    assert task == ClaimedTask(
        key=TaskKey(job_id, 0, 0),
        token=1,
        attempt=1,
        max_attempts=3,
        lost=0,
        lease=60.0,
        input="a",
        checkpoint=None,
        pipeline="parts",
        stage_name="part",
        spec={"parts": ["a"]},
    )
    row = await task_at(engine, task.key)
    assert (row.status, row.worker_id, row.last_worker) == (TaskStatus.RUNNING, worker, worker)
    assert row.claimed_at == row.started_at == row.progress_at == clock.now
    assert row.lease_expires_at == clock.now + timedelta(seconds=60)
    assert (row.version, row.priority) == (2, 8)
    assert await task_path(engine, task.key) == [("ready", "running", "worker")]


async def test_no_task_is_given_twice(engine: Engine) -> None:
    await submitted(engine, "parts", {"parts": 5})
    first, second = await a_worker(engine, "first"), await a_worker(engine, "second")
    taken = keys(await take(engine, first, 3)) + keys(await take(engine, second, 3))
    assert [key.part for key in taken] == [0, 1, 2, 3, 4]
    assert await take(engine, first) == []


async def test_with_nothing_ready_a_claim_is_empty(engine: Engine) -> None:
    claim = await engine.claim(await a_worker(engine), 5)
    assert (claim.tasks, claim.isolated_waiting) == ([], False)


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_claim_of_no_tasks_is_refused(engine: Engine, limit: int) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await engine.claim(await a_worker(engine), limit)
    assert refused.value.field == "limit"


async def test_a_worker_gets_only_pipelines_that_it_has_code_for(engine: Engine) -> None:
    await submitted(engine, "simple", priority=10)
    await submitted(engine, "fan")
    worker = await a_worker(engine)
    assert [task.pipeline for task in await take(engine, worker, pipelines=["fan"])] == ["fan"]
    assert await take(engine, worker, pipelines=[]) == []


async def test_the_second_claim_of_a_job_leaves_its_row_alone(engine: Engine) -> None:
    job_id = await submitted(engine, "parts", {"parts": 2})
    worker = await a_worker(engine)
    await take_one(engine, worker)
    version = (await engine.job(job_id)).job.version
    await take_one(engine, worker)
    assert (await engine.job(job_id)).job.version == version


async def test_a_claim_of_many_jobs_moves_each_out_of_pending_once(engine: Engine) -> None:
    for _ in range(3):
        await submitted(engine, "parts", {"parts": 2})
    assert len(await take(engine, await a_worker(engine))) == 6
    assert {(job.status, job.version) for job in (await engine.jobs()).items} == {(JobStatus.PROCESSING, 2)}


async def test_token_and_attempt_grow_with_every_claim(engine: Engine, clock: FakeClock) -> None:
    await submitted(engine)
    worker = await a_worker(engine)
    seen = []
    for _ in range(3):
        task = await take_one(engine, worker)
        seen.append((task.token, task.attempt))
        await engine.fail([failed(task, retry_in=0)])
        await engine.orchestrate()
    assert seen == [(1, 1), (2, 2), (3, 3)]


async def test_the_next_run_gets_the_checkpoint_of_the_last(engine: Engine, clock: FakeClock) -> None:
    first = await a_running_task(engine)
    began = clock.now
    worker = (await task_at(engine, first.key)).worker_id or 0
    await engine.report(worker, [progress(first, percent=40, checkpoint={"frame": 7})])
    await lose(engine, clock)
    second = await take_one(engine, await a_worker(engine, "other"))
    assert (second.checkpoint, second.lost, second.attempt) == ({"frame": 7}, 1, 2)
    row = await task_at(engine, second.key)
    assert (row.percent, row.started_at, row.claimed_at) == (0, began, clock.now)


# Hints: a dispatch names tasks.


async def test_hints_name_the_tasks_to_claim(engine: Engine) -> None:
    job_id = await submitted(engine, "parts", {"parts": 5})
    wanted = [TaskKey(job_id, 0, part) for part in (4, 1)]
    worker = await a_worker(engine)
    assert keys(await take(engine, worker, hints=wanted)) == sorted(wanted)
    assert keys(await take(engine, worker)) == [TaskKey(job_id, 0, part) for part in (0, 2, 3)]


async def test_hints_to_missing_tasks_are_skipped(engine: Engine) -> None:
    job_id = await submitted(engine, "parts", {"parts": 2})
    delayed = await submitted(engine, delay=10)
    worker = await a_worker(engine)
    taken = await take_one(engine, worker)
    hints = [
        taken.key,
        TaskKey(job_id, 0, 99),
        TaskKey(1, 0, 0),
        TaskKey(delayed, 0, 0),
        TaskKey(job_id, 0, 1),
    ]
    assert keys(await take(engine, worker, hints=hints)) == [TaskKey(job_id, 0, 1)]


async def test_no_more_hints_are_followed_than_the_limit(engine: Engine) -> None:
    job_id = await submitted(engine, "parts", {"parts": 5})
    hints = [TaskKey(job_id, 0, part) for part in range(5)]
    assert keys(await take(engine, await a_worker(engine), 2, hints=hints)) == hints[:2]


async def test_a_hint_twice_is_one_task(engine: Engine) -> None:
    job_id = await submitted(engine)
    hint = TaskKey(job_id, 0, 0)
    tasks = await take(engine, await a_worker(engine), hints=[hint, hint])
    assert [(task.key, task.token) for task in tasks] == [(hint, 1)]


async def test_a_hint_opens_no_lane_that_the_worker_does_not_serve(engine: Engine) -> None:
    await declared(engine, "needy", StageSpec(name="main", needs=GPU))
    job_id = await submitted(engine, "needy")
    worker = await a_worker(engine)
    hint = [TaskKey(job_id, 0, 0)]
    assert await take(engine, worker, hints=hint) == []
    assert await take(engine, worker, hints=hint, capabilities=GPU, pipelines=["simple"]) == []
    assert keys(await take(engine, worker, hints=hint, capabilities=GPU)) == hint


# Lanes: what a worker can't run never stands in its way.


async def test_tasks_that_a_worker_can_not_run_do_not_block_it(engine: Engine) -> None:
    await declared(engine, "needy", StageSpec(name="main", needs=frozenset({"gpu", "av1"})))
    for _ in range(50):
        await submitted(engine, "needy", priority=10)
    plain = await submitted(engine, priority=0)
    worker = await a_worker(engine)
    assert keys(await take(engine, worker, 10, capabilities={"gpu"})) == [TaskKey(plain, 0, 0)]
    assert len(await take(engine, worker, 60, capabilities={"gpu", "av1", "more"})) == 50


async def test_two_versions_of_a_pipeline_share_their_lane(engine: Engine) -> None:
    await declared(engine, "grown", StageSpec(name="a"))
    first = await submitted(engine, "grown")
    await declared(engine, "grown", StageSpec(name="a", attempts=5))
    second = await submitted(engine, "grown")
    assert [key.job_id for key in keys(await take(engine, await a_worker(engine)))] == [first, second]


# A lane may prefer what not every worker has.


async def encode_job(engine: Engine, parts: int = 2) -> int:
    await declared(engine, "encode", ENCODE)
    return await submitted(engine, "encode", {"parts": parts})


async def a_gpu(engine: Engine, **options: Any) -> int:
    return await a_worker(engine, "gpu", **{"capabilities": {"gpu", "h264"}, **options})


async def take_by_cpu(engine: Engine, **options: Any) -> int:
    worker = await a_worker(engine, "cpu", capabilities={"h264"})
    return len(await take(engine, worker, capabilities={"h264"}, **options))


async def test_a_fresh_task_is_left_to_an_idle_worker_that_has_what_it_prefers(engine: Engine) -> None:
    await encode_job(engine)
    gpu = await a_gpu(engine)
    assert await take_by_cpu(engine) == 0
    assert len(await take(engine, gpu, capabilities={"gpu", "h264"})) == 2


async def test_after_the_grace_any_able_worker_takes_it(engine: Engine, clock: FakeClock) -> None:
    await encode_job(engine)
    gpu = await a_gpu(engine)
    clock.advance(59)
    await engine.report(gpu)
    assert await take_by_cpu(engine) == 0
    clock.advance(1)
    assert await take_by_cpu(engine) == 2


async def test_the_grace_is_counted_from_when_the_task_became_ready(engine: Engine, clock: FakeClock) -> None:
    await encode_job(engine, parts=1)
    gpu = await a_gpu(engine)
    clock.advance(100)
    await engine.report(gpu)
    held = await take_one(engine, gpu, capabilities={"gpu", "h264"})
    await engine.release([released(held)])
    assert await take_by_cpu(engine) == 0


async def test_the_grace_may_be_none(engine: Engine) -> None:
    await encode_job(engine)
    await a_gpu(engine)
    assert await take_by_cpu(engine, gpu_grace=0) == 2


async def test_without_a_better_worker_nothing_is_held_back(engine: Engine) -> None:
    await encode_job(engine)
    assert await take_by_cpu(engine) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"capabilities": {"gpu"}},
        {"capabilities": {"gpu", "h264"}, "pipelines": ["simple"]},
    ],
    ids=["without the codec", "without the code"],
)
async def test_a_worker_that_could_not_run_it_holds_nothing_back(engine: Engine, options: dict[str, Any]) -> None:
    await encode_job(engine)
    await a_gpu(engine, **options)
    assert await take_by_cpu(engine) == 2


async def test_a_busy_worker_holds_nothing_back(engine: Engine) -> None:
    gpu = await a_gpu(engine, slots=1)
    await submitted(engine)
    await take_one(engine, gpu)
    await encode_job(engine)
    assert await take_by_cpu(engine) == 2


async def test_a_silent_worker_holds_nothing_back(engine: Engine, clock: FakeClock) -> None:
    await a_gpu(engine)
    clock.advance(45)
    await encode_job(engine)
    assert await take_by_cpu(engine) == 2


async def test_a_draining_worker_holds_nothing_back(engine: Engine) -> None:
    await encode_job(engine)
    await a_gpu(engine)
    await engine.drain("gpu")
    assert await take_by_cpu(engine) == 2


async def test_a_disabled_worker_holds_nothing_back(engine: Engine) -> None:
    await encode_job(engine)
    await a_gpu(engine)
    await engine.disable("gpu")
    assert await take_by_cpu(engine) == 2


async def test_a_hint_does_not_lead_around_the_grace(engine: Engine, clock: FakeClock) -> None:
    job_id = await encode_job(engine)
    gpu = await a_gpu(engine)
    hints = [TaskKey(job_id, 0, 0)]
    assert await take_by_cpu(engine, hints=hints) == 0
    clock.advance(60)
    await engine.report(gpu)
    assert await take_by_cpu(engine, hints=hints) == 1


async def test_other_lanes_are_open_while_one_is_held_back(engine: Engine) -> None:
    await encode_job(engine)
    await submitted(engine, priority=0)
    await a_gpu(engine)
    assert await take_by_cpu(engine) == 1


# Isolated tasks: a task that has lost a worker is run alone.


async def an_isolated_task(engine: Engine, clock: FakeClock) -> TaskKey:
    """A ready task whose first worker was lost."""
    task = await a_running_task(engine, priority=1)
    await lose(engine, clock)
    return task.key


async def test_an_isolated_task_is_given_alone_to_a_worker_that_runs_nothing(engine: Engine, clock: FakeClock) -> None:
    isolated = await an_isolated_task(engine, clock)
    await submitted(engine, "parts", {"parts": 3}, priority=10)
    worker = await a_worker(engine, "other")
    claim = await engine.claim(worker, 10)
    assert keys(claim.tasks) == [isolated]
    assert not claim.isolated_waiting


async def test_a_worker_that_runs_an_isolated_task_gets_nothing_more(engine: Engine, clock: FakeClock) -> None:
    await an_isolated_task(engine, clock)
    await submitted(engine, "parts", {"parts": 3})
    worker = await a_worker(engine, "other")
    isolated = await take_one(engine, worker)
    assert await take(engine, worker) == []
    await engine.complete([done(isolated)])
    assert len(await take(engine, worker)) == 3


async def test_a_busy_worker_leaves_an_isolated_task_and_learns_that_it_waits(engine: Engine, clock: FakeClock) -> None:
    isolated = await an_isolated_task(engine, clock)
    other = await submitted(engine, "parts", {"parts": 2}, priority=0)
    busy, idle = await a_worker(engine, "busy"), await a_worker(engine, "idle")
    await take(engine, busy, 1, hints=[TaskKey(other, 0, 0)], pipelines=["parts"])
    claim = await engine.claim(busy, 10)
    assert keys(claim.tasks) == [TaskKey(other, 0, 1)]
    assert claim.isolated_waiting
    assert keys(await take(engine, idle)) == [isolated]


async def test_isolated_tasks_are_given_one_at_a_time_in_the_usual_order(engine: Engine, clock: FakeClock) -> None:
    urgent = [await submitted(engine, priority=priority) for priority in (2, 9, 5)]
    await take(engine, await a_worker(engine))
    await lose(engine, clock)
    seen = []
    for number in range(3):
        seen += keys(await take(engine, await a_worker(engine, f"w{number}")))
    assert [key.job_id for key in seen] == [urgent[1], urgent[2], urgent[0]]


async def test_an_isolated_task_that_a_worker_can_not_run_does_not_stop_it(engine: Engine, clock: FakeClock) -> None:
    await declared(engine, "needy", StageSpec(name="main", needs=GPU))
    await submitted(engine, "needy")
    await take_one(engine, await a_worker(engine), capabilities=GPU)
    await lose(engine, clock)
    plain = await submitted(engine)
    claim = await engine.claim(await a_worker(engine, "plain"), 5)
    assert keys(claim.tasks) == [TaskKey(plain, 0, 0)]
    assert not claim.isolated_waiting


async def test_a_hint_does_not_put_an_isolated_task_beside_others(engine: Engine, clock: FakeClock) -> None:
    isolated = await an_isolated_task(engine, clock)
    other = await submitted(engine, "parts", {"parts": 1})
    busy = await a_worker(engine, "busy")
    await take(engine, busy, hints=[TaskKey(other, 0, 0)], pipelines=["parts"])
    assert await take(engine, busy, hints=[isolated]) == []


# Who may claim.


async def test_a_draining_worker_gets_nothing(engine: Engine) -> None:
    await submitted(engine)
    worker = await a_worker(engine)
    await engine.drain("worker")
    assert await take(engine, worker) == []


async def test_a_disabled_worker_is_refused(engine: Engine) -> None:
    worker = await a_worker(engine)
    await engine.disable("worker")
    with pytest.raises(WorkerRefused, match="disabled"):
        await engine.claim(worker)
    await engine.enable("worker")
    assert await take(engine, worker) == []


async def test_an_unknown_worker_is_refused(engine: Engine) -> None:
    await submitted(engine)
    with pytest.raises(WorkerRefused, match="not registered"):
        await engine.claim(404)


async def test_a_lease_is_as_long_as_the_soonest_of_its_limits(engine: Engine, clock: FakeClock) -> None:
    limits: list[dict[str, Any]] = [
        {"lease": 30},
        {"lease": 30, "stall_after": 20},
        {"lease": 30, "stall_after": 20, "timeout": 2},
        {"lease": 30, "timeout": 300},
    ]
    await declared(engine, "limits", *(StageSpec(name=f"s{n}", **given) for n, given in enumerate(limits)))
    job_id = await submitted(engine, "limits")
    tasks = await take(engine, await a_worker(engine))
    assert [task.lease for task in tasks] == [30] * 4
    rows = (await engine.tasks(job_id)).items
    expected = [clock.now + timedelta(seconds=seconds) for seconds in (30, 20, 2 + BACKSTOP_MARGIN, 30)]
    assert [row.lease_expires_at for row in rows] == expected


async def test_of_parts_that_one_worker_holds_none_is_alone(engine: Engine, clock: FakeClock) -> None:
    tasks = await running_parts(engine, 3)
    await lose(engine, clock)
    assert [(await task_at(engine, task.key)).lost for task in tasks] == [1, 1, 1]
    assert [(await task_at(engine, task.key)).status for task in tasks] == [TaskStatus.READY] * 3


async def test_a_ready_task_of_an_inactive_job_is_given_back_not_run(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await submitted(engine, "parts", {"parts": 2})
    worker = await a_worker(engine)
    first = await take_one(engine, worker)
    await engine.fail([failed(first, retryable=False)])
    manual_sql.run("UPDATE tasks SET status = 'ready', ready_at = changed_at WHERE job_id = ? AND part = 1", job_id)
    assert await take(engine, worker, 9) == []
    left = await task_at(engine, TaskKey(job_id, 0, 1))
    assert (left.status, left.attempt) == (TaskStatus.NEW, 0)


async def test_the_sweep_resets_tasks_that_were_left_ready(engine: Engine, manual_sql: ManualSql) -> None:
    job_id = await submitted(engine, "parts", {"parts": 2})
    first = await take_one(engine, await a_worker(engine))
    await engine.fail([failed(first, retryable=False)])
    manual_sql.run("UPDATE tasks SET status = 'ready', ready_at = changed_at WHERE job_id = ? AND part = 1", job_id)
    await engine.orchestrate()
    assert (await task_at(engine, TaskKey(job_id, 0, 1))).status is TaskStatus.NEW
