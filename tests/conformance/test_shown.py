"""What is shown of jobs, tasks, workers, steps and videos: who ran what, how it stands, why something is missing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from reelstate.core.machine import TaskStatus, WorkerStatus
from reelstate.core.model import ClaimState, Step, TaskKey
from reelstate.core.pipeline import StageSpec
from reelstate.core.policy import Backoff
from reelstate.engine import Engine
from reelstate.library.videos import Videos
from tests.conformance.scenarios import (
    LEASE,
    declared,
    fail_for_good,
    finish,
    lose,
    progress,
    running_parts,
    submitted,
    take,
    take_one,
    task_at,
)
from tests.engines import FakeClock, a_worker, done, failed

WEEK = 7 * 86_400.0


async def test_the_worker_of_a_task_is_known_after_it_is_pruned(engine: Engine, clock: FakeClock) -> None:
    job_id = await submitted(engine)
    worker = await a_worker(engine, "encoder-7")
    task = await take_one(engine, worker)
    await engine.complete([done(task)])
    await engine.move_worker(worker, WorkerStatus.OFFLINE, actor="worker")
    clock.advance(WEEK + 1)
    assert await engine.prune_workers(older=WEEK) == [worker]
    assert await engine.workers() == []
    assert (await task_at(engine, task.key)).worker == "encoder-7"
    history = (await engine.history(job_id)).items
    assert [event.worker for event in history if event.entity == "task"] == ["encoder-7", "encoder-7"]
    feed = (await engine.events()).items
    assert {event.worker for event in feed if event.worker_id == worker} == {"encoder-7"}


async def test_a_task_that_never_ran_names_no_worker(engine: Engine) -> None:
    job_id = await submitted(engine)
    assert (await task_at(engine, TaskKey(job_id, 0, 0))).worker is None


async def test_a_task_shows_its_claim_state(engine: Engine, clock: FakeClock) -> None:
    patient = StageSpec(name="main", attempts=2, backoff=Backoff(base=10, cap=10))
    pipeline = await declared(engine, "patient", patient)
    job_id = await submitted(engine, pipeline)
    key = TaskKey(job_id, 0, 0)

    async def state() -> ClaimState:
        return (await task_at(engine, key)).claim_state

    assert await state() is ClaimState.UNCLAIMED
    task = await take_one(engine, await a_worker(engine))
    assert await state() is ClaimState.CLAIMED
    clock.advance(LEASE + 1)
    assert await state() is ClaimState.EXPIRED
    await engine.fail([failed(task)])
    assert await state() is ClaimState.RETRYING
    clock.advance(11)
    await engine.orchestrate()
    assert await state() is ClaimState.RETRYING
    await fail_for_good(engine, await take_one(engine, await a_worker(engine)))
    assert await state() is ClaimState.FAILED
    await engine.retry(job_id)
    await finish(engine, await a_worker(engine))
    assert await state() is ClaimState.COMPLETED


async def test_a_cancelled_task_counts_as_failed(engine: Engine) -> None:
    job_id = await submitted(engine)
    await engine.cancel(job_id)
    assert (await task_at(engine, TaskKey(job_id, 0, 0))).claim_state is ClaimState.FAILED


async def test_a_worker_shows_what_it_runs_and_what_came_of_its_runs(engine: Engine, clock: FakeClock) -> None:
    parts = await running_parts(engine, 4)
    job_id = parts[0].key.job_id
    idle = await a_worker(engine, "idle")

    async def shown() -> dict[str, Any]:
        return {worker.name: (worker.tasks, worker.done, worker.failed) for worker in await engine.workers()}

    assert await shown() == {"worker": (tuple(f"{job_id}/part/{n}" for n in range(4)), 0, 0), "idle": ((), 0, 0)}
    await engine.complete([done(parts[0]), done(parts[1])])
    await engine.complete([done(parts[0])])
    await engine.fail([failed(parts[2], retry_in=0)])
    assert (await shown())["worker"] == ((f"{job_id}/part/3",), 2, 1)
    await lose(engine, clock)
    clock.advance(1)
    await engine.orchestrate()
    await engine.complete([done(task) for task in await take(engine, idle)])
    assert (await shown())["idle"][1:] == (1, 0)
    assert (await shown())["worker"] == ((), 2, 1)


async def test_a_step_has_a_type_and_the_time_at_which_it_started(engine: Engine, clock: FakeClock) -> None:
    (task,) = await running_parts(engine, 1)
    started = clock.now.timestamp() - 100
    steps = [
        Step(number=1, argv=["/usr/bin/ffmpeg", "-version"], exit_code=0, seconds=2.0, type="probe", started=started),
        Step(number=2, argv=["/usr/bin/ffmpeg"], exit_code=0, seconds=3.0),
        Step(number=3, argv=["cp"], exit_code=0, seconds=0.0, started=clock.now.timestamp() + 3600),
    ]
    await engine.report((await engine.workers())[0].id, [progress(task, steps=tuple(steps))])
    first, second, third = (await engine.steps(task.key.job_id)).items
    assert (first.type, first.started_at) == ("probe", datetime.fromtimestamp(started, UTC))
    assert (second.type, (clock.now - second.started_at).total_seconds()) == ("ffmpeg", 3.0)
    assert third.started_at == third.at == clock.now


async def test_a_degraded_job_shows_the_reason(engine: Engine) -> None:
    optional = StageSpec(name="extra", each="spec.parts", required=False, attempts=1)
    pipeline = await declared(engine, "lenient", StageSpec(name="main"), optional)
    job_id = await submitted(engine, pipeline, {"parts": 3})
    worker = await a_worker(engine)
    tasks = await take(engine, worker)
    extra = [task for task in tasks if task.stage_name == "extra"]
    await engine.fail([failed(extra[2], error="disk full"), failed(extra[1], error="no such codec")])
    await engine.complete([done(task) for task in tasks if task not in extra[1:]])
    assert (await engine.job(job_id)).job.degraded == ["extra: 2 failed, part 1: no such codec"]


async def test_a_video_shows_its_duration_and_why_its_latest_version_failed(engine: Engine) -> None:
    pipeline = await declared(engine, "video", StageSpec(name="make"), StageSpec(name="publish", after=("make",)))
    worker = await a_worker(engine)
    made = await Videos(engine).submit("a.mp4", pipeline=pipeline)
    video_id = made.resource_id
    assert video_id is not None

    async def shown() -> tuple[Any, Any]:
        (listed,) = (await Videos(engine).list()).items
        assert (await Videos(engine).get(video_id)).video == listed
        return listed.duration, listed.error

    assert await shown() == (None, None)
    await finish(engine, worker, {"make": {"duration": 1}, "publish": {"duration": 12.5}})
    assert await shown() == (12.5, None)
    await Videos(engine).retranscode(video_id, pipeline=pipeline)
    (task,) = await take(engine, worker)
    await fail_for_good(engine, task)
    duration, error = await shown()
    assert (duration, error["stage"], error["cause"]["message"]) == (12.5, "make", "it broke")


@pytest.mark.parametrize("duration", ["long", None, [1], {"seconds": 1}])
async def test_a_duration_that_is_no_number_is_not_shown(engine: Engine, duration: Any) -> None:
    pipeline = await declared(engine, "video", StageSpec(name="make"))
    await Videos(engine).submit("a.mp4", pipeline=pipeline)
    await finish(engine, await a_worker(engine), {"make": {"duration": duration}})
    (listed,) = (await Videos(engine).list()).items
    assert listed.duration is None


async def test_a_finished_task_keeps_its_status_beside_its_worker(engine: Engine) -> None:
    (task,) = await running_parts(engine, 1)
    await engine.complete([done(task)])
    found = await task_at(engine, task.key)
    assert (found.status, found.worker_id, found.worker) == (TaskStatus.DONE, None, "worker")
