"""A library in this process: workers, a publisher whose duties the test calls, and readers of streams."""

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reelstate.app import built_in_pipelines, open_engine, worker_for
from reelstate.artifacts.folder import Folder
from reelstate.artifacts.storage import Storage, open_storage
from reelstate.artifacts.stored import Stored
from reelstate.config import Settings
from reelstate.core.machine import JobStatus
from reelstate.core.model import Job, JobDetail, Submitted
from reelstate.core.policy import Backoff
from reelstate.engine import Engine
from reelstate.keeper import Keeper
from reelstate.library.publisher import Publisher
from reelstate.library.videos import Videos
from reelstate.media.formats.hls import resolve_uri
from reelstate.pipelines.declaration import Pipeline
from reelstate.worker.run import Run
from tests.media.source_videos import profile

Json = Any
TIMEOUT = 300.0
_URI = re.compile(r'URI="([^"]*)"')


class Gate:
    """Limits how many chunks are encoded."""

    def __init__(self) -> None:
        self._permits = asyncio.Semaphore(0)

    def open(self, count: int = 1) -> None:
        for _ in range(count):
            self._permits.release()

    def guarded(self, handler: Callable[[Run], Awaitable[Json]]) -> Callable[[Run], Awaitable[Json]]:
        async def encode(task: Run) -> Json:
            await self._permits.acquire()
            return await handler(task)

        return encode


class Slow(Folder):
    """A folder that writes one of its files when the test allows it."""

    def __init__(self, root: Path, key: str) -> None:
        super().__init__(root)
        self._key = key
        self.asked, self.may = asyncio.Event(), asyncio.Event()

    async def replace_bytes(self, key: str, data: bytes) -> Stored:
        if key == self._key:
            self.asked.set()
            await self.may.wait()
        return await super().replace_bytes(key, data)


@dataclass
class Library:
    engine: Engine
    storage: Storage
    publisher: Publisher
    later: timedelta = field(default_factory=timedelta)
    """How far the publisher's clock is ahead."""

    async def submit(self, source: Path | str, **spec: Json) -> Submitted:
        return await Videos(self.engine).submit(str(source), spec={"profile": profile(), **spec})

    async def made(self, source: Path | str, **spec: Json) -> Job:
        """Submit a video; return its first job when it is completed and published."""
        job = await self.completed((await self.submit(source, **spec)).job_id)
        await self.publisher.publish()
        return job

    async def remade(self, video_id: int, **spec: Json) -> JobDetail:
        """Retranscode a video; return the job when it is inactive."""
        return await self.rests((await Videos(self.engine).retranscode(video_id, spec=spec)).job_id)

    async def rests(self, job_id: int) -> JobDetail:
        return await self.engine.wait(job_id, timeout=TIMEOUT)

    async def completed(self, job_id: int) -> Job:
        detail = await self.rests(job_id)
        assert detail.job.status is JobStatus.COMPLETED, detail.job.error
        return detail.job

    async def files(self, prefix: str) -> set[str]:
        return {found.key async for found in self.storage.list(prefix)}

    async def text(self, key: str) -> str:
        return (await self.storage.get_bytes(key)).decode()


@asynccontextmanager
async def library(
    folder: Path, *, gate: Gate | None = None, keep: float = 0.0, backoff: float | None = None, **settings: Any
) -> AsyncIterator[Library]:
    """A library in a folder, or in the storage at `storage_url`, with a worker for two tasks and a keeper."""
    given = {"storage_url": str(folder / "media"), "scratch": str(folder / "scratch"), "encode_threads": 1}
    chosen = Settings(
        database_url=f"sqlite:///{folder / 'library.db'}", **{"worker_concurrency": 2, **given, **settings}
    )
    pipelines = [changed(each, gate, backoff) for each in built_in_pipelines(chosen)]
    async with open_engine(chosen.database_url, pipelines=pipelines, settings=chosen) as engine:
        storage = open_storage(chosen.storage_url)
        publisher = Publisher(engine, storage, keep=keep, clock=lambda: datetime.now(UTC) + made.later)
        made = Library(engine, storage, publisher)
        async with working(engine, pipelines, chosen):
            keeping = asyncio.create_task(Keeper(engine, Settings(orchestrate_every=0.1)).run())
            try:
                yield made
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)


@asynccontextmanager
async def working(engine: Engine, pipelines: list[Pipeline], settings: Settings) -> AsyncIterator[None]:
    worker = worker_for(engine, pipelines, settings)
    running = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        worker.stop()
        await running


def changed(pipeline: Pipeline, gate: Gate | None, backoff: float | None) -> Pipeline:
    """Return the pipeline with a gate before its encodes, or with another backoff."""
    made = Pipeline(pipeline.name, built_in=True)
    for spec in pipeline.graph.stages:
        handler = pipeline.handlers[spec.name].call
        options = {each.name: getattr(spec, each.name) for each in dataclasses.fields(spec)}
        if backoff is not None:
            options["backoff"] = Backoff(backoff, backoff)
        made.stage(**options)(gate.guarded(handler) if gate and spec.name == "encode" else handler)
    return made


def links(text: str, key: str) -> list[str]:
    """Return the keys of the files that a playlist names."""
    lines = text.splitlines()
    named = [found for line in lines if line.startswith("#") for found in _URI.findall(line)]
    return [resolve_uri(key, uri) for uri in (*named, *(line for line in lines if line and not line.startswith("#")))]


async def read_whole(storage: Storage, key: str) -> int:
    """Read every playlist and every file of a stream; return their number."""
    count = 0
    for link in dict.fromkeys(links((await storage.get_bytes(key)).decode(), key)):
        if link.endswith(".m3u8"):
            count += await read_whole(storage, link)
        else:
            assert await storage.get_bytes(link)
            count += 1
    return count + 1


async def encoded(engine: Engine, job_id: int, chunks: int) -> None:
    """Wait until this many chunks and the audio of a job are encoded."""
    async with asyncio.timeout(TIMEOUT):
        async for _ in engine.watch(job_id):
            done = {stage.name: (stage.done, stage.total) for stage in (await engine.job(job_id)).stages}
            if done["fetch"][0] and done["encode"][0] == chunks and done["audio"][0] == done["audio"][1]:
                return


def front(video_id: int) -> str:
    return f"videos/{video_id}/master.m3u8"
