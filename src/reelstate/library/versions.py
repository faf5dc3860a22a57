"""Versions of a video are jobs: which one plays, and what the spec of a further one is.

Adding, pinning, removing and deleting lock the row of the video first, so that each sees the changes of the others: no
version is pinned while it is removed, and none is added to a video while it is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.machine import JobStatus
from reelstate.core.model import Job, Json
from reelstate.library.model import ExistingVideo, NewVideo
from reelstate.services.extension import LinkedJob, NewJob
from reelstate.services.jobs import NEW_IDS
from reelstate.services.rows import fields_of
from reelstate.stores.store import Batch, NoRow, Row, Statement, Transaction, row_type

MAX_VERSIONS = 1000
"""How many versions of a video are considered, the newest first."""


class LockedVideo(NamedTuple):
    """A video whose row is locked by the transaction."""

    id: int
    source: str
    pinned: int | None
    version: int
    deleted_at: datetime | None


LOCK = Statement("videos_lock", LockedVideo)
CREATE = Statement("videos_create", NoRow)
VERSIONS = Statement(
    "videos_versions", row_type("VersionRow", *fields_of(Job, "archived"), "pipeline_id", "removed_at")
)


async def lock_any_video(transaction: Transaction, video_id: int, owner: str | None = None) -> LockedVideo:
    """Lock a video until the transaction ends; with an owner, only a video of theirs. Raise `NotFound`."""
    found = await transaction.run(LOCK, video_ids=[video_id], owner=owner)
    if not found:
        raise NotFound("video", video_id)
    return found[0]


async def lock_video(transaction: Transaction, video_id: int, owner: str | None = None) -> LockedVideo:
    """Lock a video as `lock_any_video` does; raise `InvalidRequest` for a deleted one."""
    video = await lock_any_video(transaction, video_id, owner)
    if video.deleted_at is not None:
        raise InvalidRequest("video", f"video {video_id} was deleted", hint="submit its source as a new video")
    return video


async def load_versions(transaction: Transaction, video_id: int) -> list[Any]:
    """Return the rows of a video's versions, the newest first."""
    return await transaction.run(VERSIONS, video_id=video_id, limit=MAX_VERSIONS)


def playable_jobs(versions: Sequence[Any]) -> list[int]:
    """Return the jobs of completed versions that were not removed, the newest first."""
    return [row.id for row in versions if row.status == JobStatus.COMPLETED and row.removed_at is None]


def current_job(versions: Sequence[Any], pinned: int | None) -> int | None:
    """Return the job of the version that plays: the pinned one, else the newest playable one."""
    return pinned or next(iter(playable_jobs(versions)), None)


async def link_videos(transaction: Transaction, jobs: Sequence[NewJob]) -> list[LinkedJob]:
    """Create new videos, lock existing ones, and return the video and the complete spec of each job."""
    existing = sorted({job.resource.video_id for job in jobs if isinstance(job.resource, ExistingVideo)})
    if existing[1:]:  # all in the order of their ids: two transactions with the same videos must not deadlock
        await transaction.run(LOCK, video_ids=existing, owner=None)
    new = sum(isinstance(job.resource, NewVideo) for job in jobs)
    video_ids = iter(await transaction.run(NEW_IDS, count=new) if new else ())
    rows: list[Row] = []
    linked = []
    for job in jobs:
        given = json.loads(job.spec)
        match job.resource:
            case NewVideo(source=source, title=title):
                video_id = next(video_ids).id
                rows.append((video_id, title, source, job.user_id))
                linked.append(LinkedJob(video_id, json.dumps(first_spec(given, video_id, source))))
            case ExistingVideo(video_id):
                video = await lock_video(transaction, video_id)
                versions = await load_versions(transaction, video_id)
                linked.append(LinkedJob(video_id, json.dumps(next_spec(given, video, versions))))
            case other:
                raise TypeError(f"the video library does not know {type(other).__name__}")
    if rows:
        await transaction.run(CREATE, Batch(("id", "title", "source", "user_id"), rows))
    return linked


def first_spec(given: Mapping[str, Json], video_id: int, source: str) -> dict[str, Json]:
    """Return the spec of a video's first version."""
    return {"source": source, **given, "video_id": video_id}


def next_spec(given: Mapping[str, Json], video: LockedVideo, versions: Sequence[Any]) -> dict[str, Json]:
    """Return the spec of a further version: omitted fields are taken from the version before.

    With `qualities`, the other qualities are reused from the version that plays.
    """
    before = versions[0].spec if versions and isinstance(versions[0].spec, dict) else {}
    inherited = {name: before[name] for name in ("profile", "captions") if before.get(name) is not None}
    reuse = {"reuse_from": current_job(versions, video.pinned)} if given.get("qualities") else {}
    explicit = {name: value for name, value in given.items() if value is not None}
    spec = first_spec({**inherited, **reuse, **explicit}, video.id, video.source)
    if (job_id := spec.get("reuse_from")) and job_id not in playable_jobs(versions):
        raise InvalidRequest(
            "reuse_from",
            f"job {job_id} is not a completed version of this video, or was removed",
            hint="`reel videos show` lists its versions",
        )
    return spec
