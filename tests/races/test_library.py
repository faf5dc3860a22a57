"""Verbs on videos, uploads and selections of jobs, each interrupted by another between two statements."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import psycopg
import pytest

from reelstate.core.errors import QuotaExceeded, SelectionChanged, TooManyRequests
from reelstate.core.machine import JobStatus
from reelstate.core.model import Submission, Verdict
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.library.model import ExistingVideo
from reelstate.library.uploads import UploadLimits, Uploads
from reelstate.library.videos import Videos
from reelstate.services.operate.operation import Operation, Selection
from reelstate.services.workers import RegisterOptions
from reelstate.stores.store import Row
from tests.engines import FakeClock, a_worker, done, engine_at, failed
from tests.faults.wrapped_store import WrappedStore, wrap_engine

TRANSCODE = Graph.of("transcode", built_in=True, stages=[StageSpec(name="only", attempts=1)])
TWO = UploadLimits(open=2, unused=100, bytes=2**40)


class RunAfter:
    """Runs an action once, right after the first run of a statement."""

    def __init__(self, after: str, do: Callable[[], Awaitable[object]]) -> None:
        self._after, self._do = after, do
        self.done = False
        self.runs: Counter[str] = Counter()

    async def __call__(self, statement: str, run: Callable[[], Awaitable[list[Row]]]) -> list[Row]:
        self.runs[statement] += 1
        rows = await run()
        if statement == self._after and not self.done:
            self.done = True
            await self._do()
        return rows


@pytest.fixture
async def engine(url: str, clock: FakeClock) -> AsyncIterator[Engine]:
    async with engine_at(f"{url}?options=-cdeadlock_timeout%3D200ms", clock, graphs=[TRANSCODE]) as engine:
        yield engine


async def fail_all(engine: Engine, count: int) -> None:
    tasks = (await engine.claim(await a_worker(engine), count)).tasks
    await engine.fail([failed(task, retryable=False) for task in tasks])


async def test_a_job_that_is_tried_again_meanwhile_is_not_among_the_failed(engine: Engine) -> None:
    jobs = [(await engine.submit("transcode")).job_id for _ in range(3)]
    await fail_all(engine, 3)
    interruption = RunAfter("operate_matching", lambda: engine.retry(jobs[1]))
    selection = Selection(statuses=[JobStatus.FAILED], expected=3)
    with pytest.raises(SelectionChanged, match="2 jobs match, not 3"):
        await wrap_engine(engine, interruption).cancel_many(Operation(actor="operator", selection=selection))
    assert interruption.done
    statuses = [(await engine.job(job_id)).job.status for job_id in jobs]
    assert statuses == [JobStatus.FAILED, JobStatus.PENDING, JobStatus.FAILED]


async def test_a_video_whose_job_completes_meanwhile_is_deleted(engine: Engine) -> None:
    answer = await Videos(engine).submit("/videos/a.mp4")
    (task,) = (await engine.claim(await a_worker(engine))).tasks
    interruption = RunAfter("videos_unfinished", lambda: engine.complete([done(task)]))
    assert await Videos(wrap_engine(engine, interruption)).delete(answer.resource_id or 0) is Verdict.OK
    assert interruption.done
    video = (await Videos(engine).get(answer.resource_id or 0)).video
    assert video.deleted_at is not None
    assert (await engine.job(answer.job_id)).job.status is JobStatus.COMPLETED


async def test_versions_of_several_videos_are_added_in_any_order_without_a_deadlock(engine: Engine, url: str) -> None:
    videos = [(await Videos(engine).submit(f"/videos/{name}.mp4")).resource_id or 0 for name in "ab"]

    def versions(of: list[int]) -> list[Submission]:
        return [Submission(pipeline="transcode", spec={}, resource=ExistingVideo(video)) for video in of]

    second: list[asyncio.Task[object]] = []
    other = RunAfter("", asyncio.Event().wait)

    async def interrupt() -> None:
        second.append(asyncio.create_task(wrap_engine(engine, other).submit_many(versions(videos[::-1]))))
        await wait_done_or_blocked(url, second[0])

    interruption = RunAfter("videos_lock", interrupt)
    await wrap_engine(engine, interruption).submit_many(versions(videos))
    await asyncio.gather(*second)
    assert (interruption.runs["submit_ids"], other.runs["submit_ids"]) == (1, 1), "one of them was restarted"
    for video in videos:
        assert len((await Videos(engine).get(video)).versions) == 3


async def test_concurrent_uploads_do_not_exceed_the_limit_of_a_user(engine: Engine, url: str) -> None:
    uploads = Uploads(engine.store, lifetime=60.0, limits=TWO)
    second: list[asyncio.Task[object]] = []

    async def interrupt() -> None:
        second.append(asyncio.create_task(uploads.create(user_id="ada", length=1)))
        await wait_done_or_blocked(url, second[0])
        await uploads.create(user_id="bob", length=1)  # another user does not wait

    await uploads.create(user_id="ada", length=1)
    interrupted = Uploads(WrappedStore(engine.store, RunAfter("uploads_create", interrupt)), lifetime=60.0, limits=TWO)
    await interrupted.create(user_id="ada", length=1)
    with pytest.raises(TooManyRequests):
        await second[0]


async def test_two_uploads_of_unknown_length_do_not_use_the_same_quota(engine: Engine, url: str) -> None:
    limits = UploadLimits(open=2, unused=2, bytes=10)
    uploads = Uploads(engine.store, lifetime=60.0, limits=limits)
    first, other = [await uploads.create(user_id="ada", length=None) for _ in range(2)]
    second: list[asyncio.Task[object]] = []

    async def interrupt() -> None:
        second.append(asyncio.create_task(uploads.receive(other, 6)))
        await wait_done_or_blocked(url, second[0])

    interrupted = Uploads(
        WrappedStore(engine.store, RunAfter("uploads_receive", interrupt)), lifetime=60.0, limits=limits
    )
    await interrupted.receive(first, 6)
    with pytest.raises(QuotaExceeded, match="use 6 of 10 bytes"):
        await second[0]


async def test_instances_that_register_at_once_do_not_exceed_the_limit_of_their_name(engine: Engine, url: str) -> None:
    hello: RegisterOptions = {"hostname": "far", "software": "test", "kind": "remote", "max_instances": 1}
    second: list[asyncio.Task[object]] = []

    async def interrupt() -> None:
        second.append(asyncio.create_task(engine.register("far", **hello)))
        await wait_done_or_blocked(url, second[0])

    await wrap_engine(engine, RunAfter("workers_register", interrupt)).register("far", **hello)
    with pytest.raises(TooManyRequests, match="'far' has 1 live instances"):
        await second[0]


async def test_an_upload_that_receives_bytes_as_it_expires_is_kept(engine: Engine, url: str, clock: FakeClock) -> None:
    uploads = Uploads(engine.store, lifetime=60.0, limits=TWO)
    upload = await uploads.create(user_id="ada", length=2)
    expiring: list[asyncio.Task[list[str]]] = []

    async def interrupt() -> None:
        clock.advance(2)
        expiring.append(asyncio.create_task(uploads.expire()))
        await wait_done_or_blocked(url, expiring[0])

    receiving = Uploads(WrappedStore(engine.store, RunAfter("uploads_receive", interrupt)), lifetime=60.0, limits=TWO)
    clock.advance(59)
    await receiving.receive(upload, 1)
    assert await expiring[0] == []
    assert (await uploads.known([upload.id])) == {upload.id}


async def wait_done_or_blocked(url: str, other: asyncio.Task[Any]) -> None:
    """Wait until the other task is done or waits for a lock."""
    waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as observer:
        while not other.done() and not await (await observer.execute(waiting)).fetchall():
            await asyncio.wait({other}, timeout=0.01)
