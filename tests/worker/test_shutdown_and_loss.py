"""However a worker or one of its runs ends, no lease is renewed any more and no slot stays occupied."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from types import MethodType
from typing import Any

import pytest

import reelstate as rs
from reelstate.app import open_engine, worker_for
from reelstate.core.errors import CorruptState, WorkerRefused, WorkerUnknown
from reelstate.core.machine import JobStatus, WorkerStatus
from reelstate.core.model import Claim, Completion, Progress, Report, Verdict
from reelstate.engine import Engine
from reelstate.worker.heartbeat import HeartbeatAnswer
from reelstate.worker.loop import WorkerLoop
from tests.waiting import forever, until
from tests.worker.local_workers import QUICK, count_leased, engine_for, run_worker, wait_inactive


class Link:
    """A link to the engine whose methods a test overrides."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


class HeartbeatLink:
    """The same link over another engine, for the heartbeat, which has its own loop."""

    def __init__(self, link: Any, engine: Engine) -> None:
        vars(self).update(_link=link, _engine=engine)

    def __getattr__(self, name: str) -> Any:
        if name in vars(type(self._link)):
            found = vars(type(self._link))[name]
            return MethodType(found, self) if callable(found) else found
        return vars(self._link).get(name) if name in vars(self._link) else getattr(self._engine, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._link, name, value)


def worker_over(link: Any, engine: Engine, url: str, video: rs.Pipeline) -> WorkerLoop:
    """Return a worker that uses this link."""

    @asynccontextmanager
    async def connect() -> Any:
        if url.startswith("sqlite:"):
            yield link
            return
        async with engine_for(url) as own:  # an engine on PostgreSQL belongs to one loop
            yield HeartbeatLink(link, own)

    worker = worker_for(engine, [video], replace(QUICK, database_url=url))
    worker._link = worker._outbox._link = link
    worker._connect = connect
    return worker


WAITING = "waiting for tasks"
"""A line of the log when the shutdown of a worker has begun."""


def waiting_pipeline() -> tuple[rs.Pipeline, asyncio.Event]:
    video, started = rs.Pipeline("video"), asyncio.Event()

    @video.stage(lease=2)
    async def cut(task: rs.Run) -> None:
        started.set()
        await forever()

    return video, started


async def submit_and_wait(url: str, video: rs.Pipeline, **settings: Any) -> None:
    async with open_engine(
        url, pipelines=[video], workers=1, settings=replace(QUICK, database_url=url, **settings)
    ) as engine:
        await engine.submit("video")
        await forever()


async def test_a_program_that_is_cancelled_twice_does_not_wait_for_the_grace_and_leaves_no_lease(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "reelstate.worker")
    video, started = waiting_pipeline()
    body = asyncio.create_task(submit_and_wait(database_url, video, worker_grace=600.0))
    await started.wait()
    body.cancel()
    await until(lambda: WAITING in caplog.text)
    body.cancel()
    done, _ = await asyncio.wait([body], timeout=300)
    assert body in done
    assert body.cancelled()
    async with engine_for(database_url, video) as engine:
        assert await count_leased(engine) == 0


async def test_a_worker_that_is_cancelled_during_its_shutdown_renews_and_runs_nothing(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "reelstate.worker")
    video, started = waiting_pipeline()
    before = set(threading.enumerate())
    async with engine_for(database_url, video) as engine:
        worker = worker_for(engine, [video], replace(QUICK, database_url=database_url, worker_grace=600.0))
        running = asyncio.create_task(worker.run())
        await engine.submit("video")
        await started.wait()
        running.cancel()
        await until(lambda: WAITING in caplog.text)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, 300)
        await until(lambda: not [each for each in set(threading.enumerate()) - before if "heartbeat" in each.name])
        await until(lambda: worker.running == 0)


async def test_a_report_that_fails_does_not_hold_up_results(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage
    async def cut(task: rs.Run) -> str:
        task.log("cutting")
        return "cut"

    class FailingReports(Link):
        dropped = 0

        async def report(self, worker_id: int, items: Sequence[Progress] = (), stuck: int | None = None) -> Report:
            if any(item.logs for item in items):
                self.dropped += 1
                raise RuntimeError("unexpected")
            return await self._engine.report(worker_id, items, stuck)

    async with engine_for(database_url, video) as engine:
        link = FailingReports(engine)
        worker = worker_over(link, engine, database_url, video)
        running = asyncio.create_task(worker.run())
        job = await engine.submit("video")
        assert (await wait_inactive(engine, job.id)).outputs == {"cut": "cut"}
        assert link.dropped == 1
        worker.stop()
        await running


async def test_a_worker_that_becomes_unknown_while_it_reports_registers_again(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage
    async def cut(task: rs.Run) -> str:
        task.log("cutting")
        return "cut"

    class UnknownOnce(Link):
        refused = False

        async def report(self, worker_id: int, items: Sequence[Progress] = (), stuck: int | None = None) -> Report:
            if any(item.logs for item in items) and not self.refused:
                self.refused = True
                raise WorkerUnknown(worker_id)
            return await self._engine.report(worker_id, items, stuck)

    async with engine_for(database_url, video) as engine:
        link = UnknownOnce(engine)
        worker = worker_over(link, engine, database_url, video)
        running = asyncio.create_task(worker.run())
        job = await engine.submit("video")
        assert (await wait_inactive(engine, job.id)).outputs == {"cut": "cut"}
        assert link.refused
        worker.stop()
        await asyncio.wait_for(running, 300)


async def test_a_run_that_is_stopped_before_its_first_step_frees_its_slot_at_once(database_url: str) -> None:
    video = rs.Pipeline("video")
    ran: list[str] = []
    video.stage(name="cut")(lambda task: ran.append(task.spec))
    # One that waited for the handler to end would wait for an hour.
    slow_kill = {"kill_after": 3600.0}
    async with (
        engine_for(database_url, video) as engine,
        run_worker(engine, database_url, [video], timings=slow_kill) as worker,
    ):
        other = await engine.register("other", hostname="here", software="0", pipelines=["video"])
        await engine.drain("worker")
        await until(lambda: worker._draining)
        await engine.submit("video", "stopped")
        (task,) = (await engine.claim(other, 1)).tasks
        await worker._accept([task])
        worker._on_heartbeat(HeartbeatAnswer([((task.key, task.token), Verdict.LOST)], drain=True))
        await until(lambda: worker.running == 0)
        assert ran == []


async def test_a_worker_whose_name_was_disabled_when_it_must_register_again_ends(database_url: str) -> None:
    video = rs.Pipeline("video")
    video.stage(name="cut")(lambda task: None)
    async with engine_for(database_url, video) as engine:
        worker = worker_for(engine, [video], replace(QUICK, database_url=database_url, worker_name="worker"))
        running = asyncio.create_task(worker.run())
        await worker.registered.wait()
        await engine.disable("worker")
        worker._on_unknown()
        with pytest.raises(WorkerRefused):
            await asyncio.wait_for(running, 300)


async def test_tasks_claimed_during_the_shutdown_are_released(database_url: str) -> None:
    video = rs.Pipeline("video")
    started, go, answered = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @video.stage
    async def cut(task: rs.Run) -> None:
        if task.spec == "long":
            started.set()
            await go.wait()

    class SlowClaims(Link):
        slow = asyncio.Event()

        async def claim(self, worker_id: int, limit: int = 1, **options: Any) -> Claim:
            claim = await self._engine.claim(worker_id, limit, **options)
            if "late" in [task.spec for task in claim.tasks]:
                self.slow.set()
                await asyncio.sleep(2.5)  # longer than the shutdown timeout
                answered.set()
            return claim

    async with engine_for(database_url, video) as engine:
        link = SlowClaims(engine)
        worker = worker_over(link, engine, database_url, video)
        worker.settings = replace(worker.settings, shutdown_timeout=2.0)
        worker._pace.record_run(("video", "cut"), 0.001)
        running = asyncio.create_task(worker.run())
        await engine.submit("video", "long")
        await started.wait()
        late = await engine.submit("video", "late")
        await link.slow.wait()
        worker.stop()
        await answered.wait()
        go.set()
        await asyncio.wait_for(running, 300)
        (task,) = (await engine.tasks(late.id)).items
        assert (task.status, task.attempt) == ("ready", 0)


async def test_a_worker_that_yields_to_an_isolated_task_continues_when_another_claimed_it(database_url: str) -> None:
    video = rs.Pipeline("video")
    started, go = asyncio.Event(), asyncio.Event()

    @video.stage(lease=1, isolate_after=1)
    async def cut(task: rs.Run) -> None:
        if task.spec == "long":
            started.set()
            await go.wait()

    async with engine_for(database_url, video) as engine:
        ghost = await engine.register("ghost", hostname="gone", software="0")
        await engine.submit("video", "isolated")
        await engine.claim(ghost, 1)
        timings = {"isolated_task_wait": (0.0, 0.0)}
        async with run_worker(engine, database_url, [video], timings=timings) as worker:
            await engine.submit("video", "long")
            await started.wait()
            await until(lambda: _reclaimed(engine))
            await until(worker._must_yield)
            other = await engine.register("other", hostname="here", software="0")
            (isolated,) = (await engine.claim(other, 1)).tasks
            assert isolated.spec == "isolated"
            job = await engine.submit("video", "short")
            assert (await wait_inactive(engine, job.id, 5)).job.status is JobStatus.COMPLETED
            go.set()


async def _reclaimed(engine: Engine) -> bool:
    return (await engine.reclaim()).ready == 1


async def test_the_refusal_of_a_worker_inside_a_program_is_logged_at_once(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    video, _ = waiting_pipeline()
    async with engine_for(database_url, video) as engine:
        known = await engine.register("disabled", hostname="here", software="0")
        await engine.move_worker(known, WorkerStatus.OFFLINE, actor="worker")
        await engine.disable("disabled")
    settings = replace(QUICK, database_url=database_url, worker_name="disabled")
    with pytest.raises(WorkerRefused):
        async with open_engine(database_url, pipelines=[video], workers=1, settings=settings):
            await until(lambda: "worker stopped error=" in caplog.text)


async def test_a_worker_that_is_stopped_does_not_wait_for_an_unreachable_store(database_url: str) -> None:
    video, _ = waiting_pipeline()

    class Unreachable(Link):
        called = asyncio.Event()

        async def register(self, *_: Any, **__: Any) -> int:
            self.called.set()
            await forever()

    async with engine_for(database_url, video) as engine:
        link = Unreachable(engine)
        worker = worker_over(link, engine, database_url, video)
        running = asyncio.create_task(worker.run())
        await link.called.wait()
        worker.stop()
        await asyncio.wait_for(running, 300)
        assert worker.id is None


async def test_a_result_that_the_store_always_refuses_does_not_hold_up_the_others(database_url: str) -> None:
    video = rs.Pipeline("video")

    @video.stage
    async def cut(task: rs.Run) -> Any:
        return task.spec

    class RefusingBad(Link):
        async def complete(self, items: Sequence[Completion]) -> list[Verdict]:
            if any(item.result == "bad" for item in items):
                raise CorruptState("a counter is over its total", hint="for the test")
            return await self._engine.complete(items)

    async with engine_for(database_url, video) as engine:
        bad, good = [await engine.submit("video", spec) for spec in ("bad", "good")]
        worker = worker_over(RefusingBad(engine), engine, database_url, video)
        running = asyncio.create_task(worker.run())
        assert (await wait_inactive(engine, good.id)).outputs == {"cut": "good"}
        await until(lambda: not worker._ledger)
        assert (await engine.job(bad.id)).job.status is JobStatus.PROCESSING
        worker.stop()
        await asyncio.wait_for(running, 300)
