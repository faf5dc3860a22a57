"""Two verbs on one job, the first stopped after each of its statements in turn while the second comes by.

Each waits where it must, none deadlocks, and whatever the order was, every invariant holds afterwards.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

import psycopg
import pytest

from reelstate.core.errors import ReelstateError
from reelstate.core.machine import JobStatus
from reelstate.core.model import ClaimedTask, Completion, Failure, Progress, Release
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.services.claim import ClaimOptions
from reelstate.services.operate.retry import From
from tests.engines import FakeClock, a_worker, engine_at
from tests.faults.wrapped_store import Pause, wrap_engine
from tests.races.test_deadlocks import deadlocks

Connection = psycopg.AsyncConnection[tuple[int]]
TIMEOUT = 0.06

GRAPH = Graph.of(
    "ordered",
    [
        StageSpec(name="cut", phase=JobStatus.PLANNING),
        StageSpec(name="left", after=("cut",), each="spec.parts", attempts=1),
        StageSpec(name="right", after=("cut",), needs=frozenset({"gpu"})),
        StageSpec(name="join", after=("left", "right"), phase=JobStatus.UPLOADING_OUTPUTS),
    ],
)


@dataclass
class Scene:
    """A job at work: of `left` two tasks run (the leases of both are over), one is ready; `right` is ready too.

    In a scene `again` the job has been through all of it once and `left` is run anew: `join` waits to be opened again.
    """

    job_id: int
    worker: int
    running: list[ClaimedTask]


Verb = Callable[[Engine, Scene], Awaitable[object]]
Stage = tuple[Engine, FakeClock, Connection]


async def a_scene(engine: Engine, clock: FakeClock, *, again: bool) -> Scene:
    job_id = (await engine.submit("ordered", {"parts": 2 if again else 3}, priority=10)).job_id
    worker = await a_worker(engine, "worker", capabilities=["gpu"])
    everything: ClaimOptions = {"capabilities": ["gpu"], "pipelines": ["ordered"]}
    await complete(engine, (await engine.claim(worker, 1, **everything)).tasks)
    if again:
        await complete(engine, (await engine.claim(worker, 3, **everything)).tasks)
        (join,) = (await engine.claim(worker, 1, **everything)).tasks
        await engine.fail([Failure(key=join.key, token=join.token, error="no", retryable=False)])
        await engine.retry(job_id, start=From("left"))
    running = (await engine.claim(worker, 2, pipelines=["ordered"])).tasks
    assert len(running) == 2
    assert {task.stage_name for task in running} == {"left"}
    clock.now += timedelta(seconds=90)
    return Scene(job_id, worker, running)


async def complete(engine: Engine, tasks: list[ClaimedTask]) -> None:
    await engine.complete([Completion(key=task.key, token=task.token) for task in tasks])


async def fail(engine: Engine, task: ClaimedTask, *, retryable: bool) -> None:
    await engine.fail([Failure(key=task.key, token=task.token, error="no", retryable=retryable)])


VERBS: dict[str, Verb] = {
    "complete": lambda engine, scene: complete(engine, scene.running[:1]),
    "complete the other": lambda engine, scene: complete(engine, scene.running[1:]),
    "complete both": lambda engine, scene: complete(engine, scene.running),
    "fail": lambda engine, scene: fail(engine, scene.running[0], retryable=False),
    "fail the other": lambda engine, scene: fail(engine, scene.running[1], retryable=False),
    "release": lambda engine, scene: engine.release([Release(key=t.key, token=t.token) for t in scene.running]),
    "report": lambda engine, scene: engine.report(
        scene.worker, [Progress(key=t.key, token=t.token, percent=3) for t in scene.running]
    ),
    "claim": lambda engine, scene: engine.claim(scene.worker, 1, capabilities=["gpu"], pipelines=["ordered"]),
    "reclaim": lambda engine, _: engine.reclaim(),
    "reclaim one": lambda engine, _: engine.reclaim(limit=1),
    "orchestrate": lambda engine, _: engine.orchestrate(stuck_after=0.0),
    "cancel": lambda engine, scene: engine.cancel(scene.job_id),
    "retry": lambda engine, scene: engine.retry(scene.job_id),
    "retry from": lambda engine, scene: engine.retry(scene.job_id, start=From("left")),
    "reprioritise": lambda engine, scene: engine.reprioritise(scene.job_id, 7),
    "flag": lambda engine, _: engine.flag_stalled(stall_after=0.0),
    "quarantine": lambda engine, scene: engine.quarantine(scene.job_id, reason="to see"),
    "force pending": lambda engine, scene: engine.force(scene.job_id, JobStatus.PENDING, reason="to see"),
    "force completed": lambda engine, scene: engine.force(scene.job_id, JobStatus.COMPLETED, reason="to see"),
    "disable": lambda engine, _: engine.disable("worker"),
}


@pytest.fixture
async def stage(url: str) -> AsyncIterator[Stage]:
    clock = FakeClock()
    async with (
        engine_at(f"{url}?options=-cdeadlock_timeout%3D200ms", clock, graphs=[GRAPH]) as engine,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as onlooker,
    ):
        yield engine, clock, onlooker


async def meet(engine: Engine, scene: Scene, onlooker: Connection, pause: Pause, names: tuple[str, str]) -> bool:
    """Run the first verb up to the pause, then the second as far as it gets, then both. False: no such statement."""
    first = asyncio.ensure_future(tolerant(VERBS[names[0]](wrap_engine(engine, pause), scene)))
    stopped = asyncio.ensure_future(pause.reached.wait())
    await asyncio.wait({first, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if pause.reached.is_set():
        second = asyncio.ensure_future(tolerant(VERBS[names[1]](engine, scene)))
        await done_or_waiting(second, onlooker)
        pause.go_on.set()
        await second
    await first
    return pause.reached.is_set()


async def tolerant(verb: Awaitable[object]) -> None:
    """What is refused is refused clearly; that is for other tests."""
    try:
        await verb
    except ReelstateError as error:
        assert error.hint, error  # noqa: PT017 -- a clear refusal is an answer here


async def done_or_waiting(task: asyncio.Future[None], onlooker: Connection) -> None:
    """Until the task has ended, waits for a lock, or has had a moment to begin anew."""
    loop = asyncio.get_running_loop()
    end = loop.time() + TIMEOUT
    while loop.time() < end:
        await asyncio.wait({task}, timeout=0.002)
        if task.done():
            return
        cursor = await onlooker.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        if await cursor.fetchone() != (0,):
            return


async def meetings(stage: Stage, url: str, name: str, others: Iterable[str], *, again: bool) -> list[str]:
    """What went wrong when one verb met others, at each of its statements."""
    engine, clock, onlooker = stage
    met: dict[int, str] = {}
    bad: list[str] = []
    counted = await deadlocks(url)
    for other in others:
        number, paused = 0, True
        while paused:
            number += 1
            await engine.enable("worker")
            pause = Pause(number)
            scene = await a_scene(engine, clock, again=again)
            paused = await meet(engine, scene, onlooker, pause, (name, other))
            met[scene.job_id] = f"{name} stopped after {pause.statement}, {other}"
            # A claim locks more rows than it takes. The sweep resets what a failing job could not.
            await engine.orchestrate()
            for check in ("restless", "counters", "stuck"):
                bad += [f"{check}: {met[scene.job_id]}: {row}" for row in await found(engine, check)]
            await put_away(engine, scene)
        if (now := await deadlocks(url)) > counted:
            bad.append(f"{now - counted} deadlocks: {name}, {other}")
            counted = now
    findings = (await engine.doctor()).findings
    return bad + [f"{finding.check}: {met.get(finding.job_id)}: {finding.detail}" for finding in findings]


@pytest.mark.parametrize(
    "name",
    ["fail", "reclaim one", "complete", "cancel", "retry from", "claim"],
)
async def test_no_two_verbs_meet_badly(stage: Stage, url: str, name: str) -> None:
    bad = await meetings(stage, url, name, ["fail the other", "reclaim", "complete both", "cancel"], again=False)
    assert not bad, "\n".join(bad)


@pytest.mark.prove
@pytest.mark.parametrize(
    "name, again",
    [(name, again) for name in VERBS for again in (False, True)],
)
async def test_no_two_of_all_verbs_meet_badly(stage: Stage, url: str, name: str, again: bool) -> None:
    bad = await meetings(stage, url, name, VERBS, again=again)
    assert not bad, "\n".join(bad)


async def found(engine: Engine, check: str) -> list[tuple[object, ...]]:
    return await engine.store.read(lambda transaction: transaction.run(f"doctor_{check}", limit=10))


async def put_away(engine: Engine, scene: Scene) -> None:
    """So that the next scene's claims are its own."""
    if (await engine.job(scene.job_id)).job.status not in (JobStatus.COMPLETED, JobStatus.CANCELLED):
        await engine.cancel(scene.job_id)
