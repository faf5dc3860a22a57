"""Every verb, broken at its first statement, its second, … until it passes untouched: nothing is left half done."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from reelstate.core.machine import JobStatus
from reelstate.core.model import (
    ClaimedTask,
    Completion,
    Failure,
    LogLine,
    Progress,
    Release,
    Step,
    Submission,
    TaskKey,
    Verdict,
)
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.services.operate.retry import From
from tests.engines import FakeClock, a_worker
from tests.faults.wrapped_store import Broken, Fault, wrap_engine

GRAPH = Graph.of(
    "faulty",
    [
        StageSpec(name="cut", phase=JobStatus.PLANNING),
        StageSpec(name="work", after=("cut",), each="spec.parts", attempts=1),
        StageSpec(name="pack", after=("work",), phase=JobStatus.UPLOADING_OUTPUTS),
    ],
)
MANY = 60
ISOLATING = {"reclaim"}
"""Sweeps that handle each job alone after a failure: an error that comes once does not reach their caller."""
A_STEP = Step(number=1, argv=["ffmpeg"], exit_code=0)


@dataclass
class Scene:
    """A job with its only two parts of `work` running; `resting` is another that has failed."""

    job_id: int
    resting: int
    worker: int
    running: list[ClaimedTask]
    number: int


Verb = Callable[[Engine, Scene, FakeClock], Awaitable[Any]]


def completions(tasks: list[ClaimedTask]) -> list[Completion]:
    return [Completion(key=task.key, token=task.token, result={"n": 1}) for task in tasks]


def failures(tasks: list[ClaimedTask], *, retryable: bool = True) -> list[Failure]:
    return [Failure(key=task.key, token=task.token, error="no", retryable=retryable) for task in tasks]


async def reclaim(engine: Engine, scene: Scene, clock: FakeClock) -> Any:
    clock.advance(120)
    try:
        return await engine.reclaim()
    finally:
        clock.advance(-120)


async def register(engine: Engine, scene: Scene, clock: FakeClock) -> Any:
    return await a_worker(engine, f"new-{scene.number}")


VERBS: dict[str, Verb] = {
    "submit": lambda engine, scene, _: engine.submit_many(
        [
            Submission(pipeline="faulty", spec={"parts": 2}, idempotency_key=f"key-{scene.number}"),
            Submission(pipeline="parts", spec={"parts": 0}),
        ]
    ),
    "claim": lambda engine, scene, _: engine.claim(scene.worker, 3),
    "report": lambda engine, scene, _: engine.report(
        scene.worker,
        [
            Progress(key=t.key, token=t.token, percent=1, logs=(LogLine(message="hm"),), steps=(A_STEP,))
            for t in scene.running
        ],
    ),
    "complete": lambda engine, scene, _: engine.complete(completions(scene.running)),
    "fail": lambda engine, scene, _: engine.fail(failures(scene.running)),
    "release": lambda engine, scene, _: engine.release([Release(key=t.key, token=t.token) for t in scene.running]),
    "reclaim": reclaim,
    "orchestrate": lambda engine, *_: engine.orchestrate(stuck_after=0.0),
    "cancel": lambda engine, scene, _: engine.cancel(scene.job_id),
    "retry": lambda engine, scene, _: engine.retry(scene.resting),
    "retry from": lambda engine, scene, _: engine.retry(scene.resting, start=From("cut")),
    "reprioritise": lambda engine, scene, _: engine.reprioritise(scene.job_id, 3),
    "quarantine": lambda engine, scene, _: engine.quarantine(scene.job_id, reason="to see"),
    "force pending": lambda engine, scene, _: engine.force(scene.job_id, JobStatus.PENDING, reason="so"),
    "force completed": lambda engine, scene, _: engine.force(scene.job_id, JobStatus.COMPLETED, reason="so"),
    "register": register,
    "disable": lambda engine, scene, _: engine.disable(f"worker-{scene.number}"),
    "drain": lambda engine, scene, _: engine.drain(f"worker-{scene.number}"),
}


async def two_running(engine: Engine, worker: int) -> tuple[int, list[ClaimedTask]]:
    """A job, and its two parts of `work`."""
    job_id = (await engine.submit("faulty", {"parts": 2}, priority=10)).job_id
    await engine.complete(completions((await engine.claim(worker, 1)).tasks))
    running = (await engine.claim(worker, 2)).tasks
    assert [task.key for task in running] == [TaskKey(job_id, 1, part) for part in range(2)]
    return job_id, running


async def a_scene(engine: Engine, number: int) -> Scene:
    worker = await a_worker(engine, f"worker-{number}")
    resting, (bad, good) = await two_running(engine, worker)
    await engine.fail(failures([bad], retryable=False))
    await engine.release([Release(key=good.key, token=good.token)])
    job_id, running = await two_running(engine, worker)
    await engine.submit("simple")
    return Scene(job_id, resting, worker, running, number)


async def visible(engine: Engine, scene: Scene) -> list[object]:
    """All jobs, and of the scene's all that a caller can see but the signs of life of workers."""
    jobs = (await engine.jobs(limit=10_000)).items
    tasks = [task for job_id in (scene.job_id, scene.resting) for task in (await engine.tasks(job_id)).items]
    workers = [(worker.id, worker.status, worker.enabled, worker.version) for worker in await engine.workers()]
    return [jobs, tasks, workers, (await engine.logs(scene.job_id)).items, (await engine.steps(scene.job_id)).items]


async def clear(engine: Engine) -> None:
    for job in (
        await engine.jobs(statuses=[JobStatus(s) for s in JobStatus if s not in ("completed", "cancelled")])
    ).items:
        await engine.cancel(job.id)


@pytest.mark.parametrize("name", VERBS)
async def test_a_verb_broken_anywhere_leaves_nothing_behind(engine: Engine, clock: FakeClock, name: str) -> None:
    await broken_everywhere(engine, clock, name, after=True)


@pytest.mark.prove
@pytest.mark.parametrize("name", VERBS)
async def test_a_verb_broken_before_any_statement_leaves_nothing_behind(
    engine: Engine, clock: FakeClock, name: str
) -> None:
    await broken_everywhere(engine, clock, name, after=False)


async def broken_everywhere(engine: Engine, clock: FakeClock, name: str, *, after: bool) -> None:
    await engine.declare(GRAPH)
    verb = VERBS[name]
    for number in range(1, MANY):
        scene = await a_scene(engine, number)
        before = await visible(engine, scene)
        fault = Fault(number, after=after)
        try:
            await verb(wrap_engine(engine, fault), scene, clock)
        except Broken:
            assert await visible(engine, scene) == before, f"{name} broken at {fault.statement} has changed something"
            answer = await verb(engine, scene, clock)
            assert_done(answer)
            assert await visible(engine, scene) != before or name in {"report", "orchestrate"}
            await clear(engine)
        else:
            if fault.statement is not None:
                assert name in ISOLATING, "the error was swallowed"
                assert await visible(engine, scene) != before, f"{name} broken at {fault.statement} did nothing"
                await clear(engine)
                continue
            assert number > 1, "nothing was broken"
            break
    else:
        pytest.fail(f"{name} has more than {MANY} statements")
    assert (await engine.doctor()).findings == ()


def assert_done(answer: Any) -> None:
    verdicts = answer if isinstance(answer, list) else [answer]
    for verdict in verdicts:
        if isinstance(verdict, Verdict):
            assert verdict is Verdict.OK
