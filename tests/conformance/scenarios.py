"""What the tests of this suite set up, and what they look at, again and again."""

from collections.abc import Mapping, Sequence
from typing import Any

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import ClaimedTask, Event, Json, Progress, Release, Task, TaskKey, Verdict
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from tests.engines import FakeClock, a_worker, done, failed

LEASE = 60.0
"""The lease of a stage without options."""


async def declared(engine: Engine, name: str, *stages: StageSpec) -> str:
    """A pipeline of the test's own, ready for use; gives its name."""
    await engine.declare(Graph.of(name, stages))
    return name


async def submitted(engine: Engine, pipeline: str = "simple", spec: Json = None, **options: Any) -> int:
    return (await engine.submit(pipeline, spec, **options)).job_id


async def take(engine: Engine, worker: int, limit: int = 1000, **options: Any) -> list[ClaimedTask]:
    return (await engine.claim(worker, limit, **options)).tasks


async def take_one(engine: Engine, worker: int, **options: Any) -> ClaimedTask:
    (task,) = await take(engine, worker, 1, **options)
    return task


async def a_running_task(engine: Engine, pipeline: str = "simple", spec: Json = None, **options: Any) -> ClaimedTask:
    """The first task of a new job, held by a new worker."""
    await submitted(engine, pipeline, spec, **options)
    return await take_one(engine, await a_worker(engine))


async def running_parts(engine: Engine, parts: int, **options: Any) -> list[ClaimedTask]:
    """A job with one stage of so many parts, all of them held by one new worker."""
    await submitted(engine, "parts", {"parts": parts}, **options)
    return await take(engine, await a_worker(engine))


async def finish(engine: Engine, worker: int, results: Mapping[str, Json] | None = None) -> list[str]:
    """Run whatever can be run until nothing is left; gives the stages of the tasks in their order."""
    seen = []
    while tasks := await take(engine, worker):
        seen += [task.stage_name for task in tasks]
        verdicts = await engine.complete([done(task, (results or {}).get(task.stage_name)) for task in tasks])
        assert set(verdicts) == {Verdict.OK}
    return seen


async def fail_for_good(engine: Engine, *tasks: ClaimedTask) -> None:
    verdicts = await engine.fail([failed(task, retryable=False) for task in tasks])
    assert set(verdicts) == {Verdict.OK}


async def lose(engine: Engine, clock: FakeClock, seconds: float = LEASE) -> None:
    """Let the leases of the default length expire, and reclaim them."""
    clock.advance(seconds + 1)
    await engine.reclaim()


def released(task: ClaimedTask) -> Release:
    return Release(key=task.key, token=task.token)


def progress(task: ClaimedTask, **values: Any) -> Progress:
    return Progress(key=task.key, token=task.token, **values)


async def status_of(engine: Engine, job_id: int) -> JobStatus:
    return (await engine.job(job_id)).job.status


async def task_at(engine: Engine, key: TaskKey) -> Task:
    (found,) = [task for task in (await engine.tasks(key.job_id)).items if task.key == key]
    return found


async def task_statuses(engine: Engine, job_id: int, stage: str | None = None) -> list[TaskStatus]:
    return [task.status for task in (await engine.tasks(job_id, stage=stage)).items]


async def stage_statuses(engine: Engine, job_id: int) -> dict[str, TaskStatus]:
    return {stage.name: stage.status for stage in (await engine.job(job_id)).stages}


async def job_events(engine: Engine, job_id: int) -> list[Event]:
    """What happened to the job itself."""
    return (await engine.history(job_id, stage=-1, part=-1)).items


async def job_path(engine: Engine, job_id: int) -> list[tuple[str, str]]:
    """The statuses that a job went through, each with the actor that brought it there."""
    return [(event.target, event.actor) for event in await job_events(engine, job_id)]


async def task_path(engine: Engine, key: TaskKey) -> list[tuple[str | None, str, str]]:
    """What happened to a task: from, to, by whom."""
    events = (await engine.history(key.job_id, stage=key.stage, part=key.part)).items
    return [(event.origin, event.target, event.actor) for event in events]


def keys(tasks: Sequence[ClaimedTask]) -> list[TaskKey]:
    return [task.key for task in tasks]
