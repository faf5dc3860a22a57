"""Rows of videos held by a transaction, and the versions that jobs become. A video's row is locked before its jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.machine import JobStatus
from reelstate.core.model import Json, NewVideo
from reelstate.stores.store import Batch, Row, Transaction

MAX_VERSIONS = 1000
"""The newest versions of a video that are looked at."""


@dataclass(frozen=True, slots=True)
class LockedVideo:
    """A video whose row this transaction holds."""

    id: int
    source: str
    pinned: int | None
    version: int
    deleted_at: datetime | None


class VersionRow(NamedTuple):
    """What is needed of a version to choose between versions."""

    job_id: int
    status: str
    spec: Json
    removed: bool


class Placing(NamedTuple):
    """A job to be made, the video it is for, and whose that is."""

    video: NewVideo | int
    user_id: str
    spec: str


class Placed(NamedTuple):
    video_id: int
    spec: str


async def lock_any_video(transaction: Transaction, video_id: int, owner: str | None = None) -> LockedVideo:
    """Hold the row of a video until the transaction ends; with an owner, that of nobody else."""
    found = await transaction.run("videos_lock", video_ids=[video_id], owner=owner)
    if not found:
        raise NotFound("video", video_id)
    return LockedVideo(*found[0])


async def lock_video(transaction: Transaction, video_id: int, owner: str | None = None) -> LockedVideo:
    """The same; one that was deleted is refused."""
    video = await lock_any_video(transaction, video_id, owner)
    if video.deleted_at is not None:
        raise InvalidRequest("video", f"video {video_id} was deleted", hint="submit its source as a new video")
    return video


async def version_rows(transaction: Transaction, video_id: int) -> list[VersionRow]:
    """The versions of a video, the newest first."""
    rows = await transaction.run("videos_versions", video_id=video_id, limit=MAX_VERSIONS)
    return [VersionRow(row[0], row[4], row[7], row[-1] is not None) for row in rows]


def playable(versions: Sequence[VersionRow]) -> list[int]:
    """Versions that a video can be pinned to, the newest first."""
    return [each.job_id for each in versions if each.status == JobStatus.COMPLETED and not each.removed]


def current_version(versions: Sequence[VersionRow], pinned: int | None) -> int | None:
    """The version that plays: the pinned one, else the newest that is completed."""
    return pinned or next(iter(playable(versions)), None)


async def place(transaction: Transaction, placings: Sequence[Placing]) -> list[Placed]:
    """Make the videos that are new, and give each job's spec what it leaves to its video."""
    # All of them in the order of their ids: two who add to the same videos must not wait for each other.
    added = sorted({placing.video for placing in placings if not isinstance(placing.video, NewVideo)})
    if added[1:]:
        await transaction.run("videos_lock", video_ids=added, owner=None)
    fresh = sum(isinstance(placing.video, NewVideo) for placing in placings)
    video_ids = iter(await transaction.run("submit_ids", count=fresh) if fresh else ())
    made: list[Row] = []
    placed = []
    for video, user_id, spec in placings:
        if isinstance(video, NewVideo):
            (video_id,) = next(video_ids)
            made.append((video_id, video.title, video.source, user_id))
            placed.append(Placed(video_id, json.dumps(first_spec(json.loads(spec), video_id, video.source))))
        else:
            placed.append(await _add(transaction, video, spec))
    if made:
        await transaction.run("videos_make", Batch(("id", "title", "source", "user_id"), made))
    return placed


async def _add(transaction: Transaction, video_id: int, spec: str) -> Placed:
    video = await lock_video(transaction, video_id)
    versions = await version_rows(transaction, video_id)
    return Placed(video_id, json.dumps(next_spec(json.loads(spec), video, versions)))


def first_spec(given: Mapping[str, Json], video_id: int, source: str) -> dict[str, Json]:
    return {"source": source, **given, "video_id": video_id}


def next_spec(given: Mapping[str, Json], video: LockedVideo, versions: Sequence[VersionRow]) -> dict[str, Json]:
    """The spec of a further version: what it does not say is as it was.

    Where only some qualities are made, the others are taken from the version that plays.
    """
    before = versions[0].spec if versions and isinstance(versions[0].spec, dict) else {}
    kept = {name: before[name] for name in ("profile", "captions") if before.get(name) is not None}
    reuse = {"reuse_from": current_version(versions, video.pinned)} if given.get("qualities") else {}
    said = {name: value for name, value in given.items() if value is not None}
    spec = first_spec({**kept, **reuse, **said}, video.id, video.source)
    if reuse_from := spec.get("reuse_from"):
        _require_playable(reuse_from, versions)
    return spec


def _require_playable(job_id: Json, versions: Sequence[VersionRow]) -> None:
    if job_id not in playable(versions):
        raise InvalidRequest(
            "reuse_from",
            f"job {job_id} is no completed version of this video, or was removed",
            hint="`reel videos show` lists its versions",
        )
