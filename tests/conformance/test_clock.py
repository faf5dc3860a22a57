"""The store's clock is set, forward or back: leases and due times survive, and nothing ends before it began."""

from datetime import timedelta

import pytest

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Verdict
from reelstate.core.pipeline import StageSpec
from reelstate.engine import Engine
from tests.conformance.scenarios import (
    a_running_task,
    declared,
    finish,
    progress,
    status_of,
    submitted,
    take,
    take_one,
    task_at,
)
from tests.conformance.shell import GUARD, shell_at
from tests.engines import FakeClock, a_worker, done, failed

TERMS = {"lead": 10.0, "gap": 60.0, "grace": 120.0}
HOURS = 7200.0


class Watch:
    """A keeper with a steady clock: it measures elapsed time independently of the clock of the store."""

    def __init__(self, engine: Engine, clock: FakeClock) -> None:
        self._engine, self._clock = engine, clock
        self._steady = 0.0
        self._seen: tuple[object, float] | None = None

    async def sweep(self) -> int:
        """Gives how many tasks were taken back."""
        at, then = self._seen or (None, 0.0)
        lead = await self._engine.lead("keeper", since=at, elapsed=lambda: self._steady - then, **TERMS)
        self._seen = (lead.at, self._steady)
        await self._engine.orchestrate()
        return (await self._engine.reclaim(gap=TERMS["gap"])).total

    async def live(self, seconds: int) -> int:
        """Real time goes by, with a sweep every five seconds; gives how many tasks were taken back."""
        taken = 0
        for _ in range(seconds // 5):
            self.pass_time(5)
            taken += await self.sweep()
        return taken

    def pass_time(self, seconds: float) -> None:
        self._steady += seconds
        self._clock.advance(seconds)

    def set_clock(self, seconds: float) -> None:
        self._clock.advance(seconds)


@pytest.fixture
def watch(engine: Engine, clock: FakeClock) -> Watch:
    return Watch(engine, clock)


@pytest.mark.parametrize("step", [-HOURS, HOURS])
async def test_a_lease_is_taken_back_in_its_time(engine: Engine, watch: Watch, step: float) -> None:
    await watch.sweep()
    await a_running_task(engine)
    await watch.live(20)
    watch.set_clock(step)
    assert await watch.live(35) == 0
    # What is left of the lease, a sweep's imprecision, and after a step forward a grace.
    assert await watch.live(60) == 1


@pytest.mark.parametrize("step", [-HOURS, HOURS])
async def test_a_renewed_lease_is_kept(engine: Engine, watch: Watch, step: float) -> None:
    await declared(engine, "limited", StageSpec(name="main", stall_after=300, timeout=600))
    await submitted(engine, "limited")
    await watch.sweep()
    worker = await a_worker(engine)
    task = await take_one(engine, worker)
    watch.set_clock(step)
    for _ in range(20):
        assert await watch.live(10) == 0
        assert (await engine.report(worker, [progress(task)])).verdicts == [Verdict.OK]


@pytest.mark.parametrize("step", [-HOURS, HOURS])
async def test_a_stall_and_a_timeout_are_found_in_their_time(engine: Engine, watch: Watch, step: float) -> None:
    await declared(engine, "limited", StageSpec(name="main", timeout=100))
    await submitted(engine, "limited")
    await watch.sweep()
    worker = await a_worker(engine)
    task = await take_one(engine, worker)
    await watch.live(20)
    watch.set_clock(step)
    taken = []
    for _ in range(20):
        taken.append(await watch.live(10))
        await engine.report(worker, [progress(task)])
    assert sum(taken) == 1
    assert 7 <= taken.index(1) <= 14, "20 of 100 seconds had passed, and the keeper waits a little longer"


@pytest.mark.parametrize("step", [-HOURS, HOURS])
async def test_a_retry_comes_in_its_time(engine: Engine, watch: Watch, step: float) -> None:
    await watch.sweep()
    task = await a_running_task(engine)
    await engine.fail([failed(task, retry_in=120)])
    await watch.live(20)
    watch.set_clock(step)
    await watch.live(80)
    assert (await task_at(engine, task.key)).status is TaskStatus.ERROR
    await watch.live(40)
    assert (await task_at(engine, task.key)).status is TaskStatus.READY


@pytest.mark.parametrize("step", [-HOURS, HOURS])
async def test_a_delayed_job_begins_in_its_time(engine: Engine, watch: Watch, step: float) -> None:
    await watch.sweep()
    await submitted(engine, delay=120)
    await watch.live(20)
    watch.set_clock(step)
    worker = await a_worker(engine)
    await watch.live(80)
    assert await take(engine, worker) == []
    await watch.live(40)
    assert len(await take(engine, worker)) == 1


@pytest.mark.parametrize("step", [-HOURS, HOURS])
async def test_the_due_time_of_a_delayed_job_is_moved_along(engine: Engine, watch: Watch, step: float) -> None:
    await watch.sweep()
    job_id = await submitted(engine, delay=120)
    due = (await engine.job(job_id)).job.run_after
    assert due is not None
    await watch.live(20)
    watch.set_clock(step)
    await watch.live(5)
    moved = (await engine.job(job_id)).job.run_after
    assert moved is not None
    assert abs(moved - due - timedelta(seconds=step)) <= timedelta(seconds=5), "a step is known to a sweep"


@pytest.mark.parametrize("step", [-HOURS, HOURS])
async def test_what_was_written_after_the_step_is_not_moved(engine: Engine, watch: Watch, step: float) -> None:
    await watch.live(30)
    watch.set_clock(step)
    task = await a_running_task(engine)
    failing = await a_running_task(engine)
    await engine.fail([failed(failing, retry_in=120)])
    watch.pass_time(3)
    assert await watch.sweep() == 0
    assert await watch.live(50) == 0
    assert (await task_at(engine, task.key)).status is TaskStatus.RUNNING
    assert (await task_at(engine, failing.key)).status is TaskStatus.ERROR
    await watch.live(80)
    assert (await task_at(engine, failing.key)).status is TaskStatus.READY


async def test_two_keepers_move_times_once(engine: Engine, clock: FakeClock) -> None:
    first, second = Watch(engine, clock), Watch(engine, clock)
    await first.sweep()
    await second.sweep()
    task = await a_running_task(engine)
    before = (await task_at(engine, task.key)).lease_expires_at
    assert before is not None
    clock.advance(HOURS)
    await first.sweep()
    await second.sweep()
    after = (await task_at(engine, task.key)).lease_expires_at
    assert after is not None
    assert (after - before).total_seconds() == pytest.approx(HOURS, abs=0.1)


async def test_a_pause_that_the_steady_clock_confirms_is_no_step(engine: Engine, watch: Watch) -> None:
    await watch.sweep()
    task = await a_running_task(engine)
    await engine.fail([failed(task, retry_in=60)])
    watch.pass_time(HOURS)
    await watch.sweep()
    assert (await task_at(engine, task.key)).status is TaskStatus.READY


async def test_a_silent_worker_is_marked_offline_after_a_step_back(engine: Engine, watch: Watch) -> None:
    await watch.sweep()
    await a_worker(engine)
    watch.set_clock(-HOURS)
    await watch.live(60)
    assert len(await engine.reclaim_workers(stale_after=45)) == 1


@pytest.mark.parametrize("seen", [True, False])
async def test_nothing_ends_before_it_began(engine: Engine, watch: Watch, seen: bool) -> None:
    await watch.sweep()
    task = await a_running_task(engine)
    watch.set_clock(-HOURS)
    if seen:
        await watch.sweep()
    assert await engine.complete([done(task)]) == [Verdict.OK]
    job = (await engine.job(task.key.job_id)).job
    row = await task_at(engine, task.key)
    assert job.started_at is not None
    assert job.finished_at is not None
    assert job.finished_at >= job.started_at
    assert row.started_at is not None
    assert row.finished_at is not None
    assert row.finished_at >= row.started_at


async def test_every_end_is_after_its_beginning_when_the_clock_was_set_back(engine: Engine, clock: FakeClock) -> None:
    ends = []
    for verb in ("cancel", "fail", "quarantine", "force"):
        task = await a_running_task(engine)
        clock.advance(-HOURS)
        if verb == "cancel":
            await engine.cancel(task.key.job_id)
        elif verb == "fail":
            await engine.fail([failed(task, retryable=False)])
        elif verb == "quarantine":
            await engine.quarantine(task.key.job_id, reason="test")
        else:
            await engine.force(task.key.job_id, JobStatus.COMPLETED, reason="test")
        job = (await engine.job(task.key.job_id)).job
        assert job.finished_at is not None
        assert job.started_at is not None
        ends.append(job.finished_at >= job.started_at)
    assert ends == [True] * 4


@pytest.mark.parametrize("table", ["jobs", "tasks"])
async def test_the_database_refuses_an_end_before_the_beginning(engine: Engine, database_url: str, table: str) -> None:
    job_id = await submitted(engine)
    await finish(engine, await a_worker(engine))
    assert await status_of(engine, job_id) is JobStatus.COMPLETED
    with shell_at(database_url) as shell:
        earlier = "started_at - 1" if database_url.startswith("sqlite:") else "started_at - interval '1 s'"
        assert shell.refusal(f"UPDATE {table} SET finished_at = {earlier}") in {GUARD, f"{table}_times"}
