"""The library's records as JSON documents."""

from __future__ import annotations

from reelstate.documents import Document, fields_document, job_document
from reelstate.library.model import Video, VideoVersion
from reelstate.media.planning.quality import Quality
from reelstate.media.sources.address import redact_source


def video_document(video: Video) -> Document:
    """Return a video; user, password and query are removed from its source."""
    return {**fields_document(video), "source": redact_source(video.source)}


def version_document(version: VideoVersion) -> Document:
    """Return a version: the fields of its job, and whether it plays."""
    return {**job_document(version.job), **fields_document(version), "job": version.job.id}


def quality_document(quality: Quality) -> Document:
    """Return the progress of a quality."""
    return {**fields_document(quality), "progress_percent": round(quality.progress_percent, 2)}
