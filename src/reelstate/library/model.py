"""The records of the video library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reelstate.core.document import plain_text, whole_number
from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import PHASES, STOPPED_JOBS, JobStatus
from reelstate.core.model import Job, Json

TITLE_LIMIT = 1000
SOURCE_LIMIT = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVideo:
    """A video to create together with its first version: the resource of that version's job."""

    source: str
    """The path or URL of the source; it never changes."""
    title: str = ""

    def check(self, spec: Json) -> None:
        """Raise `InvalidRequest` for a bad source, title or spec."""
        _require_object(spec)
        if not self.source:
            raise InvalidRequest("source", "is empty", hint="a path or a URL of the source")
        plain_text("source", self.source, SOURCE_LIMIT)
        plain_text("title", self.title, TITLE_LIMIT)

    @property
    def identity(self) -> tuple[object, ...]:
        """The part of an idempotency digest that stands for the video."""
        return (self.source, self.title)


@dataclass(frozen=True, slots=True)
class ExistingVideo:
    """A video that gets a further version: the resource of that version's job."""

    video_id: int

    def check(self, spec: Json) -> None:
        """Raise `InvalidRequest` for a bad id or spec."""
        _require_object(spec)
        whole_number("video", self.video_id)

    @property
    def identity(self) -> tuple[object, ...]:
        """The part of an idempotency digest that stands for the video."""
        return (self.video_id,)


def _require_object(spec: Json) -> None:
    if not isinstance(spec, dict):
        raise InvalidRequest("spec", "the spec of a video's version is an object", hint='for example {"profile": …}')


class VideoStatus(StrEnum):
    """The status of a video, derived from its versions."""

    PENDING = "pending"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"


VIDEO_STATUSES = {
    VideoStatus.PENDING: (JobStatus.PENDING,),
    VideoStatus.PROCESSING: PHASES,
    VideoStatus.READY: (),
    VideoStatus.FAILED: (*STOPPED_JOBS, JobStatus.CANCELLED, JobStatus.COMPLETED),
}
"""The status of a video without a playable version, by its latest job; a completed one was forced to be."""


def video_status(current: int | None, latest: JobStatus | None) -> VideoStatus:
    """Return a video's status: ready when a version plays, else by its latest job."""
    if current is not None:
        return VideoStatus.READY
    return next((status for status, jobs in VIDEO_STATUSES.items() if latest in jobs), VideoStatus.PENDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """A video as lists show it."""

    id: int
    title: str
    source: str
    user_id: str
    status: VideoStatus
    pinned: int | None
    """The version that an operator chose; None for the newest completed one."""
    current: int | None
    """The version that plays."""
    published: int | None
    """The version behind its public address; a running keeper brings it up to date within seconds."""
    latest: int | None
    """The version that was submitted last."""
    version: int
    actor: str
    reason: str | None
    created_at: datetime
    changed_at: datetime
    deleted_at: datetime | None
    error: Json
    """Why the latest version failed; None unless it did."""
    duration: float | None
    """Seconds of the version that plays."""
    poster: str | None
    """The file of its picture."""
    rungs: tuple[str, ...]
    """The names of its qualities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoVersion:
    """A job as a version of its video."""

    job: Job
    outputs: Mapping[str, Json]
    current: bool
    removed_at: datetime | None
    """When it stopped being playable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoDetail:
    """A video with its versions, the newest first."""

    video: Video
    versions: tuple[VideoVersion, ...]
