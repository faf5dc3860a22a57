"""Schedules: submit jobs at given times; pause, trigger and backfill them. The same service as `reel schedules`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from reelstate.api.auth import Reader, Writer
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.jobs import user_of
from reelstate.api.schemas import Input, Json, like
from reelstate.core.schedule import Backfill, CatchUp, Overlap, Schedule, ScheduleRun
from reelstate.documents import (
    Document,
    backfill_document,
    run_document,
    schedule_detail_document,
    schedule_document,
)
from reelstate.services.schedules.definition import MAX_JITTER, MAX_NAME, MAX_NOTE, MAX_WINDOW, MIN_WINDOW
from reelstate.services.schedules.timing import MAX_TIMING

router = APIRouter(prefix="/api/v1/schedules", tags=["schedules"], route_class=JsonRoute)
Name = Annotated[str, Path(max_length=MAX_NAME, description="The schedule's name.")]
Timing = Annotated[
    str,
    Field(
        max_length=MAX_TIMING,
        description="A cron expression, @hourly, @daily, @weekly, @monthly, @yearly, or `every 15m`.",
    ),
]
Pipeline = Annotated[str, Field(max_length=255, description="The pipeline of its jobs.")]
Priority = Annotated[int | str, Field(description="0 to 10, which is most urgent; or low, normal, high, critical.")]
Zone = Annotated[str, Field(max_length=64, description="An IANA time zone, such as Europe/Berlin.")]
Window = Annotated[
    float, Field(ge=MIN_WINDOW, le=MAX_WINDOW, description="Seconds that the catch-up policy `all` looks back.")
]
Jitter = Annotated[float, Field(ge=0, le=MAX_JITTER, description="Seconds by which a job may be later than its tick.")]
EXAMPLE: dict[str, Any] = {
    "name": "nightly",
    "pipeline": "transcode",
    "timing": "30 2 * * *",
    "timezone": "Europe/Berlin",
    "spec": {"source": "https://example.com/video.mov"},
}
DAY: dict[str, Any] = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z", "dry_run": True}


class NewSchedule(Input):
    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})

    name: str = Field(max_length=MAX_NAME, description="Unique in the deployment.")
    pipeline: Pipeline
    timing: Timing
    spec: Json = Field(default_factory=dict, description="The spec of its jobs.")
    priority: Priority = 5
    user_id: str | None = Field(default=None, max_length=255, description="Whose jobs; only an admin names another.")
    timezone: Zone = "UTC"
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.LATEST
    catch_up_window: Window = 86_400.0
    jitter: Jitter = 0.0
    starts_at: AwareDatetime | None = Field(default=None, description="No tick is before it.")
    ends_at: AwareDatetime | None = Field(default=None, description="No tick is after it.")


class ScheduleChange(Input):
    """What is left out stays; null removes a start or an end."""

    model_config = ConfigDict(json_schema_extra={"example": {"timing": "every 15m"}})

    pipeline: Pipeline = ""
    timing: Timing = ""
    spec: Json = None
    priority: Priority = 5
    timezone: Zone = "UTC"
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.LATEST
    catch_up_window: Window = 86_400.0
    jitter: Jitter = 0.0
    starts_at: AwareDatetime | None = None
    ends_at: AwareDatetime | None = None


class TimingRequest(Input):
    model_config = ConfigDict(json_schema_extra={"example": {"timing": "30 2 * * *", "timezone": "Europe/Berlin"}})

    timing: Timing
    timezone: Zone = "UTC"
    starts_at: AwareDatetime | None = Field(default=None, description="No tick is before it.")
    ends_at: AwareDatetime | None = Field(default=None, description="No tick is after it.")


class Pause(Input):
    model_config = ConfigDict(json_schema_extra={"example": {"note": "the disk is full"}})

    note: str = Field(default="", max_length=MAX_NOTE, description="Why it is paused.")


class NewBackfill(Input):
    model_config = ConfigDict(json_schema_extra={"example": DAY})

    start: AwareDatetime
    end: AwareDatetime
    overlap: Overlap = Field(default=Overlap.ALLOW, description="`allow`, or `queue_all` for one after the other.")
    dry_run: bool = Field(default=False, description="Only list the ticks.")


@like(ScheduleRun)
class RunDocument(BaseModel):
    job_status: str | None = Field(description="The status of its job; null without one, or if it is archived.")


@like(Schedule)
class ScheduleDocument(BaseModel):
    next_tick: datetime | None = Field(description="Null if there is none, or if the schedule is paused.")
    last: RunDocument | None = Field(description="The newest run.")


class ScheduleDetailDocument(ScheduleDocument):
    upcoming: list[datetime] = Field(description="The next ten ticks.")
    runs: list[RunDocument] = Field(description="The last ten runs, newest first.")


class TicksDocument(BaseModel):
    ticks: list[datetime] = Field(description="The next ten ticks.")


@like(Backfill)
class BackfillDocument(BaseModel):
    ticks: list[datetime] = Field(description="Ticks that make a job.")
    done: list[datetime] = Field(description="Ticks that have made one before.")
    job_ids: list[int] = Field(description="The new jobs; those of queued ticks are submitted later.")


@router.get("", response_model=list[ScheduleDocument])
async def schedules(engine: OnEngine, principal: Reader) -> list[Document]:
    """List schedules by name, with the next tick and the last run."""
    return [schedule_document(each) for each in await engine.schedules.all(owner=principal.owner)]


@router.post("", status_code=201, response_model=ScheduleDocument)
async def create(engine: OnEngine, principal: Writer, body: NewSchedule) -> Document:
    """Create a schedule."""
    options = body.model_dump(exclude={"name", "pipeline", "timing", "user_id"})
    user_id = user_of(principal, body.user_id) or ""
    made = await engine.schedules.create(
        body.name, body.pipeline, body.timing, actor=principal.actor, user_id=user_id, **options
    )
    return schedule_document(made)


@router.post("/preview", response_model=TicksDocument)
async def preview(engine: OnEngine, _: Reader, body: TimingRequest) -> Document:
    """List the next ten ticks of a timing. Nothing is created."""
    return {"ticks": list(await engine.schedules.preview(**body.model_dump()))}


@router.get("/{name}", response_model=ScheduleDetailDocument)
async def schedule(engine: OnEngine, principal: Reader, name: Name) -> Document:
    """Get a schedule with its next ten ticks and its last ten runs."""
    return schedule_detail_document(await engine.schedules.get(name, owner=principal.owner))


@router.patch("/{name}", response_model=ScheduleDocument)
async def update(engine: OnEngine, principal: Writer, name: Name, body: ScheduleChange) -> Document:
    """Change a schedule. Another timing counts from now on."""
    changes: Any = body.model_dump(exclude_unset=True)
    return schedule_document(
        await engine.schedules.update(name, actor=principal.actor, owner=principal.owner, **changes)
    )


@router.delete("/{name}", status_code=204)
async def delete(engine: OnEngine, principal: Writer, name: Name) -> None:
    """Delete a schedule and the record of its runs. Its jobs stay."""
    await engine.schedules.delete(name, actor=principal.actor, owner=principal.owner)


@router.post("/{name}/pause", response_model=ScheduleDocument)
async def pause(engine: OnEngine, principal: Writer, name: Name, body: Pause | None = None) -> Document:
    """Pause a schedule. It submits nothing until it is resumed."""
    note = (body or Pause()).note
    return schedule_document(await engine.schedules.pause(name, note, actor=principal.actor, owner=principal.owner))


@router.post("/{name}/resume", response_model=ScheduleDocument)
async def resume(engine: OnEngine, principal: Writer, name: Name) -> Document:
    """Resume a schedule with its next tick. Ticks of the pause are not run."""
    return schedule_document(await engine.schedules.resume(name, actor=principal.actor, owner=principal.owner))


@router.post("/{name}/trigger", response_model=RunDocument)
async def trigger(engine: OnEngine, principal: Writer, name: Name) -> Document:
    """Submit a job of the schedule now, also while it is paused."""
    return run_document(await engine.schedules.trigger(name, owner=principal.owner))


@router.post("/{name}/backfill", response_model=BackfillDocument)
async def backfill(engine: OnEngine, principal: Writer, name: Name, body: NewBackfill) -> Document:
    """Submit a job for each tick of a time in the past that has none; with `dry_run`, list them."""
    made = await engine.schedules.backfill(
        name, body.start, body.end, overlap=body.overlap, dry_run=body.dry_run, owner=principal.owner
    )
    return backfill_document(made)
