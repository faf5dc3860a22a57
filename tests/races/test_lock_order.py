"""Two verbs on one job: the first is paused after each of its statements in turn while the second runs.

Neither deadlocks, and every invariant holds afterwards, whatever the order was.
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
from reelstate.stores.store import STATEMENTS
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
class RunningJob:
    """A running job: two tasks of `left` run with expired leases and one is ready; `right` is ready too.

    With `again` the job has run all stages once and `left` runs again: `join` waits to be opened again.
    """

    job_id: int
    worker: int
    running: list[ClaimedTask]


Verb = Callable[[Engine, RunningJob], Awaitable[object]]
Stage = tuple[Engine, FakeClock, Connection]


async def start_job(engine: Engine, clock: FakeClock, *, again: bool) -> RunningJob:
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
    return RunningJob(job_id, worker, running)


async def complete(engine: Engine, tasks: list[ClaimedTask]) -> None:
    await engine.complete([Completion(key=task.key, token=task.token) for task in tasks])


async def fail(engine: Engine, task: ClaimedTask, *, retryable: bool) -> None:
    await engine.fail([Failure(key=task.key, token=task.token, error="no", retryable=retryable)])


VERBS: dict[str, Verb] = {
    "complete": lambda engine, job: complete(engine, job.running[:1]),
    "complete the other": lambda engine, job: complete(engine, job.running[1:]),
    "complete both": lambda engine, job: complete(engine, job.running),
    "fail": lambda engine, job: fail(engine, job.running[0], retryable=False),
    "fail the other": lambda engine, job: fail(engine, job.running[1], retryable=False),
    "release": lambda engine, job: engine.release([Release(key=t.key, token=t.token) for t in job.running]),
    "report": lambda engine, job: engine.report(
        job.worker, [Progress(key=t.key, token=t.token, percent=3) for t in job.running]
    ),
    "claim": lambda engine, job: engine.claim(job.worker, 1, capabilities=["gpu"], pipelines=["ordered"]),
    "reclaim": lambda engine, _: engine.reclaim(),
    "reclaim one": lambda engine, _: engine.reclaim(limit=1),
    "orchestrate": lambda engine, _: engine.orchestrate(stuck_after=0.0),
    "cancel": lambda engine, job: engine.cancel(job.job_id),
    "retry": lambda engine, job: engine.retry(job.job_id),
    "retry from": lambda engine, job: engine.retry(job.job_id, start=From("left")),
    "reprioritise": lambda engine, job: engine.reprioritise(job.job_id, 7),
    "flag": lambda engine, _: engine.flag_stalled(stall_after=0.0),
    "quarantine": lambda engine, job: engine.quarantine(job.job_id, reason="test"),
    "force pending": lambda engine, job: engine.force(job.job_id, JobStatus.PENDING, reason="test"),
    "force completed": lambda engine, job: engine.force(job.job_id, JobStatus.COMPLETED, reason="test"),
    "disable": lambda engine, _: engine.disable("worker"),
}


@pytest.fixture
async def stage(url: str) -> AsyncIterator[Stage]:
    clock = FakeClock()
    async with (
        engine_at(f"{url}?options=-cdeadlock_timeout%3D200ms", clock, graphs=[GRAPH]) as engine,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as observer,
    ):
        yield engine, clock, observer


async def interleave(
    engine: Engine, job: RunningJob, observer: Connection, pause: Pause, names: tuple[str, str]
) -> bool:
    """Run the first verb up to the pause, then the second as far as it gets, then both.

    Return False when the first verb ends before the pause.
    """
    first = asyncio.ensure_future(allow_refusal(VERBS[names[0]](wrap_engine(engine, pause), job)))
    stopped = asyncio.ensure_future(pause.reached.wait())
    await asyncio.wait({first, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if pause.reached.is_set():
        second = asyncio.ensure_future(allow_refusal(VERBS[names[1]](engine, job)))
        await wait_done_or_blocked(second, observer)
        pause.go_on.set()
        await second
    await first
    return pause.reached.is_set()


async def allow_refusal(verb: Awaitable[object]) -> None:
    """Await a verb; it may be refused with a hint."""
    try:
        await verb
    except ReelstateError as error:
        assert error.hint, error  # noqa: PT017 -- a refusal with a hint is allowed here


async def wait_done_or_blocked(task: asyncio.Future[None], observer: Connection) -> None:
    """Wait until the task is done or waits for a lock, at most for TIMEOUT (it may restart its transaction)."""
    loop = asyncio.get_running_loop()
    end = loop.time() + TIMEOUT
    while loop.time() < end:
        await asyncio.wait({task}, timeout=0.002)
        if task.done():
            return
        cursor = await observer.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        if await cursor.fetchone() != (0,):
            return


async def find_conflicts(stage: Stage, url: str, name: str, others: Iterable[str], *, again: bool) -> list[str]:
    """Interleave one verb with others at each of its statements; return the broken invariants."""
    engine, clock, observer = stage
    orders: dict[int, str] = {}
    conflicts: list[str] = []
    counted = await deadlocks(url)
    for other in others:
        number, paused = 0, True
        while paused:
            number += 1
            await engine.enable("worker")
            pause = Pause(number)
            job = await start_job(engine, clock, again=again)
            paused = await interleave(engine, job, observer, pause, (name, other))
            orders[job.job_id] = f"{name} stopped after {pause.statement}, {other}"
            # A claim locks more rows than it takes. The sweep resets what a failing job could not.
            await engine.orchestrate()
            for check in ("restless", "counters", "stuck"):
                conflicts += [f"{check}: {orders[job.job_id]}: {row}" for row in await find_rows(engine, check)]
            await cancel_unfinished(engine, job)
        if (now := await deadlocks(url)) > counted:
            conflicts.append(f"{now - counted} deadlocks: {name}, {other}")
            counted = now
    findings = (await engine.doctor()).findings
    return conflicts + [f"{finding.check}: {orders.get(finding.job_id)}: {finding.detail}" for finding in findings]


@pytest.mark.parametrize(
    "name",
    ["fail", "reclaim one", "complete", "cancel", "retry from", "claim"],
)
async def test_no_two_verbs_meet_badly(stage: Stage, url: str, name: str) -> None:
    conflicts = await find_conflicts(
        stage, url, name, ["fail the other", "complete the other", "reclaim", "complete both", "cancel"], again=False
    )
    assert not conflicts, "\n".join(conflicts)


@pytest.mark.prove
@pytest.mark.parametrize(
    "name, again",
    [(name, again) for name in VERBS for again in (False, True)],
)
async def test_no_two_verbs_break_an_invariant_when_interleaved(stage: Stage, url: str, name: str, again: bool) -> None:
    conflicts = await find_conflicts(stage, url, name, VERBS, again=again)
    assert not conflicts, "\n".join(conflicts)


async def find_rows(engine: Engine, check: str) -> list[tuple[object, ...]]:
    return await engine.store.read(lambda transaction: transaction.run(STATEMENTS[f"doctor_{check}"], limit=10))


async def cancel_unfinished(engine: Engine, job: RunningJob) -> None:
    """Cancel an unfinished job, so that the next claims take only tasks of the next job."""
    if (await engine.job(job.job_id)).job.status not in (JobStatus.COMPLETED, JobStatus.CANCELLED):
        await engine.cancel(job.job_id)
