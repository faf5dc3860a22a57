"""The publisher under failures: late writers, broken versions, an unreachable storage, leftovers."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from reelstate.artifacts import keys
from reelstate.artifacts.folder import Folder
from reelstate.config import Settings
from reelstate.core.errors import StorageDamaged, StorageMissing
from reelstate.core.machine import JobStatus
from reelstate.core.model import Json, Progress
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.keeper import Keeper
from reelstate.library.publisher import Publisher
from reelstate.library.publishing import remove_versions
from reelstate.library.videos import Videos
from tests.conformance.scenarios import take_one
from tests.engines import a_worker, done, engine_at
from tests.library.local_library import Slow

TRANSCODE = Graph.of(
    "transcode",
    built_in=True,
    stages=[
        StageSpec(name="fetch", phase=JobStatus.DOWNLOADING_INPUTS),
        StageSpec(name="publish", after=("fetch",), phase=JobStatus.UPLOADING_OUTPUTS),
    ],
)
DAY = 86_400.0
SOURCES = ["a" * 64, "b" * 64, "c" * 64, "d" * 64]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with engine_at(f"sqlite:///{tmp_path / 'jobs.db'}", graphs=[TRANSCODE]) as engine:
        yield engine


@pytest.fixture
def storage(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "media")


@pytest.fixture
def publisher(engine: Engine, storage: Folder) -> Publisher:
    return Publisher(engine, storage, keep=DAY)


async def version(engine: Engine, storage: Folder, video: int | None = None) -> tuple[int, int]:
    """Complete a version of a video, or of a new video; return the ids of video and job."""
    made = await (Videos(engine).submit("/video.mp4") if video is None else Videos(engine).retranscode(video))
    await put_playlists(storage, made.job_id)
    await run(engine, 2)
    return made.resource_id or 0, made.job_id


async def run(engine: Engine, tasks: int, result: Json = None) -> None:
    worker = await a_worker(engine)
    for _ in range(tasks):
        await engine.complete([done(await take_one(engine, worker), result)])


async def put_playlists(storage: Folder, job: int) -> None:
    for name in ("master.m3u8", "manifest.mpd"):
        await storage.put_bytes(f"{keys.version(job)}/{name}", f"package/0/1/{job}.m3u8\n".encode())


async def front(storage: Folder, video: int) -> str:
    return (await storage.get_bytes(keys.video(video, "master.m3u8"))).decode()


async def test_a_version_that_can_not_be_published_delays_no_other(
    engine: Engine, storage: Folder, publisher: Publisher
) -> None:
    broken, job = await version(engine, storage)
    good, other = await version(engine, storage)
    await storage.delete(keys.version(job))
    with pytest.raises(StorageMissing, match=f"versions/{job}/master.m3u8"):
        await publisher.publish()
    assert f"versions/{other}/" in await front(storage, good)
    assert publisher._since is not None, "the whole library is not looked through again"
    publisher._since += timedelta(days=1)  # by then the publisher no longer reads changes that old
    with pytest.raises(StorageMissing, match=f"versions/{job}/master.m3u8"):
        await publisher.publish()
    await put_playlists(storage, job)
    assert await publisher.publish() == 1
    assert f"versions/{job}/" in await front(storage, broken)


async def test_live_playlists_are_updated_for_more_jobs_than_a_page(engine: Engine, storage: Folder) -> None:
    publisher = Publisher(engine, storage, keep=0.0, page=2)
    jobs = [(await Videos(engine).submit("/video.mp4")).job_id for _ in range(5)]
    await engine.complete([done(task) for task in (await engine.claim(await a_worker(engine), 5)).tasks])
    assert sorted(job.id for job in await publisher._running()) == jobs


class Stubborn(Folder):
    """A folder that can't delete one of its folders."""

    stuck = ""

    async def delete(self, prefix: str) -> int:
        if prefix == self.stuck:
            raise StorageDamaged(f"{prefix} can't be deleted")
        return await super().delete(prefix)


async def test_a_version_that_can_not_be_deleted_delays_no_other(engine: Engine, storage: Folder) -> None:
    video, first = await version(engine, storage)
    _, second = await version(engine, storage, video)
    await version(engine, storage, video)
    stubborn = Stubborn(storage.root)
    stubborn.stuck = keys.version(first)
    publisher = Publisher(engine, stubborn, keep=0.0)
    with pytest.raises(StorageDamaged, match=f"versions/{first} can't be deleted"):
        await publisher.sweep()
    assert await storage.folders(keys.version(second)) == ()
    assert await remove_versions(engine.store, keep=0.0) == [first], "the other is noted as gone"
    stubborn.stuck = ""
    assert await publisher.sweep() > 0
    assert await remove_versions(engine.store, keep=0.0) == []


async def test_one_sweep_removes_more_superseded_versions_than_a_page(engine: Engine, storage: Folder) -> None:
    video, first = await version(engine, storage)
    jobs = [first, *[(await version(engine, storage, video))[1] for _ in range(4)]]
    await Publisher(engine, storage, keep=0.0, page=2).sweep()
    assert await storage.folders(keys.VERSIONS) == (str(jobs[-1]),)


async def test_a_late_writer_does_not_publish_an_old_version(
    engine: Engine, storage: Folder, publisher: Publisher
) -> None:
    video, _ = await version(engine, storage)
    slow = Slow(storage.root, keys.video(video, "master.m3u8"))
    late = asyncio.create_task(Publisher(engine, slow, keep=DAY).publish())
    await slow.asked.wait()
    _, second = await version(engine, storage, video)
    assert await publisher.publish() == 1
    slow.may.set()
    await late
    assert f"versions/{second}/" in await front(storage, video)
    assert await publisher.publish() == 0


class Ear(logging.Handler):
    """Waits for log lines."""

    def __init__(self) -> None:
        super().__init__()
        self._said: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self._said.put_nowait(record.getMessage())

    async def hears(self, words: str) -> None:
        async with asyncio.timeout(300):
            while words not in await self._said.get():
                pass


async def test_an_unreachable_storage_does_not_end_the_keeper(
    engine: Engine, storage: Folder, publisher: Publisher
) -> None:
    video, job = await version(engine, storage)
    moved = storage.root.rename(storage.root.with_name("moved"))
    storage.root.write_text("no folder")
    logging.getLogger("reelstate.keeper").addHandler(ear := Ear())
    keeping = asyncio.create_task(Keeper(engine, Settings(sweep_every=0.01), publisher.duties()).run())
    try:
        await ear.hears("duty failed duty=publish")
        storage.root.unlink()
        moved.rename(storage.root)
        await ear.hears("duty recovered duty=publish")
        assert not keeping.done()
    finally:
        logging.getLogger("reelstate.keeper").removeHandler(ear)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    assert f"versions/{job}/" in await front(storage, video)


async def test_only_sources_that_no_job_may_read_again_are_swept(
    engine: Engine, storage: Folder, publisher: Publisher
) -> None:
    fetched, fetching, completed, fresh = SOURCES
    for source in SOURCES:
        await storage.put_bytes(keys.source(source), b"video")
    age(storage, fetched, fetching, completed)
    await Videos(engine).submit("/video.mp4")
    await run(engine, 2, {"source": completed})
    await Videos(engine).submit("/video.mp4")
    await run(engine, 1, {"source": fetched})
    await Videos(engine).submit("/video.mp4", priority=9)
    task = await take_one(engine, worker := await a_worker(engine))
    await engine.report(worker, [Progress(key=task.key, token=task.token, checkpoint={"source": fetching})])
    await publisher.sweep()
    left = {found.key async for found in storage.list(keys.SOURCES)}
    assert left == {keys.source(each) for each in (fetched, fetching, fresh)}


async def test_no_source_is_swept_from_a_storage_shared_with_another_database(
    storage: Folder, publisher: Publisher
) -> None:
    await storage.put_bytes(keys.source(SOURCES[0]), b"video")
    age(storage, SOURCES[0])
    await storage.put_bytes("versions/7/encode/0/1/180p.mp4", b"theirs")
    await publisher.sweep()
    assert await storage.exists(keys.source(SOURCES[0]))
    assert await storage.exists("versions/7/encode/0/1/180p.mp4")
    await storage.delete("versions/7")
    assert await publisher.sweep() == 1
    assert not await storage.exists(keys.source(SOURCES[0]))


def age(storage: Folder, *sources: str) -> None:
    for source in sources:
        then = time.time() - 2 * timedelta(days=1).total_seconds()
        os.utime(storage.root / keys.source(source), (then, then))


async def test_files_of_stopped_runs_are_swept_after_every_retry(engine: Engine, storage: Folder) -> None:
    publisher = Publisher(engine, storage, keep=0)
    job = (await Videos(engine).submit("/video.mp4")).job_id
    for token in (1, 2, 3):
        assert (await take_one(engine, await a_worker(engine))).token == token
        await storage.put_bytes(keys.made(job, "fetch", 0, token, "file"), b"video")
        await engine.force(job, JobStatus.FAILED, reason="stopped")
        assert await publisher.sweep() == (0 if token == 1 else 1)
        assert {found.key async for found in storage.list(keys.version(job))} == {
            keys.made(job, "fetch", 0, token, "file")
        }
        await engine.retry(job, reason="again")
