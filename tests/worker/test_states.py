"""What handlers say of themselves under tags: stored, in order, for whoever watches, before they are done."""

import asyncio
import contextlib
from typing import Any

import pytest

import reelstate as rs
from reelstate.app import open_engine
from reelstate.core.machine import JobStatus
from reelstate.core.model import ClaimedTask, TaskState
from reelstate.dispatch.dispatch import Wakeup
from reelstate.engine import Engine
from reelstate.states import FINISHED, MessageKind, Severity
from reelstate.worker import leases as held
from reelstate.worker.leases import HeldTask
from tests.worker.local_workers import engine_for, run_worker, until, wait_inactive
from tests.worker.process_pipelines import talkative

SAID = [
    ("ingest", 1, 1, "info"),
    ("ingest", 2, 1, "warning"),
    ("export", 1, -5, "error"),
    ("ingest", 3, FINISHED, "info"),
]


def speak(task: rs.Run | rs.BlockingRun) -> None:
    task.state("ingest", 1, "begun", payload={"files": 2})
    task.warning("ingest", "slow")
    task.state("export", -5, "no disk")
    task.state("ingest", FINISHED)


async def heard(engine: Engine, name: str) -> list[tuple[str, int, int, str]]:
    """Every version of one job of states, as a monitor gets it."""
    async with await engine.state_manager(name) as monitor, asyncio.timeout(300):
        found: list[tuple[str, int, int, str]] = []
        async for message in monitor.subscribe(after="0"):
            if message.item is None:
                return found
            state = message.item
            found.append((state.tag, state.version, state.status, str(state.severity)))
    return found


@pytest.mark.parametrize("style", ["async", "thread"])
async def test_what_a_handler_says_is_stored_before_it_is_done(database_url: str, style: str) -> None:
    film = rs.Pipeline("film")

    if style == "async":

        @film.stage
        async def cut(task: rs.Run) -> None:
            speak(task)
    else:

        @film.stage(name="cut")
        def cut_in_thread(task: rs.BlockingRun) -> None:
            speak(task)

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        job = await engine.submit("film")
        assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
        assert await heard(engine, f"{job.id}.cut") == SAID
        (grid,) = (await engine.states(job.id)).stages
        assert (grid.lowest.tag, grid.lowest.status, grid.lowest.message) == ("export", -5, "no disk")
        assert grid.lowest.severity is Severity.ERROR


async def test_a_process_says_the_same(database_url: str) -> None:
    async with engine_for(database_url, talkative) as engine, run_worker(engine, database_url, [talkative]):
        job = await engine.submit("talkative")
        assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
        assert await heard(engine, f"{job.id}.speak") == SAID


async def test_whoever_watches_hears_it_while_the_handler_runs(database_url: str) -> None:
    film, go_on = rs.Pipeline("film"), asyncio.Event()

    @film.stage(tags=["ingest"])
    async def cut(task: rs.Run) -> None:
        task.state("ingest", 40, "almost half")
        await go_on.wait()
        task.state("ingest", FINISHED)

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        job = await engine.submit("film")
        await until(lambda: _spoken(engine, job.id))
        async with (
            open_engine(database_url) as elsewhere,
            await elsewhere.state_manager(f"{job.id}.cut") as monitor,
            contextlib.aclosing(monitor.subscribe()) as messages,
            asyncio.timeout(300),
        ):
            kinds: list[Any] = []
            async for message in messages:
                kinds.append(message.kind if message.item is None else (message.item.status, message.replay))
                if message.kind is MessageKind.REPLAY_COMPLETE:
                    go_on.set()
                if message.item is not None and message.item.finished:
                    break
        assert kinds == [(40, True), MessageKind.REPLAY_COMPLETE, (FINISHED, False)]


async def test_a_worker_rings_when_its_tasks_have_spoken(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage
    def cut(task: rs.BlockingRun) -> None:
        task.state("ingest", 1)

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        ears = engine.dispatch.listen([Wakeup.STATE])
        await ears.wait(0.3)  # a listener that has just connected may have missed something, and says so
        await wait_inactive(engine, (await engine.submit("film")).id)
        assert await ears.wait(300) == {Wakeup.STATE}


async def _spoken(engine: Engine, job_id: int) -> bool:
    return any(grid.states for grid in (await engine.states(job_id)).stages)


@pytest.mark.parametrize(
    "status, options, words",
    [
        (2**31, {}, "status: 2147483648 is no 32-bit status"),
        (1, {"severity": "loud"}, "severity: 'loud' is none"),
        (1, {"payload": {"file": object()}}, "payload: is not JSON"),
    ],
)
async def test_a_mistake_fails_the_task_and_tells_why(
    database_url: str, status: int, options: dict[str, Any], words: str
) -> None:
    film = rs.Pipeline("film")

    @film.stage(attempts=1)
    async def cut(task: rs.Run) -> None:
        task.state("ingest", status, **options)

    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]):
        job = (await wait_inactive(engine, (await engine.submit("film")).id)).job
        assert job.status is JobStatus.FAILED
        assert job.error["cause"]["message"].startswith(words)


def test_too_many_states_between_two_reports_lose_what_was_said_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "MAX_STATES", 3)
    task = ClaimedTask(
        key=rs.TaskKey(1, 0, 0), token=1, attempt=1, max_attempts=1, lost=0, lease=60.0, input=None, checkpoint=None,
        pipeline="film", stage_name="cut", spec=None,
    )  # fmt: skip
    kept = HeldTask(task, 0.0)
    for number, tag in enumerate("aabbbb", 1):
        kept.state(TaskState(number=number, tag=tag, status=number))
    assert [(state.tag, state.number) for state in kept.take().progress.states] == [("a", 2), ("b", 5), ("b", 6)]
