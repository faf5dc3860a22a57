"""The events of videos that webhooks can get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reelstate.core.machine import JobStatus
from reelstate.core.webhook import EventType, job_data
from reelstate.services.webhooks.event_types import EmittedEvent, emit
from reelstate.stores.store import Store, Transaction

VIEWABLE: Final = "video.viewable"
READY: Final = "video.ready"
FAILED: Final = "video.failed"


def _stream_data(recorded: Mapping[str, Any]) -> dict[str, Any]:
    return {name: recorded.get(name) for name in ("video_id", "job_id", "user_id")}


def _failure_data(recorded: Mapping[str, Any]) -> dict[str, Any]:
    job = job_data(recorded)
    names = ("job_id", "user_id", "error")
    return {"video_id": job["resource_id"], **{name: job[name] for name in names}}


VIDEO_EVENTS: Final = (
    EventType(VIEWABLE, "The first segments of a version play at the video's public address.", _stream_data),
    EventType(READY, "A complete version plays at the video's public address.", _stream_data),
    EventType(FAILED, "The job of a version failed.", _failure_data, [JobStatus.FAILED], resources=True),
)


async def emit_stream_events(transaction: Transaction, *types: str, video_id: int, job_id: int, user_id: str) -> None:
    """Write events about the stream of a version; each type once per version."""
    data = {"video_id": video_id, "job_id": job_id, "user_id": user_id}
    await emit(transaction, [EmittedEvent(name, user_id, job_id, f"{name} {job_id}", data) for name in types])


async def mark_viewable(store: Store, *, video_id: int, job_id: int, user_id: str) -> None:
    """Write the event that the unfinished stream of a version plays."""
    await store.write(
        lambda transaction: emit_stream_events(transaction, VIEWABLE, video_id=video_id, job_id=job_id, user_id=user_id)
    )
