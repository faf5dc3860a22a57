"""The library's hooks in the engine: jobs that are versions of videos."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from reelstate.core.errors import NotFound
from reelstate.core.machine import FINISHED_JOBS, STOPPED_JOBS
from reelstate.core.webhook import EventType
from reelstate.dispatch.hints import ChannelMessage
from reelstate.library.events import VIDEO_EVENTS
from reelstate.library.versions import link_videos
from reelstate.services.catalogue import Catalogue
from reelstate.services.extension import LinkedJob, NewJob
from reelstate.services.observe import observe_job
from reelstate.services.submit import SUBMIT_RESOURCES
from reelstate.stores.store import Batch, NoRow, Statement, Store, Transaction

PROGRESS, COMPLETE = "transcode_progress", "transcode_complete"
"""Channels of the dispatch; the id of a video follows."""
MAX_CACHED = 10_000
REMOVE = Statement("videos_remove", NoRow)


class KeptRow(NamedTuple):
    id: int


KEPT = Statement("videos_kept", KeptRow)


class LibraryExtension:
    """Link jobs to videos, keep forced versions from playing, and publish the progress of versions."""

    noun = "video"

    def __init__(self) -> None:
        self._videos: dict[int, int | None] = {}
        """The videos of jobs; most jobs have none."""

    async def link(self, transaction: Transaction, jobs: Sequence[NewJob]) -> list[LinkedJob]:
        """Create new videos, lock existing ones, and complete the specs of their versions."""
        return await link_videos(transaction, jobs)

    async def on_forced_complete(self, transaction: Transaction, job_ids: Sequence[int]) -> None:
        """Remove versions that were forced to `completed`: they have no stream to play."""
        links = await transaction.run(SUBMIT_RESOURCES, job_ids=list(job_ids))
        versions = [(link.resource_id, link.id) for link in links if link.resource_id is not None]
        if versions:
            await transaction.run(REMOVE, Batch(("video_id", "job_id"), versions))

    async def keeps(self, transaction: Transaction, job_ids: Sequence[int]) -> Collection[int]:
        """Return the versions that videos still need; see `videos_kept.sql`."""
        return {row.id for row in await transaction.run(KEPT, job_ids=list(job_ids))}

    async def messages(self, store: Store, catalogue: Catalogue, job_ids: Collection[int]) -> list[ChannelMessage]:
        """Return the progress, or the end, of those jobs that are versions of videos."""
        await self._load(store, [job_id for job_id in job_ids if job_id not in self._videos])
        versions = [(job_id, video_id) for job_id in job_ids if (video_id := self._videos.get(job_id)) is not None]
        return [await _message(store, catalogue, job_id, video_id) for job_id, video_id in versions]

    def event_types(self) -> Sequence[EventType]:
        """Return the events of videos."""
        return VIDEO_EVENTS

    async def _load(self, store: Store, unknown: list[int]) -> None:
        if not unknown:
            return
        if len(self._videos) > MAX_CACHED:
            self._videos.clear()
        found = await store.read(lambda transaction: transaction.run(SUBMIT_RESOURCES, job_ids=sorted(unknown)))
        self._videos |= dict.fromkeys(unknown) | {link.id: link.resource_id for link in found}


async def _message(store: Store, catalogue: Catalogue, job_id: int, video_id: int) -> ChannelMessage:
    payload: dict[str, object] = {"job_id": job_id, "video_id": video_id}
    try:
        detail = await observe_job(store, catalogue, job_id)
    except NotFound:  # archived since
        return ChannelMessage(f"{COMPLETE}:{video_id}", {**payload, "status": "removed"})
    status = detail.job.status
    channel = COMPLETE if status in (*STOPPED_JOBS, *FINISHED_JOBS) else PROGRESS
    return ChannelMessage(
        f"{channel}:{video_id}", {**payload, "status": str(status), "percent": round(detail.progress, 1)}
    )
