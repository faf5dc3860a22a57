"""All verbs at once on the same multi-stage jobs: no deadlock, and no finding of the doctor afterwards."""

import asyncio
import random
from datetime import datetime, timedelta

import psycopg
import pytest

from reelstate.core.errors import ReelstateError
from reelstate.core.machine import FINISHED_JOBS, JobStatus
from reelstate.core.model import Completion, Failure, Progress, Release, Submission
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.core.policy import Backoff
from reelstate.engine import Engine
from reelstate.services.operate.retry import From
from tests.engines import FakeClock, a_worker, engine_at
from tests.races.racing_processes import SIZE, RacingProcesses, start

AT_ONCE = Backoff(base=0.0, cap=0.0)
MESH = Graph.of(
    "mesh",
    [
        StageSpec(name="cut", phase=JobStatus.PLANNING, backoff=AT_ONCE),
        StageSpec(name="left", after=("cut",), each="spec.parts", backoff=AT_ONCE, attempts=2),
        StageSpec(
            name="right", after=("cut",), each="spec.parts", backoff=AT_ONCE, required=False, needs=frozenset({"gpu"})
        ),
        StageSpec(name="join", after=("left", "right"), phase=JobStatus.UPLOADING_OUTPUTS, backoff=AT_ONCE),
    ],
)
STAGES = [stage.name for stage in MESH.stages]


class FastClock(FakeClock):
    """A clock that runs faster than real time, so that a lease of a minute expires within milliseconds."""

    def __init__(self, factor: int = 3000) -> None:
        super().__init__()
        self._started_at = asyncio.get_running_loop().time()
        self._factor = factor

    def __call__(self) -> datetime:
        return self.now + timedelta(seconds=self._factor * (asyncio.get_running_loop().time() - self._started_at))


async def work(url: str, turns: int, number: int, parties: int) -> int:
    """Claim tasks, then complete, fail, release or abandon each of them."""
    rng = random.Random(number)
    processed = 0
    async with engine_at(url, FastClock(), graphs=[MESH]) as engine:
        worker = await a_worker(engine, f"worker-{number}", capabilities=["gpu"])
        start(parties)
        for _ in range(turns):
            if rng.random() < 0.1:
                await engine.submit("mesh", {"parts": rng.randint(0, 4)})
            tasks = (await engine.claim(worker, rng.randint(1, 6), capabilities=["gpu"])).tasks
            rng.shuffle(tasks)
            third = len(tasks) // 3 + 1
            await engine.report(worker, [Progress(key=task.key, token=task.token, percent=5) for task in tasks])
            await engine.complete([Completion(key=task.key, token=task.token) for task in tasks[:third]])
            await engine.fail(
                [
                    Failure(key=task.key, token=task.token, error="no", retryable=rng.random() < 0.8)
                    for task in tasks[third : 2 * third]
                ]
            )
            if rng.random() < 0.5:
                await engine.release([Release(key=task.key, token=task.token) for task in tasks[2 * third :]])
            processed += len(tasks)
    return processed


async def operate(url: str, turns: int, number: int, parties: int) -> int:
    """Cancel, retry, rewind, quarantine, force and sweep, as operators and keepers do."""
    rng = random.Random(number)
    done = 0
    async with engine_at(url, FastClock(), graphs=[MESH]) as engine:
        start(parties)
        for _ in range(turns):
            await engine.orchestrate(stuck_after=0.0)
            await engine.reclaim(limit=20)
            jobs = [job for job in (await engine.jobs(limit=200)).items if job.status not in FINISHED_JOBS]
            for job in rng.sample(jobs, min(3, len(jobs))):
                done += await _change_job(engine, rng, job.id)
    return done


async def _change_job(engine: Engine, rng: random.Random, job_id: int) -> int:
    verb = rng.choice(
        ["retry", "retry", "from", "from", "quarantine", "pending", "failed", "failed", "retry", "cancel"]
    )
    try:
        if verb == "retry":
            await engine.retry(job_id)
        elif verb == "from":
            await engine.retry(job_id, start=From(rng.choice(STAGES)))
        elif verb == "quarantine":
            await engine.quarantine(job_id, reason="test")
        elif verb == "cancel":
            await engine.cancel(job_id)
        else:
            await engine.force(job_id, JobStatus(verb), reason="test")
    except ReelstateError:
        return 0
    return 1


async def deadlocks(url: str) -> int:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        cursor = await connection.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        row = await cursor.fetchone()
        assert row is not None
        return int(row[0])


async def require_no_deadlock(url: str, racers: RacingProcesses, *, jobs: int, turns: int) -> None:
    async with engine_at(url, graphs=[MESH]) as engine:
        submissions = [Submission(pipeline="mesh", spec={"parts": number % 4}) for number in range(jobs)]
        await engine.submit_many(submissions)
        before = await deadlocks(url)
        workers = SIZE - 3
        results = racers.race(
            [(work, (url, turns, number, SIZE)) for number in range(workers)]
            + [(operate, (url, turns, number, SIZE)) for number in range(workers, SIZE)]
        )
        assert sum(results[:workers]), "no worker ran a task, so nothing was shown"
        assert sum(results[workers:]), "no operator changed a job, so nothing was shown"
        assert (await engine.doctor()).findings == ()
        assert await deadlocks(url) == before
    await require_all_jobs_can_finish(url)


async def require_all_jobs_can_finish(url: str) -> None:
    """Require that workers can finish every job that is left."""
    clock = FakeClock()
    clock.advance(30 * 86_400)
    async with engine_at(url, clock, graphs=[MESH]) as engine:
        worker = await a_worker(engine, "last", capabilities=["gpu"])
        while True:
            clock.advance(3600)
            await engine.orchestrate()
            await engine.reclaim()
            unfinished = [job for job in (await engine.jobs(limit=1000)).items if job.status not in FINISHED_JOBS]
            if not unfinished:
                break
            for job in unfinished:
                await engine.retry(job.id)
            while tasks := (await engine.claim(worker, 100, capabilities=["gpu"])).tasks:
                await engine.complete([Completion(key=task.key, token=task.token) for task in tasks])
        assert (await engine.doctor()).findings == ()


async def test_no_verbs_deadlock(url: str, racers: RacingProcesses) -> None:
    await require_no_deadlock(url, racers, jobs=12, turns=25)


@pytest.mark.prove
async def test_no_verbs_deadlock_in_a_long_run(url: str, racers: RacingProcesses) -> None:
    await require_no_deadlock(url, racers, jobs=40, turns=400)
