"""The verbs of videos: submit, retranscode, get, list, pin, unpin, rollback, delete."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Unpack

from reelstate.core.document import plain_text, whole_number
from reelstate.core.errors import InvalidRequest, NotFound, VersionConflict
from reelstate.core.machine import JobStatus
from reelstate.core.model import Json, Page, Resource, Submission, SubmitOptions, Submitted, Verdict
from reelstate.dispatch.dispatch import Wakeup
from reelstate.engine import OPERATOR, Engine
from reelstate.library.model import (
    VIDEO_STATUSES,
    ExistingVideo,
    NewVideo,
    Video,
    VideoDetail,
    VideoStatus,
    VideoVersion,
    video_status,
)
from reelstate.library.versions import (
    VERSIONS,
    LockedVideo,
    current_job,
    load_versions,
    lock_any_video,
    lock_video,
    playable_jobs,
)
from reelstate.media import TRANSCODE
from reelstate.services.catalogue import Catalogue
from reelstate.services.observe import FILTER_LIMIT, outputs_of
from reelstate.services.operate.cancel import cancel_in
from reelstate.services.operate.operation import ACTOR_LIMIT, REASON_LIMIT, Operation, OperationOptions
from reelstate.services.paging import PAST_EVERY_ID, cursor_number, page_size, paged
from reelstate.services.rows import job_of, known_status
from reelstate.stores.store import Statement, Transaction

MAX_SHOWN = 100
"""How many versions `get` returns, the newest first."""


class VideoRow(NamedTuple):
    """A video with the columns that its status is derived from."""

    id: int
    title: str
    source: str
    user_id: str
    pinned: int | None
    current: int | None
    published: int | None
    latest: int | None
    latest_status: str | None
    version: int
    actor: str
    reason: str | None
    created_at: datetime
    changed_at: datetime
    deleted_at: datetime | None
    error: Json
    duration: float | None
    poster: str | None
    rungs: Json


class IdRow(NamedTuple):
    """The id of a changed video, or of a job."""

    id: int


LIST = Statement("videos_list", VideoRow)
PIN = Statement("videos_pin", IdRow)
DELETE = Statement("videos_delete", IdRow)
RESTORE = Statement("videos_restore", IdRow)
UNFINISHED = Statement("videos_unfinished", IdRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFilter:
    """Select videos by status and user; deleted ones are left out unless `deleted` is set."""

    statuses: Collection[VideoStatus] | None = None
    user_id: str | None = None
    deleted: bool = False

    @property
    def job_statuses(self) -> list[str] | None:
        """The statuses of latest jobs that give the wanted statuses; None for any."""
        if self.statuses is None:
            return None
        return sorted({str(status) for each in self.statuses for status in VIDEO_STATUSES[VideoStatus(each)]})


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoChange:
    """A change of one video, with the actor and the reason.

    With an `owner`, videos of other users are not found. With a `version`, a video that was changed since is left as it
    is, and the change raises `VersionConflict`.
    """

    video_id: int
    actor: str
    reason: str | None = None
    owner: str | None = None
    version: int | None = None

    def __post_init__(self) -> None:
        whole_number("video_id", self.video_id)
        plain_text("actor", self.actor, ACTOR_LIMIT)
        plain_text("reason", self.reason or "", REASON_LIMIT)

    def require_version(self, video: LockedVideo) -> None:
        """Raise `VersionConflict` when the video has another version than expected."""
        if self.version is not None and self.version != video.version:
            raise VersionConflict("video", video.id, self.version, video.version)


class Videos:
    """The videos of an engine's store. A version is a job; the newest completed one plays, or the pinned one.

    The engine needs the `LibraryExtension`. `/` keeps the name `self` out of the options of a verb.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store

    async def submit(
        self,
        /,
        source: str,
        *,
        title: str = "",
        pipeline: str = TRANSCODE,
        spec: Json = None,
        **options: Unpack[SubmitOptions],
    ) -> Submitted:
        """Create a video and its first version in one transaction; options are fields of `Submission`."""
        return await self._submit(pipeline, spec, NewVideo(source=source, title=title), options)

    async def retranscode(
        self, /, video_id: int, *, pipeline: str = TRANSCODE, spec: Json = None, **options: Unpack[SubmitOptions]
    ) -> Submitted:
        """Submit a further version; the spec inherits from the version before, which plays until this one completes."""
        return await self._submit(pipeline, spec, ExistingVideo(video_id), options)

    async def _submit(self, pipeline: str, spec: Json, resource: Resource, options: SubmitOptions) -> Submitted:
        given = {} if spec is None else spec
        submission = Submission(pipeline=pipeline, spec=given, resource=resource, **options)
        (submitted,) = await self._engine.submit_many([submission])
        return submitted

    async def get(self, video_id: int, *, owner: str | None = None) -> VideoDetail:
        """Return a video, deleted or not, with its newest versions; with an owner, only a video of theirs."""
        whole_number("video_id", video_id)

        async def flow(transaction: Transaction) -> VideoDetail:
            found = await _load_videos(transaction, VideoFilter(user_id=owner, deleted=True), video_id, video_id, 1)
            if not found:
                raise NotFound("video", video_id)
            rows = await transaction.run(VERSIONS, video_id=video_id, limit=MAX_SHOWN)
            versions = [await _version(transaction, self._engine.catalogue, row, found[0].current) for row in rows]
            return VideoDetail(video=found[0], versions=tuple(versions))

        return await self._store.read(flow)

    async def list(
        self,
        *,
        statuses: Collection[VideoStatus] | None = None,
        user_id: str | None = None,
        deleted: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[Video]:
        """Return a page of videos, the newest first, filtered by status and user; `deleted` includes deleted ones."""
        last = PAST_EVERY_ID if after is None else cursor_number(after) - 1
        page_size(limit)
        wanted = VideoFilter(statuses=statuses, user_id=user_id, deleted=deleted)
        videos = await self._store.read(lambda transaction: _load_videos(transaction, wanted, 0, last, limit))
        return paged(videos, limit, lambda video: str(video.id))

    async def pin(
        self, /, video_id: int, job_id: int, *, actor: str = OPERATOR, **options: Unpack[OperationOptions]
    ) -> Verdict:
        """Pin a video to a completed version; options (here and below) are `reason`, `owner` and `version`."""
        whole_number("job_id", job_id)
        change = VideoChange(video_id=video_id, actor=actor, **options)
        return await self._store.write(lambda transaction: _pin(transaction, change, job_id))

    async def unpin(self, /, video_id: int, *, actor: str = OPERATOR, **options: Unpack[OperationOptions]) -> Verdict:
        """Let a video play its newest completed version again."""
        change = VideoChange(video_id=video_id, actor=actor, **options)
        return await self._store.write(lambda transaction: _pin(transaction, change, None))

    async def rollback(self, /, video_id: int, *, actor: str = OPERATOR, **options: Unpack[OperationOptions]) -> int:
        """Pin a video to the version before the one that plays, and return its job; raise where there is none."""
        change = VideoChange(video_id=video_id, actor=actor, **options)

        async def flow(transaction: Transaction) -> int:
            video = await lock_video(transaction, video_id, change.owner)
            change.require_version(video)
            versions = await load_versions(transaction, video_id)
            current = current_job(versions, video.pinned)
            earlier = [job_id for job_id in playable_jobs(versions) if current is not None and job_id < current]
            if not earlier:
                raise InvalidRequest(
                    "video",
                    f"video {video_id} has no earlier version to go back to",
                    hint="`reel videos show` lists its versions",
                )
            await _pin(transaction, change, earlier[0])
            return earlier[0]

        return await self._store.write(flow)

    async def delete(self, /, video_id: int, *, actor: str = OPERATOR, **options: Unpack[OperationOptions]) -> Verdict:
        """Delete a video and cancel its unfinished jobs; the keeper removes its versions and files later."""
        change = VideoChange(video_id=video_id, actor=actor, **options)

        async def flow(transaction: Transaction) -> Verdict:
            video = await lock_any_video(transaction, video_id, change.owner)
            if video.deleted_at is None:
                change.require_version(video)
            if not await transaction.run(DELETE, video_id=video_id, actor=change.actor, reason=change.reason):
                return Verdict.REPEATED
            await _cancel_unfinished(transaction, self._engine.catalogue, change)
            return Verdict.OK

        verdict = await self._store.write(flow)
        if verdict is Verdict.OK:
            self._engine.dispatch.notify(Wakeup.STOP)
            self._engine.dispatch.notify(Wakeup.JOB_INACTIVE)
        return verdict

    async def restore(self, /, video_id: int, *, actor: str = OPERATOR, **options: Unpack[OperationOptions]) -> Verdict:
        """Undo the deletion of a video while files of a version of it are kept. Cancelled jobs stay cancelled."""
        change = VideoChange(video_id=video_id, actor=actor, **options)

        async def flow(transaction: Transaction) -> Verdict:
            video = await lock_any_video(transaction, video_id, change.owner)
            if video.deleted_at is None:
                return Verdict.REPEATED
            change.require_version(video)
            if not playable_jobs(await load_versions(transaction, video_id)):
                raise InvalidRequest(
                    "video",
                    f"the files of every version of video {video_id} were removed",
                    hint="submit its source as a new video",
                )
            await transaction.run(RESTORE, video_id=video_id, actor=change.actor, reason=change.reason)
            return Verdict.OK

        verdict = await self._store.write(flow)
        if verdict is Verdict.OK:
            self._engine.dispatch.notify(Wakeup.JOB_INACTIVE)
        return verdict


async def _pin(transaction: Transaction, change: VideoChange, job_id: int | None) -> Verdict:
    video = await lock_video(transaction, change.video_id, change.owner)
    change.require_version(video)
    if await transaction.run(PIN, video_id=video.id, job_id=job_id, actor=change.actor, reason=change.reason):
        return Verdict.OK
    if video.pinned == job_id:
        return Verdict.REPEATED
    raise InvalidRequest(
        "job_id",
        f"job {job_id} is not a completed version of video {video.id}, or was removed",
        hint="`reel videos show` lists its versions",
    )


async def _cancel_unfinished(transaction: Transaction, catalogue: Catalogue, change: VideoChange) -> None:
    job_ids = [row.id for row in await transaction.run(UNFINISHED, video_id=change.video_id)]
    if not job_ids:
        return
    reason = f"the video was deleted: {change.reason}" if change.reason else "the video was deleted"
    operation = Operation(job_ids=job_ids, actor=change.actor, reason=reason[:REASON_LIMIT])
    errors = [each.error for each in await cancel_in(transaction, catalogue, operation) if each.error is not None]
    # A job that completed before its row was locked needs no cancellation.
    if errors and await transaction.run(UNFINISHED, video_id=change.video_id):
        raise errors[0]


async def _load_videos(transaction: Transaction, wanted: VideoFilter, first: int, last: int, limit: int) -> list[Video]:
    plain_text("user_id", wanted.user_id or "", FILTER_LIMIT)
    rows = await transaction.run(
        LIST,
        first=first,
        last=last,
        deleted=wanted.deleted,
        user_id=wanted.user_id,
        statuses=wanted.job_statuses,
        ready=VideoStatus.READY in (wanted.statuses or ()),
        limit=limit,
    )
    return [_video(row) for row in rows]


def _video(row: VideoRow) -> Video:
    columns = row._asdict()
    latest = columns.pop("latest_status")
    rungs = columns.pop("rungs")
    return Video(
        **columns,
        rungs=tuple(map(str, rungs)) if isinstance(rungs, list) else (),
        status=video_status(row.current, None if latest is None else known_status(JobStatus, latest)),
    )


async def _version(transaction: Transaction, catalogue: Catalogue, row: Any, current: int | None) -> VideoVersion:
    outputs = await outputs_of(transaction, catalogue, row.id, row.pipeline_id) if row.removed_at is None else {}
    return VideoVersion(job=job_of(row), outputs=outputs, current=row.id == current, removed_at=row.removed_at)
