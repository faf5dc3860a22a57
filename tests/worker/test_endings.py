"""However a worker or a run of it ends, no lease is renewed for nobody and no slot stays taken."""

import asyncio
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
from tests.worker.local_workers import QUICK, count_leased, engine_for, run_worker, until, wait_inactive


class Link:
    """A link to the engine, made worse by a test."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


class Twin:
    """The same link, over an engine of its own: for the heartbeat, which has another loop."""

    def __init__(self, link: Any, engine: Engine) -> None:
        vars(self).update(_link=link, _engine=engine)

    def __getattr__(self, name: str) -> Any:
        if name in vars(type(self._link)):
            found = vars(type(self._link))[name]
            return MethodType(found, self) if callable(found) else found
        return vars(self._link).get(name) if name in vars(self._link) else getattr(self._engine, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._link, name, value)


def over(link: Any, engine: Engine, url: str, film: rs.Pipeline) -> WorkerLoop:
    """A worker that speaks over this link."""

    @asynccontextmanager
    async def connect() -> Any:
        if url.startswith("sqlite:"):
            yield link
            return
        async with engine_for(url) as own:  # an engine on PostgreSQL belongs to one loop
            yield Twin(link, own)

    worker = worker_for(engine, [film], replace(QUICK, database_url=url))
    worker._link = worker._outbox._link = link
    worker._connect = connect
    return worker


def patient_film() -> tuple[rs.Pipeline, asyncio.Event]:
    film, started = rs.Pipeline("film"), asyncio.Event()

    @film.stage(lease=2)
    async def cut(task: rs.Run) -> None:
        started.set()
        await asyncio.sleep(1000)

    return film, started


async def opened_until_cancelled(url: str, film: rs.Pipeline, **settings: Any) -> None:
    async with open_engine(
        url, pipelines=[film], workers=1, settings=replace(QUICK, database_url=url, **settings)
    ) as engine:
        await engine.submit("film")
        await asyncio.sleep(1000)


async def test_a_body_that_is_cancelled_twice_does_not_wait_for_the_grace_and_leaves_no_lease(
    database_url: str,
) -> None:
    film, started = patient_film()
    body = asyncio.create_task(opened_until_cancelled(database_url, film, worker_grace=600.0))
    await started.wait()
    body.cancel()
    await asyncio.sleep(0.1)
    body.cancel()
    done, _ = await asyncio.wait([body], timeout=300)
    assert body in done
    assert body.cancelled()
    async with engine_for(database_url, film) as engine:
        assert await count_leased(engine) == 0


async def test_a_worker_that_is_cancelled_while_it_ends_renews_nothing_and_runs_nothing(database_url: str) -> None:
    film, started = patient_film()
    before = set(threading.enumerate())
    async with engine_for(database_url, film) as engine:
        worker = worker_for(engine, [film], replace(QUICK, database_url=database_url, worker_grace=600.0))
        running = asyncio.create_task(worker.run())
        await engine.submit("film")
        await started.wait()
        for _ in range(2):
            running.cancel()
            await asyncio.sleep(0.1)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, 300)
        await until(lambda: not [each for each in set(threading.enumerate()) - before if "heartbeat" in each.name])
        await until(lambda: worker.running == 0)


async def test_words_that_fail_on_their_way_do_not_hold_up_results(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage
    async def cut(task: rs.Run) -> str:
        task.log("cutting")
        return "cut"

    class Clumsy(Link):
        dropped = 0

        async def report(self, worker_id: int, items: Sequence[Progress] = (), stuck: int | None = None) -> Report:
            if any(item.logs for item in items):
                self.dropped += 1
                raise RuntimeError("nobody thought of this")
            return await self._engine.report(worker_id, items, stuck)

    async with engine_for(database_url, film) as engine:
        link = Clumsy(engine)
        worker = over(link, engine, database_url, film)
        running = asyncio.create_task(worker.run())
        job = await engine.submit("film")
        assert (await wait_inactive(engine, job.id)).outputs == {"cut": "cut"}
        assert link.dropped == 1
        worker.stop()
        await running


async def test_a_worker_that_is_forgotten_while_its_words_are_on_their_way_goes_on(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage
    async def cut(task: rs.Run) -> str:
        task.log("cutting")
        return "cut"

    class Forgetful(Link):
        forgotten = False

        async def report(self, worker_id: int, items: Sequence[Progress] = (), stuck: int | None = None) -> Report:
            if any(item.logs for item in items) and not self.forgotten:
                self.forgotten = True
                raise WorkerUnknown(worker_id)
            return await self._engine.report(worker_id, items, stuck)

    async with engine_for(database_url, film) as engine:
        link = Forgetful(engine)
        worker = over(link, engine, database_url, film)
        running = asyncio.create_task(worker.run())
        job = await engine.submit("film")
        assert (await wait_inactive(engine, job.id)).outputs == {"cut": "cut"}
        assert link.forgotten
        worker.stop()
        await asyncio.wait_for(running, 300)


async def test_a_run_that_is_stopped_before_its_first_step_frees_its_slot_at_once(database_url: str) -> None:
    film = rs.Pipeline("film")
    ran: list[str] = []
    film.stage(name="cut")(lambda task: ran.append(task.spec))
    async with engine_for(database_url, film) as engine, run_worker(engine, database_url, [film]) as worker:
        other = await engine.register("other", hostname="here", software="0", pipelines=["film"])
        await engine.drain("worker")
        await until(lambda: worker._draining)
        await engine.submit("film", "stopped")
        (task,) = (await engine.claim(other, 1)).tasks
        await worker._take([task])
        worker._heed(HeartbeatAnswer([((task.key, task.token), Verdict.LOST)], drain=True))
        await asyncio.sleep(0.1)
        assert (worker.running, ran) == (0, [])


async def test_a_worker_whose_name_was_disabled_when_it_must_register_again_ends(database_url: str) -> None:
    film = rs.Pipeline("film")
    film.stage(name="cut")(lambda task: None)
    async with engine_for(database_url, film) as engine:
        worker = worker_for(engine, [film], replace(QUICK, database_url=database_url, worker_name="worker"))
        running = asyncio.create_task(worker.run())
        await worker.registered.wait()
        await engine.disable("worker")
        worker._forgotten()
        with pytest.raises(WorkerRefused):
            await asyncio.wait_for(running, 300)


async def test_what_a_claim_brings_while_the_worker_winds_down_is_given_back(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reelstate.worker.loop.SHUTDOWN_TIMEOUT", 2.0)
    film = rs.Pipeline("film")
    started, go, answered = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @film.stage
    async def cut(task: rs.Run) -> None:
        if task.spec == "long":
            started.set()
            await go.wait()

    class Slow(Link):
        slow = asyncio.Event()

        async def claim(self, worker_id: int, limit: int = 1, **options: Any) -> Claim:
            claim = await self._engine.claim(worker_id, limit, **options)
            if "late" in [task.spec for task in claim.tasks]:
                self.slow.set()
                await asyncio.sleep(2.5)
                answered.set()
            return claim

    async with engine_for(database_url, film) as engine:
        link = Slow(engine)
        worker = over(link, engine, database_url, film)
        worker._pace.ran(("film", "cut"), 0.001)
        running = asyncio.create_task(worker.run())
        await engine.submit("film", "long")
        await started.wait()
        late = await engine.submit("film", "late")
        await link.slow.wait()
        worker.stop()
        await answered.wait()
        go.set()
        await asyncio.wait_for(running, 300)
        (task,) = (await engine.tasks(late.id)).items
        assert (task.status, task.attempt) == ("ready", 0)


async def test_a_worker_that_emptied_itself_for_a_suspect_goes_on_when_another_took_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reelstate.worker.loop.ISOLATED_TASK_WAIT", (0.0, 0.0))
    film = rs.Pipeline("film")
    started, go = asyncio.Event(), asyncio.Event()

    @film.stage(lease=1, isolate_after=1)
    async def cut(task: rs.Run) -> None:
        if task.spec == "long":
            started.set()
            await go.wait()

    async with engine_for(database_url, film) as engine:
        ghost = await engine.register("ghost", hostname="gone", software="0")
        await engine.submit("film", "suspect")
        await engine.claim(ghost, 1)
        async with run_worker(engine, database_url, [film]) as worker:
            await engine.submit("film", "long")
            await started.wait()
            await until(lambda: _reclaimed(engine))
            await until(worker._yields)
            other = await engine.register("other", hostname="here", software="0")
            (suspect,) = (await engine.claim(other, 1)).tasks
            assert suspect.spec == "suspect"
            job = await engine.submit("film", "short")
            assert (await wait_inactive(engine, job.id, 5)).job.status is JobStatus.COMPLETED
            go.set()


async def _reclaimed(engine: Engine) -> bool:
    return (await engine.reclaim()).ready == 1


async def test_a_worker_that_is_refused_beside_other_work_is_told_at_once(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    film, _ = patient_film()
    async with engine_for(database_url, film) as engine:
        known = await engine.register("lonely", hostname="here", software="0")
        await engine.move_worker(known, WorkerStatus.OFFLINE, actor="worker")
        await engine.disable("lonely")
    settings = replace(QUICK, database_url=database_url, worker_name="lonely")
    with pytest.raises(WorkerRefused):
        async with open_engine(database_url, pipelines=[film], workers=1, settings=settings):
            await until(lambda: "runs nothing more" in caplog.text)


async def test_a_worker_that_is_told_to_stop_does_not_wait_for_a_store_that_is_away(database_url: str) -> None:
    film, _ = patient_film()

    class Away(Link):
        asked = asyncio.Event()

        async def register(self, *_: Any, **__: Any) -> int:
            self.asked.set()
            await asyncio.sleep(1000)
            return 0

    async with engine_for(database_url, film) as engine:
        link = Away(engine)
        worker = over(link, engine, database_url, film)
        running = asyncio.create_task(worker.run())
        await link.asked.wait()
        worker.stop()
        await asyncio.wait_for(running, 300)
        assert worker.id is None


async def test_a_result_that_the_store_refuses_for_ever_does_not_hold_up_the_others(database_url: str) -> None:
    film = rs.Pipeline("film")

    @film.stage
    async def cut(task: rs.Run) -> Any:
        return task.spec

    class Guarded(Link):
        async def complete(self, items: Sequence[Completion]) -> list[Verdict]:
            if any(item.result == "bad" for item in items):
                raise CorruptState("a counter is over its total", hint="for the test")
            return await self._engine.complete(items)

    async with engine_for(database_url, film) as engine:
        bad, good = [await engine.submit("film", spec) for spec in ("bad", "good")]
        worker = over(Guarded(engine), engine, database_url, film)
        running = asyncio.create_task(worker.run())
        assert (await wait_inactive(engine, good.id)).outputs == {"cut": "good"}
        await until(lambda: not worker._ledger)
        assert (await engine.job(bad.id)).job.status is JobStatus.PROCESSING
        worker.stop()
        await asyncio.wait_for(running, 300)
