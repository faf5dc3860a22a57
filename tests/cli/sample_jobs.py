"""Functions that create jobs in the states that the tests need."""

from reelstate.core.model import Completion, LogLine, Progress, Step, TaskState
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from tests.engines import a_worker, done, failed


async def waiting(engine: Engine) -> int:
    return (await engine.submit("simple", {"video": "a"})).job_id


async def completed(engine: Engine) -> int:
    """A completed job with three parts between a plan and a pack."""
    job_id = (await engine.submit("fan")).job_id
    worker = await a_worker(engine)
    results = {"plan": {"items": 3}, "pack": {"file": "[bold]out.mp4"}}
    while tasks := (await engine.claim(worker, 10)).tasks:
        await engine.complete([done(task, results.get(task.stage_name)) for task in tasks])
    return job_id


async def failed_pack(engine: Engine) -> int:
    """A job with five done parts whose pack failed."""
    job_id = (await engine.submit("fan")).job_id
    worker = await a_worker(engine)
    await engine.complete([done(task, {"items": 5}) for task in (await engine.claim(worker, 1)).tasks])
    await engine.complete([done(task) for task in (await engine.claim(worker, 9)).tasks])
    await engine.fail([failed(task, retryable=False) for task in (await engine.claim(worker, 1)).tasks])
    return job_id


async def failed_part(engine: Engine) -> int:
    """A failed job with four parts: one done, one failed, two not started."""
    job_id = (await engine.submit("parts", {"parts": 4}, priority=8, user_id="ada")).job_id
    tasks = (await engine.claim(await a_worker(engine, "encoder"), 2)).tasks
    await engine.complete([done(tasks[0])])
    await engine.fail([failed(tasks[1], retryable=False, error="no such [codec]")])
    return job_id


async def degraded(engine: Engine) -> int:
    """A completed job whose optional stage failed."""
    await engine.declare(
        Graph.of("lenient", [StageSpec(name="main"), StageSpec(name="extra", required=False, attempts=1)])
    )
    job_id = (await engine.submit("lenient")).job_id
    main, extra = (await engine.claim(await a_worker(engine, pipelines={"lenient"}), 2)).tasks
    await engine.fail([failed(extra, error="no such [codec]")])
    await engine.complete([done(main)])
    return job_id


async def running(engine: Engine) -> int:
    """A job with two running parts that reported progress, logs and steps."""
    job_id = (await engine.submit("parts", {"parts": 2})).job_id
    worker = await a_worker(engine, "encoder", slots=4, capabilities={"gpu"}, pipelines={"parts"})
    tasks = (await engine.claim(worker, 2)).tasks
    reports = [
        Progress(
            key=task.key,
            token=task.token,
            percent=50,
            message=f"frame {number}",
            logs=(LogLine(message=f"line {number} [red]", metadata={"fps": 24}), LogLine(message="oh", level="error")),
            steps=(
                Step(number=1, argv=["ffmpeg", "-i", "a video [red].mp4"], exit_code=0, seconds=1.5),
                Step(number=2, argv=["ffmpeg", "-x"], exit_code=1, seconds=0.1, output="first\n[bold]no such option"),
            ),
        )
        for number, task in enumerate(tasks)
    ]
    await engine.report(worker, reports)
    return job_id


async def isolated(engine: Engine) -> int:
    """A job with two parts; the worker of one was lost, and that part runs alone on another worker."""
    job_id = (await engine.submit("parts", {"parts": 2})).job_id
    worker = await a_worker(engine, "encoder")
    await engine.claim(worker, 1)
    await engine.reclaim(dead=[worker])
    await engine.claim(await a_worker(engine, "other"), 1)
    return job_id


async def flagged(engine: Engine) -> int:
    """A job with one running part that is flagged as stalled."""
    job_id = (await engine.submit("parts", {"parts": 1})).job_id
    await engine.claim(await a_worker(engine, "encoder"), 1)
    await engine.flag_stalled(stall_after=0)
    return job_id


async def reporting_states(engine: Engine) -> int:
    """A job with three running parts: two reported states of severity info, warning and error."""
    job_id = (await engine.submit("parts", {"parts": 3})).job_id
    worker = await a_worker(engine)
    tasks = (await engine.claim(worker, 3)).tasks
    states = {
        0: (
            TaskState(number=1, tag="ingest", status=40, message="almost [bold]half"),
            TaskState(number=2, tag="ingest", status=2**31 - 1),
            TaskState(number=3, tag="export", status=-7, severity="error", message="no disk"),
        ),
        1: (TaskState(number=1, tag="ingest", status=None, severity="warning", message="slow"),),
    }
    items = [Progress(key=task.key, token=task.token, states=states.get(task.key.part, ())) for task in tasks]
    await engine.report(worker, items)
    return job_id


async def completed_with_states(engine: Engine) -> int:
    """The job of `reporting_states`, completed."""
    job_id = await reporting_states(engine)
    tasks = (await engine.tasks(job_id)).items
    await engine.complete([Completion(key=task.key, token=task.token) for task in tasks])
    return job_id


async def manager_states(engine: Engine) -> str:
    """A job of the state manager without a job of the engine."""
    async with await engine.state_manager("nightly", 0, 1) as manager:
        await manager.set_started("copy")
    return "nightly"
