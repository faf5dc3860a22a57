"""Request and response documents of videos."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.schemas import LARGEST_ID, Input, Json, Shown, like
from reelstate.core.model import Job, Verdict
from reelstate.library.model import Video
from reelstate.media.planning.quality import Quality
from reelstate.services.webhooks.address import MAX_URL

VIDEO: Final[dict[str, Any]] = {
    "id": 244813922304,
    "title": "Holiday",
    "source": "https://example.com/movie.mov",
    "user_id": "ada",
    "status": "ready",
    "pinned": None,
    "current": 244813922305,
    "published": 244813922305,
    "latest": 244813922305,
    "version": 1,
    "actor": "user",
    "reason": None,
    "created_at": "2026-01-01T12:00:00Z",
    "changed_at": "2026-01-01T12:00:00Z",
    "deleted_at": None,
    "error": None,
    "duration": 93.4,
    "poster": "videos/244813922304/244813922305/poster.jpg",
    "rungs": ["1080p", "720p"],
}
Priority = Annotated[int, Field(ge=0, le=10)] | Literal["low", "normal", "high", "critical"]
Qualities = Annotated[list[Annotated[str, Field(max_length=100)]], Field(min_length=1, max_length=50)]
Profile = str | dict[str, Json]
Callback = Annotated[
    str | None, Field(max_length=MAX_URL, description="A URL that gets the events of the job: https://…")
]


class NewVideoRequest(Input):
    """A new video from a source or an upload."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"source": "https://example.com/movie.mov", "title": "Holiday", "profile": "h264"},
                {"upload": "0d0b1b0c6f7c4b0e9d7a5d1b2c3d4e5f", "title": "Holiday", "priority": 7},
            ]
        }
    )

    source: Annotated[str, Field(min_length=1, max_length=4096)] | None = Field(
        default=None,
        description="http(s)://; s3:// or gs:// where REEL_INPUT_BUCKETS allows it; admins also a path below "
        "REEL_INPUT_ROOTS.",
    )
    upload: Annotated[str, Field(max_length=64)] | None = Field(
        default=None, description="The id of a complete upload."
    )
    title: Annotated[str, Field(max_length=1000)] = ""
    profile: Profile | None = Field(default=None, description="The name of a profile, or a profile.")
    qualities: Qualities | None = Field(default=None, description="Only these rungs of the profile. Default: all.")
    captions: Literal["keep", "drop"] | None = None
    digest: Annotated[str, Field(max_length=64)] | None = Field(
        default=None,
        description="The version of the pipeline, by the beginning of its digest; left out: the one that new jobs run.",
    )
    priority: Priority = 5
    delay: Annotated[float, Field(ge=0, description="Seconds until its tasks may start.")] = 0.0
    user_id: Annotated[str, Field(max_length=255)] | None = Field(
        default=None, description="The user that it belongs to; only an admin may name another user."
    )
    callback: Callback = None


class RetranscodeRequest(Input):
    """A new version. Fields that are left out are as in the last version."""

    model_config = ConfigDict(json_schema_extra={"example": {"qualities": ["1080p"], "captions": "keep"}})

    qualities: Qualities | None = Field(default=None, description="Only these; others are reused. Default: all.")
    captions: Literal["keep", "drop"] | None = None
    profile: Profile | None = None
    priority: Priority = 5
    callback: Callback = None


class ReasonRequest(Input):
    reason: str | None = Field(default=None, description="The reason; stored with the video.")


class PinRequest(ReasonRequest):
    model_config = ConfigDict(json_schema_extra={"example": {"job": 244813922305, "reason": "green faces"}})

    job: Annotated[int, Field(ge=0, le=LARGEST_ID)] = Field(description="The version to play: a completed job.")


class RollbackRequest(ReasonRequest):
    model_config = ConfigDict(json_schema_extra={"example": {"reason": "green faces"}})

    to: Annotated[int, Field(ge=0, le=LARGEST_ID)] | None = Field(
        default=None, description="The version to go back to; default the one before the current one."
    )


@like(Video)
class VideoDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": VIDEO})

    source: str = Field(description="Its source, without credentials.")
    pinned: int | None = Field(description="The version that an operator pinned.")
    current: int | None = Field(description="The version that plays: a job.")
    published: int | None = Field(description="The version at its public address.")
    latest: int | None = Field(description="The version that was submitted last.")
    version: int = Field(description="+1 with every change of the video; its ETag.")
    error: Json = Field(description="Why the latest version failed; null unless it did.")
    duration: float | None = Field(description="Seconds of the version that plays.")
    poster: str | None = Field(description="The file of its picture; null where it has none.")
    rungs: list[str] = Field(description="The names of its qualities.")


@like(Quality)
class QualityDocument(BaseModel):
    """The progress of one rung of the ladder."""


@like(Job)
class VersionDocument(BaseModel):
    """A version of a video: the fields of its job, and whether it plays."""

    job: int
    current: bool = Field(description="Whether it plays.")
    removed_at: datetime | None = Field(description="When it stopped being playable.")
    outputs: dict[str, Shown]
    plays: str | None = Field(description="The path of its playlist, for clients with a key or a session.")


class VideoDetailDocument(VideoDocument):
    """A video with the qualities of its version in progress or its current one, and its versions, the newest first."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                **VIDEO,
                "plays": "/api/v1/videos/244813922304/files/videos/244813922304/master.m3u8",
                "viewable": True,
                "progress": 100.0,
                "qualities": [
                    {
                        "quality": "1080p",
                        "required": True,
                        "status": "completed",
                        "segments_total": 20,
                        "segments_completed": 20,
                        "progress_percent": 100.0,
                        "error_message": None,
                        "started_at": "2026-01-01T12:00:02Z",
                        "completed_at": "2026-01-01T12:01:02Z",
                    }
                ],
                "versions": [],
            }
        }
    )

    plays: str | None = Field(description="The path of the playlist of the current version, or of the one in progress.")
    viewable: bool = Field(description="Whether the playlist can be read; in progress, from the first segments on.")
    progress: float | None = Field(description="Progress in percent of the version that `qualities` shows.")
    qualities: list[QualityDocument]
    versions: list[VersionDocument]


class MadeDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": {"id": 244813922304, "job": 244813922305, "verdict": "ok"}})

    id: int = Field(description="The video.")
    job: int = Field(description="The job of its new version.")
    verdict: Verdict = Field(description="`ok`, or `repeated` for a repeated request.")


class ChangedDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": {"id": 244813922304, "job": 244813922305, "verdict": "ok"}})

    id: int
    job: int | None = Field(description="The current version.")
    verdict: Verdict = Field(description="`ok`, or `repeated` if nothing changed.")
