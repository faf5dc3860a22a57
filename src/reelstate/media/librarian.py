"""The library's duties: what the public place of each video shows, how far a stream has grown, and what is thrown away.

The store says which version plays; files at public places only follow it. So a duty that is done late, or twice, or by
two at once, shows a version a moment too long, and never a wrong one for good.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from reelstate.artifacts import keys
from reelstate.artifacts.storage import Storage
from reelstate.artifacts.sweep import sweep_job, sweep_versions
from reelstate.core.errors import NotFound
from reelstate.core.machine import PHASES, JobStatus, TaskStatus
from reelstate.core.model import Job, JobDetail, Task
from reelstate.keeper import Duty
from reelstate.media.move import moved
from reelstate.media.package import DASH, MASTER, Film, growing, wanted_headers
from reelstate.media.plan import Plan
from reelstate.media.quality import ENCODE
from reelstate.services.engine import Engine
from reelstate.services.videos import TRANSCODE, Unpublished

logger = logging.getLogger("reelstate.library")

PUBLISH_EVERY: Final = 1.0
GROW_EVERY: Final = 1.0
SWEEP_EVERY: Final = 600.0
PAGE: Final = 500
LIVE: Final = "live"
"""The folder of a video in which a stream grows that is not finished."""

Json = Any


class Librarian:
    def __init__(self, engine: Engine, storage: Storage, *, keep: float) -> None:
        self._engine = engine
        self._storage = storage
        self._keep = keep
        self._since: datetime | None = None
        self._grown: dict[int, int] = {}
        """How many chunks of a running job its growing playlists have."""
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
            now, found = await self._engine.unpublished(self._since, limit=PAGE)
            for video in found:
                shown += await self._show(video)
            if len(found) < PAGE:
                self._since = now
                return shown

    async def _show(self, video: Unpublished) -> bool:
        if video.current is None:
            await self._storage.delete(f"{keys.VIDEOS}/{video.video_id}")
        else:
            for name in (MASTER, DASH):
                await self._lead_to(keys.video(video.video_id, name), f"{keys.version(video.current)}/{name}")
        if not await self._engine.published(video):
            return False
        logger.info("video %d plays version %s", video.video_id, video.current)
        return True

    async def _lead_to(self, place: str, key: str) -> None:
        text = (await self._storage.get_bytes(key)).decode()
        await self._storage.replace_bytes(place, moved(text, key, place).encode())

    async def grow(self) -> int:
        """Write the playlists of streams that can be watched while they are made; gives how many have grown."""
        running = await self._running()
        for job_id in self._grown.keys() - {job.id for job in running}:
            del self._grown[job_id]
        return sum([await self._grow(job) for job in running])

    async def _running(self) -> list[Job]:
        page = await self._engine.jobs(pipeline=TRANSCODE, statuses=[JobStatus.PROCESSING], limit=PAGE)
        return [job for job in page.items if job.video_id is not None]

    async def _grow(self, job: Job) -> bool:
        detail = await self._engine.job(job.id)
        done = next((stage.done for stage in detail.stages if stage.name == ENCODE), 0)
        if done == self._grown.get(job.id, 0) or not _has_sound(detail):
            return False
        film = await self._film(detail)
        self._grown[job.id] = done
        if not film.chunks:
            return False
        await self._write(job, replace(film, headers=await self._headers(film)))
        return True

    async def _film(self, detail: JobDetail) -> Film:
        """What is there of a film: its sound, and its first chunks up to the first that is missing."""
        chunks = [task.result for task in await self._done(detail.job.id, ENCODE)]
        first = [chunk for number, chunk in enumerate(chunks) if chunk["chunk"] == number]
        audio = [task.result for task in await self._done(detail.job.id, "audio")]
        return Film(plan=Plan.from_json(detail.plan["fetch"]["plan"]), chunks=first, audio=audio)

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

    async def _headers(self, film: Film) -> dict[str, bytes]:
        return {key: await self._storage.get_bytes(key) for key in wanted_headers(film)}

    async def _write(self, job: Job, film: Film) -> None:
        video_id = job.video_id or 0

        def place(file: str) -> str:
            return keys.video(video_id, f"{LIVE}/{job.id}/{file}")

        files = growing(film, place)
        for key, data in files.items():
            await self._storage.replace_bytes(key, data)
        video = (await self._engine.video(video_id)).video
        if video.current is None:
            front = keys.video(video_id, MASTER)
            text = moved(files[place(MASTER)].decode(), place(MASTER), front)
            await self._storage.replace_bytes(front, text.encode())

    async def sweep(self) -> int:
        """Throw away superseded versions, and what stopped runs of finished jobs have left; gives how many files."""
        removed = await self._engine.remove_versions(keep=self._keep)
        gone = await sweep_versions(self._storage, removed)
        await self._engine.swept_versions(removed)
        return gone + await self._sweep_runs()

    async def _sweep_runs(self) -> int:
        """Of jobs that are at rest: nobody writes there any more."""
        gone = 0
        for name in await self._storage.folders(keys.VERSIONS):
            if name.isdigit() and int(name) not in self._swept:
                gone += await self._sweep_job(int(name))
        return gone

    async def _sweep_job(self, job_id: int) -> int:
        try:
            detail = await self._engine.job(job_id)
        except NotFound:
            return 0  # of another database that keeps its files here
        if detail.job.status in {JobStatus.PENDING, *PHASES}:
            return 0
        swept = await sweep_job(self._storage, job_id, lambda: self._tokens(job_id))
        self._swept.add(job_id)
        return len(swept)

    async def _tokens(self, job_id: int) -> dict[tuple[str, int], int]:
        return {(task.stage_name, task.part): task.token for task in await self._tasks(job_id)}


def _has_sound(detail: JobDetail) -> bool:
    """Whether every sound track is there; a film without any has nothing to wait for."""
    sound = next((stage for stage in detail.stages if stage.name == "audio"), None)
    return sound is not None and "fetch" in detail.plan and sound.done == len(detail.plan["fetch"]["audio"])
