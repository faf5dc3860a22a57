"""videos: the library. A version of a video is a job; which one plays is read from them, unless one is pinned.

Submitting a version, pinning, deleting and removing take the video's row before anything else, so that each sees what
the other did: no version is pinned as it is removed, and none is added to a video as it is deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from reelstate.core.aggregate import VIDEO_STATUSES, video_status
from reelstate.core.document import plain_text, whole
from reelstate.core.errors import InvalidRequest, NotFound, VersionConflict
from reelstate.core.machine import JobStatus
from reelstate.core.model import Page, Verdict, Video, VideoDetail, VideoStatus, VideoVersion
from reelstate.services.catalogue import Catalogue
from reelstate.services.observe import FILTER_LIMIT, outputs_of
from reelstate.services.operate.cancel import cancel_in
from reelstate.services.operate.operation import ACTOR_LIMIT, REASON_LIMIT, Operation
from reelstate.services.paging import PAST_EVERY_ID, cursor_number, page_size, paged
from reelstate.services.rows import JobRow, job_of, known_status
from reelstate.services.video_rows import (
    LockedVideo,
    current_version,
    lock_any_video,
    lock_video,
    playable,
    version_rows,
)
from reelstate.stores.store import Batch, Row, Store, Transaction

TRANSCODE = "transcode"
"""The pipeline that makes versions, unless another is named."""
EVER = datetime.fromtimestamp(0, UTC)
OVERLAP = timedelta(minutes=2)
"""Seconds that a transaction may take to be seen after the time that it wrote."""
MAX_SHOWN = 100
"""Versions of a video that are shown, the newest first."""


class UnpublishedVersion(NamedTuple):
    """A video whose public place shows `before`, and should show `current`; None is nothing."""

    video_id: int
    before: int | None
    current: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFilter:
    """Which videos; what is left out does not matter. Deleted ones are shown only when asked for."""

    statuses: Collection[VideoStatus] | None = None
    user_id: str | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is done to one video: who asks, and why.

    With an `owner`, a video of somebody else is not there; with a `version`, one that was changed since is left alone.
    """

    video_id: int
    actor: str
    reason: str | None = None
    owner: str | None = None
    version: int | None = None

    def __post_init__(self) -> None:
        whole("video_id", self.video_id)
        plain_text("actor", self.actor, ACTOR_LIMIT)
        plain_text("reason", self.reason or "", REASON_LIMIT)

    def require_version(self, video: LockedVideo) -> None:
        if self.version is not None and self.version != video.version:
            raise VersionConflict("video", video.id, self.version, video.version)

    @property
    def words(self) -> dict[str, str | None]:
        return {"actor": self.actor, "reason": self.reason}


async def list_videos(store: Store, wanted: VideoFilter, *, limit: int = 50, after: str | None = None) -> Page[Video]:
    """Videos, the newest first."""
    last = PAST_EVERY_ID if after is None else cursor_number(after) - 1
    page_size(limit)

    async def flow(transaction: Transaction) -> list[Video]:
        return await _found(transaction, wanted, 0, last, limit)

    return paged(await store.read(flow), limit, lambda video: str(video.id))


async def show_video(store: Store, catalogue: Catalogue, video_id: int, owner: str | None = None) -> VideoDetail:
    """A video, deleted or not, with its versions and what they put out; with an owner, only one of theirs."""
    whole("video_id", video_id)

    async def flow(transaction: Transaction) -> VideoDetail:
        found = await _found(transaction, VideoFilter(user_id=owner, deleted=True), video_id, video_id, 1)
        if not found:
            raise NotFound("video", video_id)
        rows = await transaction.run("videos_versions", video_id=video_id, limit=MAX_SHOWN)
        versions = [await _version(transaction, catalogue, row, found[0].current) for row in rows]
        return VideoDetail(video=found[0], versions=tuple(versions))

    return await store.read(flow)


async def pin(store: Store, change: Change, job_id: int) -> Verdict:
    """Have a video play one completed version, whatever comes after it."""
    whole("job_id", job_id)
    return await store.write(lambda transaction: _pin(transaction, change, job_id))


async def unpin(store: Store, change: Change) -> Verdict:
    """Have a video play its newest completed version again."""
    return await store.write(lambda transaction: _pin(transaction, change, None))


async def rollback(store: Store, change: Change) -> int:
    """Pin a video to the version before the one that plays; gives its job."""

    async def flow(transaction: Transaction) -> int:
        video = await lock_video(transaction, change.video_id, change.owner)
        change.require_version(video)
        versions = await version_rows(transaction, change.video_id)
        current = current_version(versions, video.pinned)
        earlier = [job_id for job_id in playable(versions) if current is not None and job_id < current]
        if not earlier:
            raise InvalidRequest(
                "video",
                f"video {change.video_id} has no earlier version to go back to",
                hint="`reel videos show` lists its versions",
            )
        await _pin(transaction, change, earlier[0])
        return earlier[0]

    return await store.write(flow)


async def delete_video(store: Store, catalogue: Catalogue, change: Change) -> Verdict:
    """Take a video out of the library, and end what is unfinished of it. Its versions are removed later."""

    async def flow(transaction: Transaction) -> Verdict:
        video = await lock_any_video(transaction, change.video_id, change.owner)
        if video.deleted_at is None:
            change.require_version(video)
        if not await transaction.run("videos_delete", video_id=change.video_id, **change.words):
            return Verdict.REPEATED
        await _cancel_unfinished(transaction, catalogue, change)
        return Verdict.OK

    return await store.write(flow)


async def remove_versions(store: Store, *, keep: float, limit: int = 100) -> list[int]:
    """Remove what has been superseded for so many seconds; gives the jobs whose bytes are still to be deleted.

    They are given again until `swept` says that their bytes are gone, so that nobody's crash leaves any behind.
    """
    page_size(limit)
    terms = {"keep": float(keep), "limit": limit}

    async def look(transaction: Transaction) -> list[int]:
        rows = await transaction.run("videos_superseded", video_ids=None, **terms)
        return sorted({video_id for video_id, _ in rows})

    async def remove(transaction: Transaction) -> None:
        await transaction.run("videos_lock", video_ids=found, owner=None)
        # Somebody may have pinned one, or built on it, before the lock was ours.
        still = await transaction.run("videos_superseded", video_ids=found, **terms)
        await transaction.run("videos_remove", Batch(("video_id", "job_id"), still))

    async def unswept(transaction: Transaction) -> list[int]:
        return [row[0] for row in await transaction.run("videos_unswept", limit=limit)]

    # A look at a whole library takes a while, in which nobody must wait to write.
    found = await store.survey(look)
    if found:
        await store.write(remove)
    return await store.read(unswept)


async def unpublished(
    store: Store, since: datetime | None, *, limit: int = 100
) -> tuple[datetime, list[UnpublishedVersion]]:
    """Videos whose public place does not show the version that plays, of those changed since then; and what time it is.

    Without a time all are looked at. Whoever asks again with the time of the last answer misses none.
    """
    page_size(limit)

    async def flow(transaction: Transaction) -> tuple[datetime, list[UnpublishedVersion]]:
        ((now,),) = await transaction.run("submit_now")
        begin = EVER if since is None else since - OVERLAP
        rows = await transaction.run("videos_unpublished", since=begin, limit=limit)
        return now, [UnpublishedVersion(*row) for row in rows]

    return await (store.survey(flow) if since is None else store.read(flow))


async def published(store: Store, shown: UnpublishedVersion) -> bool:
    """Note that the public place of a video shows this version now; false when somebody else has written there."""

    async def flow(transaction: Transaction) -> bool:
        found = await transaction.run(
            "videos_published", video_id=shown.video_id, before=shown.before, job_id=shown.current
        )
        return bool(found)

    return await store.write(flow)


async def needed_sources(store: Store, *, pipeline: str = TRANSCODE) -> frozenset[str]:
    """The `source` in the results and checkpoints of jobs that may still run: what must not be deleted."""

    async def flow(transaction: Transaction) -> frozenset[str]:
        return frozenset(row[0] for row in await transaction.run("videos_sources", pipeline=pipeline))

    return await store.survey(flow)


async def swept(store: Store, job_ids: Collection[int]) -> None:
    """Note that the bytes of removed versions are gone."""

    async def flow(transaction: Transaction) -> None:
        await transaction.run("videos_swept", job_ids=sorted(job_ids))

    await store.write(flow)


async def _pin(transaction: Transaction, change: Change, job_id: int | None) -> Verdict:
    video = await lock_video(transaction, change.video_id, change.owner)
    change.require_version(video)
    if await transaction.run("videos_pin", video_id=change.video_id, job_id=job_id, **change.words):
        return Verdict.OK
    if video.pinned == job_id:
        return Verdict.REPEATED
    raise InvalidRequest(
        "job_id",
        f"job {job_id} is no completed version of video {change.video_id}, or was removed",
        hint="`reel videos show` lists its versions",
    )


async def _cancel_unfinished(transaction: Transaction, catalogue: Catalogue, change: Change) -> None:
    job_ids = [row[0] for row in await transaction.run("videos_unfinished", video_id=change.video_id)]
    if not job_ids:
        return
    reason = f"the video was deleted: {change.reason}" if change.reason else "the video was deleted"
    operation = Operation(job_ids=job_ids, actor=change.actor, reason=reason[:REASON_LIMIT])
    errors = [each.error for each in await cancel_in(transaction, catalogue, operation) if each.error is not None]
    # One that has completed before its row was ours needs no end any more.
    if errors and await transaction.run("videos_unfinished", video_id=change.video_id):
        raise errors[0]


async def _found(transaction: Transaction, wanted: VideoFilter, first: int, last: int, limit: int) -> list[Video]:
    plain_text("user_id", wanted.user_id or "", FILTER_LIMIT)
    rows = await transaction.run(
        "videos_list",
        first=first,
        last=last,
        deleted=wanted.deleted,
        user_id=wanted.user_id,
        statuses=None if wanted.statuses is None else _job_statuses(wanted.statuses),
        ready=VideoStatus.READY in (wanted.statuses or ()),
        limit=limit,
    )
    return [_video(row) for row in rows]


def _job_statuses(statuses: Collection[VideoStatus]) -> list[str]:
    return sorted({str(status) for each in statuses for status in VIDEO_STATUSES[VideoStatus(each)]})


def _video(row: Row) -> Video:
    video_id, title, source, user_id, pinned, current, published_job, latest, latest_status, *rest = row
    version, actor, reason, created_at, changed_at, deleted_at, error, duration = rest
    status = None if latest_status is None else known_status(JobStatus, latest_status)
    return Video(
        id=video_id,
        title=title,
        source=source,
        user_id=user_id,
        status=video_status(current, status),
        pinned=pinned,
        current=current,
        published=published_job,
        latest=latest,
        version=version,
        actor=actor,
        reason=reason,
        created_at=created_at,
        changed_at=changed_at,
        deleted_at=deleted_at,
        error=error,
        duration=duration,
    )


async def _version(transaction: Transaction, catalogue: Catalogue, row: Row, current: int | None) -> VideoVersion:
    *columns, pipeline_id, removed_at = row
    job = job_of(JobRow._make(columns))
    outputs = await outputs_of(transaction, catalogue, job.id, pipeline_id) if removed_at is None else {}
    return VideoVersion(job=job, outputs=outputs, current=job.id == current, removed_at=removed_at)
