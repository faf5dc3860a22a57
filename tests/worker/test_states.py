"""States that handlers report under tags are stored in order, before the task is done, and reach subscribers."""

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
from reelstate.worker.leases import HeldTask
from tests.waiting import until
from tests.worker.local_workers import engine_for, run_worker, wait_inactive
from tests.worker.process_pipelines import reporting

REPORTED = [
    ("ingest", 1, 1, "info"),
    ("ingest", 2, 1, "warning"),
    ("export", 1, -5, "error"),
    ("ingest", 3, FINISHED, "info"),
]


def report_states(task: rs.Run | rs.BlockingRun) -> None:
    task.state("ingest", 1, "begun", payload={"files": 2})
    task.warning("ingest", "slow")
    task.state("export", -5, "no disk")
    task.state("ingest", FINISHED)


async def read_states(engine: Engine, name: str) -> list[tuple[str, int, int, str]]:
    """Return every version of the states of one stage, as a monitor receives them."""
    async with await engine.state_manager(name) as monitor, asyncio.timeout(300):
        found: list[tuple[str, int, int, str]] = []
        async for message in monitor.subscribe(after="0"):
            if message.item is None:
                return found
            state = message.item
            found.append((state.tag, state.version, state.status, str(state.severity)))
    return found


@pytest.mark.parametrize("style", ["async", "thread"])
async def test_reported_states_are_stored_before_the_task_is_done(database_url: str, style: str) -> None:
    video = rs.Pipeline("video")

    if style == "async":

        @video.stage
        async def cut(task: rs.Run) -> None:
            report_states(task)
    else:

        @video.stage(name="cut")
        def cut_in_thread(task: rs.BlockingRun) -> None:
            report_states(task)

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        job = await engine.submit("video")
        assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
        assert await read_states(engine, f"{job.id}.cut") == REPORTED
        (grid,) = (await engine.states(job.id)).stages
        assert (grid.lowest.tag, grid.lowest.status, grid.lowest.message) == ("export", -5, "no disk")
        assert grid.lowest.severity is Severity.ERROR


async def test_a_process_reports_states_like_other_handlers(database_url: str) -> None:
    async with engine_for(database_url, reporting) as engine, run_worker(engine, database_url, [reporting]):
        job = await engine.submit("reporting")
        assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
        assert await read_states(engine, f"{job.id}.report_states") == REPORTED


async def test_a_subscriber_receives_states_while_the_handler_runs(database_url: str) -> None:
    video, go_on = rs.Pipeline("video"), asyncio.Event()

    @video.stage(tags=["ingest"])
    async def cut(task: rs.Run) -> None:
        task.state("ingest", 40, "almost half")
        await go_on.wait()
        task.state("ingest", FINISHED)

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        job = await engine.submit("video")
        await until(lambda: _has_states(engine, job.id))
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


async def test_a_worker_notifies_listeners_of_new_states(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage
    def cut(task: rs.BlockingRun) -> None:
        task.state("ingest", 1)

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        listener = engine.dispatch.listen([Wakeup.STATE])
        await listener.wait(0.3)  # a new listener returns every wake-up once, as it may have missed some
        await wait_inactive(engine, (await engine.submit("video")).id)
        assert await listener.wait(300) == {Wakeup.STATE}


async def _has_states(engine: Engine, job_id: int) -> bool:
    return any(grid.states for grid in (await engine.states(job_id)).stages)


@pytest.mark.parametrize(
    "status, options, message",
    [
        (2**31, {}, "status: invalid value 2147483648"),
        (1, {"severity": "loud"}, "severity: invalid value 'loud'"),
        (1, {"payload": {"file": object()}}, "payload: is not JSON"),
    ],
)
async def test_an_invalid_state_fails_the_task_with_the_reason(
    database_url: str, status: int, options: dict[str, Any], message: str
) -> None:
    video = rs.Pipeline("video")

    @video.stage(attempts=1)
    async def cut(task: rs.Run) -> None:
        task.state("ingest", status, **options)

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]):
        job = (await wait_inactive(engine, (await engine.submit("video")).id)).job
        assert job.status is JobStatus.FAILED
        assert job.error["cause"]["message"].startswith(message)


def test_of_too_many_states_between_two_reports_superseded_ones_are_dropped() -> None:
    task = ClaimedTask(
        key=rs.TaskKey(1, 0, 0), token=1, attempt=1, max_attempts=1, lost=0, lease=60.0, input=None, checkpoint=None,
        pipeline="video", stage_name="cut", spec=None,
    )  # fmt: skip
    held = HeldTask(task, 0.0, max_states=3)
    for number, tag in enumerate("aabbbb", 1):
        held.state(TaskState(number=number, tag=tag, status=number))
    assert [(state.tag, state.number) for state in held.take_report().progress.states] == [("a", 2), ("b", 5), ("b", 6)]
