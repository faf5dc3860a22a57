import asyncio
import contextlib
import threading
from functools import partial
from typing import Any

import pytest

import reelstate as rs
from reelstate.core.machine import JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import Worker
from reelstate.engine import Engine
from tests.waiting import forever, run_until_stopped, until
from tests.worker.local_workers import count_leased, engine_for, run_worker, wait_inactive

NO_HEARTBEAT: dict[str, Any] = {"heartbeat": 1200.0, "stale_after": 3600.0}
"""A worker that stops was notified by a wake-up: the next heartbeat comes after every time limit of a test."""


@pytest.mark.parametrize("style", ["async", "thread"])
async def test_cancel_stops_the_handler_and_frees_the_slot(database_url: str, style: str) -> None:
    video = rs.Pipeline("video")
    started, stopped = threading.Event(), threading.Event()
    if style == "async":

        @video.stage(name="cut")
        async def cut(task: rs.Run) -> None:
            started.set()
            try:
                if task.spec == "long":
                    await forever()
            except asyncio.CancelledError:
                stopped.set()
                raise
    else:

        @video.stage(name="cut")
        def cut_in_thread(task: rs.BlockingRun) -> None:
            started.set()
            try:
                if task.spec == "long":
                    run_until_stopped()
            except rs.Stopped:
                stopped.set()
                raise

    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], worker_concurrency=1, **NO_HEARTBEAT) as worker,
    ):
        job = await engine.submit("video", "long")
        await until(started.is_set)
        await engine.cancel(job.id, reason="changed my mind")
        await until(stopped.is_set)
        detail = await wait_inactive(engine, (await engine.submit("video", "short")).id)
        assert worker.running == 0
    assert detail.job.status is JobStatus.COMPLETED


@pytest.mark.parametrize("style", ["async", "thread"])
async def test_a_handler_that_does_not_stop_is_counted_and_its_slot_is_not_used(
    database_url: str, style: str, caplog: pytest.LogCaptureFixture
) -> None:
    video = rs.Pipeline("video")
    release, alongside = threading.Event(), threading.Barrier(2)
    running: set[str] = set()
    counts: list[int] = []

    def count_running(spec: str) -> None:
        running.add(spec)
        counts.append(len(running))
        running.discard(spec)

    if style == "async":

        @video.stage(name="cut")
        async def cut(task: rs.Run) -> None:
            if task.spec == "unstoppable":
                running.add("unstoppable")
                while not release.is_set():
                    with contextlib.suppress(asyncio.CancelledError):
                        await until(release.is_set)
                running.discard("unstoppable")
            elif task.spec == "pair":
                await asyncio.to_thread(alongside.wait, 60)
            else:
                count_running(task.spec)
    else:

        @video.stage(name="cut")
        def cut_in_thread(task: rs.BlockingRun) -> None:
            if task.spec == "unstoppable":
                running.add("unstoppable")
                release.wait(60)
                running.discard("unstoppable")
            elif task.spec == "pair":
                alongside.wait(60)
            else:
                count_running(task.spec)

    async def load_worker() -> Worker:
        (worker,) = await engine.workers()
        return worker

    async def is_stuck(count: int) -> bool:
        return (await load_worker()).stuck == count

    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], worker_concurrency=2, worker_kill_after=0.1),
    ):
        job = await engine.submit("video", "unstoppable")
        await until(lambda: "unstoppable" in running)
        await engine.cancel(job.id, reason="test")
        try:
            await until(lambda: is_stuck(1))
            worker = await load_worker()
            assert (worker.running, worker.slots, worker.shown) == (0, 2, "busy")
            for number in range(5):
                await engine.submit("video", str(number))
            await until(lambda: len(counts) == 5)
            assert max(counts) <= 2, "more handlers ran than there are slots, counting the one that does not stop"
        finally:
            release.set()
        await until(lambda: is_stuck(0))
        pair = [(await engine.submit("video", "pair")).id for _ in range(2)]
        assert {(await wait_inactive(engine, job_id, 60)).job.status for job_id in pair} == {JobStatus.COMPLETED}
    assert f"handler does not stop job={job.id} stage=cut part=0 token=1 stuck=1 slots=2" in caplog.text
    assert f"stuck handler ended job={job.id} stage=cut part=0 token=1 stuck=0 slots=2" in caplog.text


async def test_a_worker_whose_slots_are_all_stuck_claims_nothing_and_logs_it(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    video = rs.Pipeline("video")
    started, release = threading.Event(), threading.Event()
    order: list[str] = []

    @video.stage
    def cut(task: rs.BlockingRun) -> None:
        try:
            if task.spec == "unstoppable":
                started.set()
                release.wait(60)
        finally:
            order.append(task.spec)

    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], worker_concurrency=1, worker_kill_after=0.1),
    ):

        async def wait_heartbeats(count: int) -> None:
            """Wait for `count` heartbeats; the worker polls several times between two of them."""
            for _ in range(count):
                (before,) = await engine.workers()
                await until(partial(_has_newer_heartbeat, engine, before))

        job = await engine.submit("video", "unstoppable")
        await until(started.is_set)
        await engine.cancel(job.id, reason="test")
        await until(lambda: "every slot is held" in caplog.text)
        other = await engine.submit("video", "short")
        await wait_heartbeats(5)
        release.set()
        assert (await wait_inactive(engine, other.id, 60)).job.status is JobStatus.COMPLETED
    assert order == ["unstoppable", "short"]


async def _has_newer_heartbeat(engine: Engine, before: Worker) -> bool:
    (worker,) = await engine.workers()
    return worker.last_heartbeat_at != before.last_heartbeat_at


async def test_a_task_that_lost_its_lease_is_stopped_and_its_result_refused(database_url: str) -> None:
    video = rs.Pipeline("video")
    runs: list[int] = []
    ended = threading.Event()

    @video.stage(lease=60)
    async def cut(task: rs.Run) -> int:
        runs.append(task.token)
        if task.token == 1:
            try:
                await forever()
            except asyncio.CancelledError:
                ended.set()
                return -1
        return task.token

    async with engine_for(database_url, video) as engine, run_worker(engine, database_url, [video]) as worker:
        job = await engine.submit("video")
        await until(lambda: runs)
        assert worker.id is not None
        await engine.release([rs.Release(key=rs.TaskKey(job.id, 0, 0), token=1)])
        detail = await wait_inactive(engine, job.id)
        await until(ended.is_set)
    assert detail.outputs == {"cut": 2}
    assert runs == [1, 2]


async def test_a_worker_that_stops_finishes_running_tasks_and_releases_queued_ones(database_url: str) -> None:
    video = rs.Pipeline("video")
    started = asyncio.Event()
    go = asyncio.Event()

    @video.stage(each="spec.parts")
    async def cut(task: rs.Run) -> int:
        started.set()
        await go.wait()
        return task.part

    async with engine_for(database_url, video) as engine:
        job = await engine.submit("video", {"parts": 10})
        async with run_worker(engine, database_url, [video], worker_concurrency=3) as worker:
            await asyncio.wait_for(started.wait(), 300)
            worker.stop()
            go.set()
        tasks = (await engine.tasks(job.id)).items
        (worker_row,) = await engine.workers()
        assert await count_leased(engine) == 0
    assert sorted(str(task.status) for task in tasks) == ["done"] * 3 + ["ready"] * 7
    assert [task.attempt for task in tasks if task.status is TaskStatus.READY] == [0] * 7
    assert worker_row.status is WorkerStatus.OFFLINE


@pytest.mark.parametrize("stopped_twice", [False, True])
async def test_a_task_that_exceeds_the_grace_is_released_without_counting_an_attempt(
    database_url: str, stopped_twice: bool
) -> None:
    video = rs.Pipeline("video")
    started = threading.Event()

    @video.stage
    async def cut(task: rs.Run) -> None:
        started.set()
        await forever()

    grace = 1000.0 if stopped_twice else 0.1
    async with engine_for(database_url, video) as engine:
        job = await engine.submit("video")
        async with run_worker(engine, database_url, [video], worker_grace=grace) as worker:
            await until(started.is_set)
            worker.stop()
            if stopped_twice:
                worker.stop()
        (task,) = (await engine.tasks(job.id)).items
        history = (await engine.history(job.id)).items
    assert (task.status, task.attempt, task.worker_id) == (TaskStatus.READY, 0, None)
    assert [(event.origin, event.target) for event in history if event.entity == "task"][-1] == ("running", "ready")


async def test_an_operator_drains_and_enables_a_worker(database_url: str) -> None:
    video = rs.Pipeline("video")
    started, go = asyncio.Event(), asyncio.Event()

    @video.stage
    async def cut(task: rs.Run) -> None:
        started.set()
        await go.wait()

    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], **NO_HEARTBEAT),
    ):
        first = await engine.submit("video")
        await asyncio.wait_for(started.wait(), 300)
        await engine.drain("worker", reason="new disk")
        second = await engine.submit("video")
        go.set()
        assert (await wait_inactive(engine, first.id)).job.status is JobStatus.COMPLETED
        (task,) = (await engine.tasks(second.id)).items
        assert task.status is TaskStatus.READY
        await engine.enable("worker")
        assert (await wait_inactive(engine, second.id)).job.status is JobStatus.COMPLETED


async def test_a_disabled_worker_stops_and_releases_its_tasks_at_once(database_url: str) -> None:
    video = rs.Pipeline("video")
    started, stopped = asyncio.Event(), asyncio.Event()

    @video.stage
    async def cut(task: rs.Run) -> None:
        started.set()
        try:
            if task.attempt == 1 and not stopped.is_set():
                await forever()
        except asyncio.CancelledError:
            stopped.set()
            raise

    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], **NO_HEARTBEAT),
    ):
        job = await engine.submit("video")
        await asyncio.wait_for(started.wait(), 300)
        assert await engine.disable("worker", reason="it overheats") == 1
        await asyncio.wait_for(stopped.wait(), 300)
        (task,) = (await engine.tasks(job.id)).items
        assert (task.status, task.attempt) == (TaskStatus.READY, 0)
        await engine.enable("worker")
        assert (await wait_inactive(engine, job.id)).job.status is JobStatus.COMPLETED
