"""The library's duties: what the public place of each video shows, how far a stream has grown, and what is thrown away.

The store says which version plays; files at public places only follow it. So a duty that is done late, or twice, or by
two at once, shows a version a moment too long, and never a wrong one for good.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from reelstate.artifacts import keys
from reelstate.artifacts.storage import Storage
from reelstate.artifacts.sweep import sweep_job, sweep_sources, sweep_versions
from reelstate.core.errors import NotFound, StorageUnavailable, StoreUnavailable
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Job, JobDetail, Task
from reelstate.engine import Engine
from reelstate.keeper import Duty
from reelstate.library.publishing import (
    UnpublishedVersion,
    load_unpublished,
    mark_published,
    mark_swept,
    needed_sources,
    remove_versions,
)
from reelstate.library.videos import Videos
from reelstate.media import TRANSCODE
from reelstate.media.formats.relocate import relocate
from reelstate.media.packaging.init_segments import read_headers
from reelstate.media.packaging.manifest import DASH, MASTER
from reelstate.media.packaging.package import StreamContents, growing
from reelstate.media.planning.quality import ENCODE
from reelstate.media.results import Encoded, Fetched, MadeAudio

logger = logging.getLogger("reelstate.library")

PUBLISH_EVERY: Final = 1.0
GROW_EVERY: Final = 1.0
LEISURE: Final = 10
"""How often longer than it took over a second, the playlists of a long film are not written again."""
SWEEP_EVERY: Final = 600.0
PAGE: Final = 500
LIVE: Final = "live"
"""The folder of a video in which a stream grows that is not finished."""
LINGER: Final = timedelta(hours=1)
"""How long whoever began to watch while a stream grew finds its playlists after the job has come to rest."""
TRIES: Final = 3
"""How often a public place is written again because somebody else has written there too."""

Json = Any
T = TypeVar("T")


def _now() -> datetime:
    return datetime.now(UTC)


class Publisher:
    def __init__(self, engine: Engine, storage: Storage, *, keep: float, clock: Callable[[], datetime] = _now) -> None:
        self._engine = engine
        self._store = engine.store
        self._videos = Videos(engine)
        self._storage = storage
        self._keep = keep
        self._clock = clock
        self._since: datetime | None = None
        self._waiting: dict[int, UnpublishedVersion] = {}
        """Videos whose public place is still to be written: one that can't be is no reason to look at all again."""
        self._grown: dict[int, int] = {}
        """How many chunks were done when the playlists of a running job were written."""
        self._rests: dict[int, float] = {}
        """Until when those that take long to write are left alone."""
        self._swept: set[int] = set()

    def duties(self) -> tuple[Duty, ...]:
        return (
            Duty("publish", PUBLISH_EVERY, self.publish),
            Duty("grow", GROW_EVERY, self.grow),
            Duty("sweep files", SWEEP_EVERY, self.sweep),
        )

    async def publish(self) -> int:
        """Bring public places up to date; gives how many."""
        shown = 0
        while True:
            now, found = await load_unpublished(self._store, self._since, limit=PAGE)
            self._waiting |= {video.video_id: video for video in found}
            if len(found) < PAGE:
                self._since = now
            shown += await _for_each(list(self._waiting.values()), self._show)
            if len(found) < PAGE:
                return shown

    async def _show(self, video: UnpublishedVersion) -> bool:
        """Have the public place of a video show the version that plays, whoever else writes there meanwhile."""
        for _ in range(TRIES):
            await self._lead(video)
            if await mark_published(self._store, video):
                self._waiting.pop(video.video_id, None)
                logger.info(
                    "video %d plays %s", video.video_id, f"version {video.current}" if video.current else "no more"
                )
                return True
            # Somebody has shown another version, and what we have written may lie over it.
            video = await self._playing(video.video_id)
        return False

    async def _playing(self, video_id: int) -> UnpublishedVersion:
        """The version that plays, as if its public place showed it."""
        video = (await self._videos.get(video_id)).video
        current = video.current if video.deleted_at is None else None
        return UnpublishedVersion(video_id, current, current)

    async def _lead(self, video: UnpublishedVersion) -> None:
        """Write the public place of a video."""
        if video.current is None:
            await self._storage.delete(f"{keys.VIDEOS}/{video.video_id}")
            return
        for name in (MASTER, DASH):
            key, place = f"{keys.version(video.current)}/{name}", keys.video(video.video_id, name)
            text = (await self._storage.get_bytes(key)).decode()
            await self._storage.replace_bytes(place, relocate(text, key, place).encode())
        if await self._storage.exists(keys.video(video.video_id, f"{LIVE}/{video.current}/{MASTER}")):
            await self._end(video.video_id, video.current)

    async def grow(self) -> int:
        """Write the playlists of streams that can be watched while they are made; gives how many have grown."""
        running = await self._running()
        await _for_each(self._grown.keys() - {job.id for job in running}, self._rest)
        return await _for_each(running, self._grow)

    async def _running(self) -> list[Job]:
        statuses = [JobStatus.PROCESSING, JobStatus.UPLOADING_OUTPUTS]
        found: list[Job] = []
        after: str | None = None
        while True:
            page = await self._engine.jobs(pipeline=TRANSCODE, statuses=statuses, limit=PAGE, after=after)
            found += [job for job in page.items if job.resource_id is not None]
            if (after := page.after) is None:
                return found

    async def _rest(self, job_id: int) -> bool:
        """A job has come to rest: what has grown of it stays for a while, unless its video was deleted."""
        job = (await self._engine.job(job_id)).job
        if (await self._videos.get(job.resource_id or 0)).video.deleted_at is not None:
            await self._storage.delete(f"{keys.VIDEOS}/{job.resource_id}")
        del self._grown[job_id]
        self._rests.pop(job_id, None)
        return True

    async def _grow(self, job: Job) -> bool:
        detail = await self._engine.job(job.id)
        done = next((stage.done for stage in detail.stages if stage.name == ENCODE), 0)
        began = time.monotonic()
        if done == self._grown.get(job.id, 0) or not _has_sound(detail) or began < self._rests.get(job.id, 0.0):
            return False
        film = await self._film(detail)
        if film.chunks:
            await self._write(job.resource_id or 0, job.id, film)
        self._grown[job.id] = done
        self._rests[job.id] = time.monotonic() + LEISURE * max(0.0, time.monotonic() - began - GROW_EVERY)
        return bool(film.chunks)

    async def _end(self, video_id: int, job_id: int) -> None:
        """Give a stream that has grown its last chunks and its end, for those who watch it still."""
        await self._write_live(video_id, job_id, await self._film(await self._engine.job(job_id)))

    async def _film(self, detail: JobDetail) -> StreamContents:
        """What is there of a film: its sound, and its first chunks up to the first that is missing."""
        chunks = await self._done(detail.job.id, ENCODE)
        audio = await self._done(detail.job.id, "audio")
        return await asyncio.to_thread(_contents, detail, chunks, audio)

    async def _done(self, job_id: int, stage: str) -> list[Task]:
        return await self._tasks(job_id, stage=stage, statuses=[TaskStatus.DONE])

    async def _tasks(self, job_id: int, **which: Any) -> list[Task]:
        found: list[Task] = []
        after: str | None = None
        while True:
            page = await self._engine.tasks(job_id, limit=PAGE, after=after, **which)
            found += page.items
            if (after := page.after) is None:
                return found

    async def _write(self, video_id: int, job_id: int, film: StreamContents) -> None:
        """Write what has grown; a video that has nothing else to show shows this."""
        master = await self._write_live(video_id, job_id, film)
        if (await self._videos.get(video_id)).video.current is not None:
            return
        front = keys.video(video_id, MASTER)
        text = relocate(master, keys.video(video_id, f"{LIVE}/{job_id}/{MASTER}"), front)
        await self._storage.replace_bytes(front, text.encode())
        video = (await self._videos.get(video_id)).video
        if video.current is not None or video.deleted_at is not None:
            await self._lead(await self._playing(video_id))  # ours came too late

    async def _write_live(self, video_id: int, job_id: int, film: StreamContents) -> str:
        """Write the playlists of a stream that grows, the ones that others lead to first; gives the master."""

        def place(file: str) -> str:
            return keys.video(video_id, f"{LIVE}/{job_id}/{file}")

        headers = await read_headers(self._storage, film)
        files = await asyncio.to_thread(growing, replace(film, headers=headers), place)  # seconds for a long film
        for key, data in files.items():
            await self._storage.replace_bytes(key, data)
        return files[place(MASTER)].decode()

    async def sweep(self) -> int:
        """Throw away what nobody will ask for any more; gives how many files, folders of stopped runs counted as one.

        That is: what stopped runs and growing streams of finished jobs have left, superseded versions, and sources
        that no job reads any more.
        """
        kept = {int(name) for name in await self._storage.folders(keys.VERSIONS) if name.isdigit()} - self._swept
        jobs = [await self._job(job_id) for job_id in sorted(kept)]
        duties: list[Callable[[], Awaitable[int]]] = [
            partial(_for_each, [job for job in jobs if job], self._sweep_job),
            self._sweep_versions,
        ]
        if None in jobs:
            logger.info("another database keeps files in %s: no source is swept", self._storage.url)
        else:
            duties.append(self._sweep_sources)
        return await _for_each(duties, lambda duty: duty())

    async def _job(self, job_id: int) -> Job | None:
        try:
            return (await self._engine.job(job_id)).job
        except NotFound:
            return None

    async def _sweep_versions(self) -> int:
        gone = 0
        while True:
            removed = await remove_versions(self._store, keep=self._keep, limit=PAGE)
            gone += await _for_each(removed, self._sweep_version)
            if len(removed) < PAGE:
                return gone

    async def _sweep_version(self, job_id: int) -> int:
        gone = await sweep_versions(self._storage, [job_id])
        await mark_swept(self._store, [job_id])
        return gone

    async def _sweep_sources(self) -> int:
        return len(await sweep_sources(self._storage, partial(needed_sources, self._store), now=self._clock()))

    async def _sweep_job(self, job: Job) -> int:
        """Of a job that is at rest: nobody writes there any more, and soon nobody watches it grow."""
        linger = min(LINGER, timedelta(seconds=self._keep))
        if job.finished_at is None or self._clock() - job.finished_at < linger:
            return 0
        swept = await sweep_job(self._storage, job.id, lambda: self._tokens(job.id))
        gone = len(swept) + await self._sweep_live(job)
        if job.status in {JobStatus.COMPLETED, JobStatus.CANCELLED}:
            self._swept.add(job.id)
        return gone

    async def _sweep_live(self, job: Job) -> int:
        if job.resource_id is None:
            return 0
        shared = await self._storage.folders(keys.video(job.resource_id, LIVE)) != (str(job.id),)
        if shared or (await self._playing(job.resource_id)).current is not None:
            return await self._storage.delete(keys.video(job.resource_id, f"{LIVE}/{job.id}"))
        gone = await self._storage.delete(f"{keys.VIDEOS}/{job.resource_id}")
        video = await self._playing(job.resource_id)
        if video.current is not None:
            await self._lead(video)  # the job was tried again, and is through by now
        return gone

    async def _tokens(self, job_id: int) -> dict[tuple[str, int], int]:
        return {(task.stage_name, task.part): task.token for task in await self._tasks(job_id)}


def _has_sound(detail: JobDetail) -> bool:
    """Whether every sound track is there; a film without any has nothing to wait for."""
    sound = next((stage for stage in detail.stages if stage.name == "audio"), None)
    fetched = detail.plan.get("fetch")
    return sound is not None and fetched is not None and sound.done == len(Fetched.from_json(fetched).audio)


def _contents(detail: JobDetail, chunks: Sequence[Task], audio: Sequence[Task]) -> StreamContents:
    """Return the contents of an unfinished stream: all audio, and the chunks before the first that is missing."""
    encoded = [Encoded.from_json(task.result) for task in chunks]
    return StreamContents(
        plan=Fetched.from_json(detail.plan.get("fetch")).plan,
        chunks=[chunk for number, chunk in enumerate(encoded) if chunk.chunk == number],
        audio=[MadeAudio.from_json(task.result) for task in audio],
    )


async def _for_each(items: Iterable[T], do: Callable[[T], Awaitable[int]]) -> int:
    """Do it for each, and raise the first error when all have had their turn; what is unreachable fails for all."""
    done = 0
    troubles: list[Exception] = []
    for item in items:
        try:
            done += await do(item)
        except (StorageUnavailable, StoreUnavailable):
            raise
        except Exception as error:  # noqa: BLE001 - one damaged video must not keep the others from their turn
            troubles.append(error)
    if troubles:
        raise troubles[0]
    return done
