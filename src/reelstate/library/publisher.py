"""The publisher's duties: files at public addresses, playlists of unfinished streams, and deletion of unneeded files.

The store decides which version plays; the files at a video's public address follow it. A duty that runs late, twice or
in two processes at once shows an old version for a moment longer, and never a wrong one for good.
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
from reelstate.library.events import mark_viewable
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
from reelstate.services.paging import every

logger = logging.getLogger("reelstate.library")

PUBLISH_EVERY: Final = 1.0
LIVE_EVERY: Final = 1.0
BACKOFF: Final = 10
"""The pause before the live playlists of a long video are rewritten, per second that writing took beyond the first."""
SWEEP_EVERY: Final = 600.0
PAGE: Final = 500
LIVE: Final = "live"
"""The folder of a video with the playlists of unfinished streams."""
LIVE_LIFETIME: Final = timedelta(hours=1)
"""How long live playlists stay after their job has stopped or finished, for players that opened them before."""
MAX_TRIES: Final = 3
"""How often a public address is rewritten because another process wrote it too."""

Json = Any
T = TypeVar("T")


def _now() -> datetime:
    return datetime.now(UTC)


class Publisher:
    """Publish the versions of videos to a storage, and delete files that are not needed.

    `keep` is how many seconds superseded versions stay.
    """

    def __init__(
        self,
        engine: Engine,
        storage: Storage,
        *,
        keep: float,
        clock: Callable[[], datetime] = _now,
        page: int = PAGE,
        live_every: float = LIVE_EVERY,
        backoff: float = BACKOFF,
    ) -> None:
        self._engine = engine
        self._store = engine.store
        self._videos = Videos(engine)
        self._storage = storage
        self._keep = keep
        self._clock = clock
        self._page = page
        self._live_every = live_every
        self._backoff = backoff
        self._since: datetime | None = None
        self._waiting: dict[int, UnpublishedVersion] = {}
        """Videos whose public address could not be written yet; they are retried without reading all videos again."""
        self._written: dict[int, int] = {}
        """How many chunks the live playlists of each running job have."""
        self._paused: dict[int, float] = {}
        """When the live playlists of a job may be written again, for those that take long."""
        self._swept: set[int] = set()

    def duties(self) -> tuple[Duty, ...]:
        """Return the duties for a keeper."""
        return (
            Duty("publish", PUBLISH_EVERY, self.publish),
            Duty("live playlists", self._live_every, self.update_live),
            Duty("sweep files", SWEEP_EVERY, self.sweep),
        )

    async def publish(self) -> int:
        """Write the public addresses of videos whose current version changed; return how many."""
        shown = 0
        while True:
            now, found = await load_unpublished(self._store, self._since, limit=self._page)
            self._waiting |= {video.video_id: video for video in found}
            if len(found) < self._page:
                self._since = now
            shown += await _for_each(list(self._waiting.values()), self._publish)
            if len(found) < self._page:
                return shown

    async def _publish(self, video: UnpublishedVersion) -> bool:
        """Publish the current version of a video, even if another process publishes it at the same time."""
        for _ in range(MAX_TRIES):
            await self._write_public(video)
            if await mark_published(self._store, video):
                self._waiting.pop(video.video_id, None)
                logger.info("video published video=%d version=%s", video.video_id, video.current)
                return True
            # Another process published another version, and our files may have replaced its files.
            video = await self._current(video.video_id)
        return False

    async def _current(self, video_id: int) -> UnpublishedVersion:
        """Return the current version of a video, as if it were published."""
        video = (await self._videos.get(video_id)).video
        current = video.current if video.deleted_at is None else None
        return UnpublishedVersion(video_id, current, current)

    async def _write_public(self, video: UnpublishedVersion) -> None:
        """Write the files at the public address of a video, or delete them where no version plays."""
        if video.current is None:
            await self._storage.delete(f"{keys.VIDEOS}/{video.video_id}")
            return
        for name in (MASTER, DASH):
            key, public = f"{keys.version(video.current)}/{name}", keys.video(video.video_id, name)
            text = (await self._storage.get_bytes(key)).decode()
            await self._storage.replace_bytes(public, relocate(text, key, public).encode())
        if await self._storage.exists(keys.video(video.video_id, f"{LIVE}/{video.current}/{MASTER}")):
            detail = await self._engine.job(video.current)  # players of the live stream get its end
            await self._write_live(video.video_id, video.current, await self._load_contents(detail))

    async def update_live(self) -> int:
        """Write the playlists of streams that play before they are finished; return how many got longer."""
        running = await self._running()
        await _for_each(self._written.keys() - {job.id for job in running}, self._end_live)
        return await _for_each(running, self._update_live)

    async def _running(self) -> list[Job]:
        statuses = [JobStatus.PROCESSING, JobStatus.UPLOADING_OUTPUTS]
        read = partial(self._engine.jobs, pipeline=TRANSCODE, statuses=statuses, limit=self._page)
        return [job async for job in every(lambda after: read(after=after)) if job.resource_id is not None]

    async def _end_live(self, job_id: int) -> bool:
        """Stop updating the playlists of a job; they stay for a while, unless its video was deleted."""
        job = (await self._engine.job(job_id)).job
        if (await self._videos.get(job.resource_id or 0)).video.deleted_at is not None:
            await self._storage.delete(f"{keys.VIDEOS}/{job.resource_id}")
        del self._written[job_id]
        self._paused.pop(job_id, None)
        return True

    async def _update_live(self, job: Job) -> bool:
        detail = await self._engine.job(job.id)
        done = next((stage.done for stage in detail.stages if stage.name == ENCODE), 0)
        began = time.monotonic()
        if done == self._written.get(job.id, 0) or not _has_audio(detail) or began < self._paused.get(job.id, 0.0):
            return False
        contents = await self._load_contents(detail)
        if contents.chunks:
            await self._write_unfinished(job.resource_id or 0, job.id, contents)
        self._written[job.id] = done
        self._paused[job.id] = time.monotonic() + self._backoff * max(0.0, time.monotonic() - began - self._live_every)
        return bool(contents.chunks)

    async def _load_contents(self, detail: JobDetail) -> StreamContents:
        """Return the audio of a job, and its chunks up to the first that is missing."""
        chunks = await self._tasks(detail.job.id, stage=ENCODE, statuses=[TaskStatus.DONE])
        audio = await self._tasks(detail.job.id, stage="audio", statuses=[TaskStatus.DONE])
        return await asyncio.to_thread(_contents, detail, chunks, audio)

    async def _tasks(self, job_id: int, **filters: Any) -> list[Task]:
        read = partial(self._engine.tasks, job_id, limit=self._page, **filters)
        return [task async for task in every(lambda after: read(after=after))]

    async def _write_unfinished(self, video_id: int, job_id: int, contents: StreamContents) -> None:
        """Write the live playlists of a job; the public address of a video without a current version shows them."""
        master = await self._write_live(video_id, job_id, contents)
        if (await self._videos.get(video_id)).video.current is not None:
            return
        public = keys.video(video_id, MASTER)
        text = relocate(master, keys.video(video_id, f"{LIVE}/{job_id}/{MASTER}"), public)
        await self._storage.replace_bytes(public, text.encode())
        video = (await self._videos.get(video_id)).video
        if video.current is not None or video.deleted_at is not None:
            # A version completed, or the video was deleted, while the file was written.
            await self._write_public(await self._current(video_id))
        elif job_id not in self._written:
            await mark_viewable(self._store, video_id=video_id, job_id=job_id, user_id=video.user_id)

    async def _write_live(self, video_id: int, job_id: int, contents: StreamContents) -> str:
        """Write the playlists of an unfinished stream, referenced ones first; return the master playlist."""

        def key_of(file: str) -> str:
            return keys.video(video_id, f"{LIVE}/{job_id}/{file}")

        headers = await read_headers(self._storage, contents)
        files = await asyncio.to_thread(growing, replace(contents, headers=headers), key_of)  # seconds for a long video
        for key, data in files.items():
            await self._storage.replace_bytes(key, data)
        return files[key_of(MASTER)].decode()

    async def sweep(self) -> int:
        """Delete unneeded files; return how many, where the folder of a lost run counts as one.

        These are files of lost runs, live playlists of finished jobs, superseded versions, and unused sources.
        """
        kept = {int(name) for name in await self._storage.folders(keys.VERSIONS) if name.isdigit()} - self._swept
        jobs = [await self._job(job_id) for job_id in sorted(kept)]
        duties: list[Callable[[], Awaitable[int]]] = [
            partial(_for_each, [job for job in jobs if job], self._sweep_job),
            self._sweep_versions,
        ]
        if None in jobs:
            logger.info("sources not swept reason=shared-storage storage=%s", self._storage.url)
        else:
            duties.append(self._sweep_sources)
        return await _for_each(duties, lambda duty: duty())

    async def _job(self, job_id: int) -> Job | None:
        try:
            return (await self._engine.job(job_id)).job
        except NotFound:
            return None

    async def _sweep_versions(self) -> int:
        deleted = 0
        while True:
            removed = await remove_versions(self._store, keep=self._keep, limit=self._page)
            deleted += await _for_each(removed, self._sweep_version)
            if len(removed) < self._page:
                return deleted

    async def _sweep_version(self, job_id: int) -> int:
        deleted = await sweep_versions(self._storage, [job_id])
        await mark_swept(self._store, [job_id])
        return deleted

    async def _sweep_sources(self) -> int:
        return len(await sweep_sources(self._storage, partial(needed_sources, self._store), now=self._clock()))

    async def _sweep_job(self, job: Job) -> int:
        """Delete the files of lost runs and the live playlists of a job that stopped or finished long enough ago."""
        lifetime = min(LIVE_LIFETIME, timedelta(seconds=self._keep))
        if job.finished_at is None or self._clock() - job.finished_at < lifetime:
            return 0
        swept = await sweep_job(self._storage, job.id, lambda: self._tokens(job.id))
        deleted = len(swept) + await self._sweep_live(job)
        if job.status in {JobStatus.COMPLETED, JobStatus.CANCELLED}:
            self._swept.add(job.id)
        return deleted

    async def _sweep_live(self, job: Job) -> int:
        if job.resource_id is None:
            return 0
        shared = await self._storage.folders(keys.video(job.resource_id, LIVE)) != (str(job.id),)
        if shared or (await self._current(job.resource_id)).current is not None:
            return await self._storage.delete(keys.video(job.resource_id, f"{LIVE}/{job.id}"))
        deleted = await self._storage.delete(f"{keys.VIDEOS}/{job.resource_id}")
        video = await self._current(job.resource_id)
        if video.current is not None:
            await self._write_public(video)  # the job was retried and has completed meanwhile
        return deleted

    async def _tokens(self, job_id: int) -> dict[tuple[str, int], int]:
        return {(task.stage_name, task.part): task.token for task in await self._tasks(job_id)}


def _has_audio(detail: JobDetail) -> bool:
    """Return whether every audio track is encoded; a video without audio waits for none."""
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
    """Call `do` for each item, then raise the first error; an unreachable storage or store is raised at once."""
    done = 0
    errors: list[Exception] = []
    for item in items:
        try:
            done += await do(item)
        except (StorageUnavailable, StoreUnavailable):
            raise
        except Exception as error:  # noqa: BLE001 - one damaged video must not stop the others
            errors.append(error)
    if errors:
        raise errors[0]
    return done
