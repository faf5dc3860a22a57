"""Every verb, failing at its first statement, its second, … until it succeeds: no partial change is left."""

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
MAX_STATEMENTS = 60
ISOLATING = {"reclaim"}
"""Sweeps that handle each job alone after a failure: an error that comes once does not reach their caller."""
A_STEP = Step(number=1, argv=["ffmpeg"], exit_code=0)


@dataclass
class Setup:
    """A job whose two parts of `work` run; `failed` is another job that has failed."""

    job_id: int
    failed: int
    worker: int
    running: list[ClaimedTask]
    number: int


Verb = Callable[[Engine, Setup, FakeClock], Awaitable[Any]]


def completions(tasks: list[ClaimedTask]) -> list[Completion]:
    return [Completion(key=task.key, token=task.token, result={"n": 1}) for task in tasks]


def failures(tasks: list[ClaimedTask], *, retryable: bool = True) -> list[Failure]:
    return [Failure(key=task.key, token=task.token, error="no", retryable=retryable) for task in tasks]


async def reclaim(engine: Engine, setup: Setup, clock: FakeClock) -> Any:
    clock.advance(120)
    try:
        return await engine.reclaim()
    finally:
        clock.advance(-120)


async def register(engine: Engine, setup: Setup, clock: FakeClock) -> Any:
    return await a_worker(engine, f"new-{setup.number}")


VERBS: dict[str, Verb] = {
    "submit": lambda engine, setup, _: engine.submit_many(
        [
            Submission(pipeline="faulty", spec={"parts": 2}, idempotency_key=f"key-{setup.number}"),
            Submission(pipeline="parts", spec={"parts": 0}),
        ]
    ),
    "claim": lambda engine, setup, _: engine.claim(setup.worker, 3),
    "report": lambda engine, setup, _: engine.report(
        setup.worker,
        [
            Progress(key=t.key, token=t.token, percent=1, logs=(LogLine(message="hm"),), steps=(A_STEP,))
            for t in setup.running
        ],
    ),
    "complete": lambda engine, setup, _: engine.complete(completions(setup.running)),
    "fail": lambda engine, setup, _: engine.fail(failures(setup.running)),
    "release": lambda engine, setup, _: engine.release([Release(key=t.key, token=t.token) for t in setup.running]),
    "reclaim": reclaim,
    "orchestrate": lambda engine, *_: engine.orchestrate(stuck_after=0.0),
    "cancel": lambda engine, setup, _: engine.cancel(setup.job_id),
    "retry": lambda engine, setup, _: engine.retry(setup.failed),
    "retry from": lambda engine, setup, _: engine.retry(setup.failed, start=From("cut")),
    "reprioritise": lambda engine, setup, _: engine.reprioritise(setup.job_id, 3),
    "quarantine": lambda engine, setup, _: engine.quarantine(setup.job_id, reason="to see"),
    "force pending": lambda engine, setup, _: engine.force(setup.job_id, JobStatus.PENDING, reason="so"),
    "force completed": lambda engine, setup, _: engine.force(setup.job_id, JobStatus.COMPLETED, reason="so"),
    "register": register,
    "disable": lambda engine, setup, _: engine.disable(f"worker-{setup.number}"),
    "drain": lambda engine, setup, _: engine.drain(f"worker-{setup.number}"),
}


async def two_running(engine: Engine, worker: int) -> tuple[int, list[ClaimedTask]]:
    """Submit a job and claim its two parts of `work`."""
    job_id = (await engine.submit("faulty", {"parts": 2}, priority=10)).job_id
    await engine.complete(completions((await engine.claim(worker, 1)).tasks))
    running = (await engine.claim(worker, 2)).tasks
    assert [task.key for task in running] == [TaskKey(job_id, 1, part) for part in range(2)]
    return job_id, running


async def prepare(engine: Engine, number: int) -> Setup:
    worker = await a_worker(engine, f"worker-{number}")
    failed, (bad, good) = await two_running(engine, worker)
    await engine.fail(failures([bad], retryable=False))
    await engine.release([Release(key=good.key, token=good.token)])
    job_id, running = await two_running(engine, worker)
    await engine.submit("simple")
    return Setup(job_id, failed, worker, running, number)


async def visible(engine: Engine, setup: Setup) -> list[object]:
    """Return all that a caller can see of the jobs, except heartbeats of workers."""
    jobs = (await engine.jobs(limit=10_000)).items
    tasks = [task for job_id in (setup.job_id, setup.failed) for task in (await engine.tasks(job_id)).items]
    workers = [(worker.id, worker.status, worker.enabled, worker.version) for worker in await engine.workers()]
    return [jobs, tasks, workers, (await engine.logs(setup.job_id)).items, (await engine.steps(setup.job_id)).items]


async def clear(engine: Engine) -> None:
    for job in (
        await engine.jobs(statuses=[JobStatus(s) for s in JobStatus if s not in ("completed", "cancelled")])
    ).items:
        await engine.cancel(job.id)


@pytest.mark.parametrize("name", VERBS)
async def test_a_verb_that_fails_after_any_statement_changes_nothing(
    engine: Engine, clock: FakeClock, name: str
) -> None:
    await break_at_each_statement(engine, clock, name, after=True)


@pytest.mark.prove
@pytest.mark.parametrize("name", VERBS)
async def test_a_verb_that_fails_before_any_statement_changes_nothing(
    engine: Engine, clock: FakeClock, name: str
) -> None:
    await break_at_each_statement(engine, clock, name, after=False)


async def break_at_each_statement(engine: Engine, clock: FakeClock, name: str, *, after: bool) -> None:
    await engine.declare(GRAPH)
    verb = VERBS[name]
    for number in range(1, MAX_STATEMENTS):
        setup = await prepare(engine, number)
        before = await visible(engine, setup)
        fault = Fault(number, after=after)
        try:
            await verb(wrap_engine(engine, fault), setup, clock)
        except Broken:
            assert await visible(engine, setup) == before, f"{name} broken at {fault.statement} has changed something"
            answer = await verb(engine, setup, clock)
            assert_done(answer)
            assert await visible(engine, setup) != before or name in {"report", "orchestrate"}
            await clear(engine)
        else:
            if fault.statement is not None:
                assert name in ISOLATING, "the error was swallowed"
                assert await visible(engine, setup) != before, f"{name} broken at {fault.statement} did nothing"
                await clear(engine)
                continue
            assert number > 1, "nothing was broken"
            break
    else:
        pytest.fail(f"{name} has more than {MAX_STATEMENTS} statements")
    assert (await engine.doctor()).findings == ()


def assert_done(answer: Any) -> None:
    verdicts = answer if isinstance(answer, list) else [answer]
    for verdict in verdicts:
        if isinstance(verdict, Verdict):
            assert verdict is Verdict.OK
