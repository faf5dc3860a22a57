"""The state of the deployment at one look, read once per server every few seconds however many pages ask for it."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections import OrderedDict
from datetime import datetime
from typing import Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.auth import Reader
from reelstate.api.body import JsonRoute
from reelstate.api.metrics import ClusterGauges
from reelstate.documents import Document
from reelstate.engine import Engine
from reelstate.services.activity import Activity, ActivityLog
from reelstate.services.overview import Kind, Overview, OverviewTerms, Severity, overview, own_overview

router = APIRouter(prefix="/api/v1", tags=["deployment"], route_class=JsonRoute)
CACHE_SECONDS: Final = 4.0
MAX_USERS: Final = 1000
"""Users whose overviews are kept."""


class CountDocument(BaseModel):
    """A number that is counted up to a limit."""

    count: int
    capped: bool = Field(description="Whether there may be more.")


class LoadDocument(BaseModel):
    """The tasks of a pipeline that wait and run."""

    pipeline: str
    ready: CountDocument
    running: CountDocument
    oldest: float | None = Field(description="Seconds that its oldest ready task has been ready; for admins.")


class OldestDocument(BaseModel):
    """A task that has been ready for long."""

    task: str = Field(description="JOB/STAGE/PART")
    job: int
    stage: str
    pipeline: str
    ready_at: datetime


class SlotsDocument(BaseModel):
    """What the workers can run at once."""

    total: int
    busy: int
    workers: dict[str, int] = Field(description="Worker instances by lifecycle.")


class MinutesDocument(BaseModel):
    """The last hour by minute, the present one last. Times are in milliseconds since 1970, waits in seconds."""

    at: list[int]
    completed: list[int] = Field(description="Jobs.")
    failed: list[int] = Field(description="Jobs that failed or were quarantined.")
    attempts_done: list[int]
    attempts_failed: list[int]
    wait_median: list[float | None] = Field(description="How long claimed tasks had been ready; null without claims.")
    wait_p95: list[float | None]
    complete: bool = Field(description="False where events were skipped because there were too many.")


class AttentionDocument(BaseModel):
    """Something that an operator should look at."""

    kind: Kind
    severity: Severity
    title: str
    detail: str
    count: CountDocument
    job: int | None = Field(description="The newest job that it is about.")
    jobs: list[int] = Field(description="The newest jobs that it is about.")
    pipeline: str | None
    webhook: str | None
    worker: str | None
    since: datetime | None


class OverviewDocument(BaseModel):
    """The state of the deployment; with the key of a user, of the newest 10,000 jobs of that user."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "now": 1767268805000,
                "jobs": {"pending": {"count": 3, "capped": False}},
                "pipelines": [],
                "oldest": [],
                "slots": {"total": 8, "busy": 3, "workers": {"active": 2}},
                "delayed": {"count": 0, "capped": False},
                "outbox": {"count": 0, "capped": False},
                "minutes": {
                    "at": [1767268800000],
                    "completed": [4],
                    "failed": [0],
                    "attempts_done": [40],
                    "attempts_failed": [1],
                    "wait_median": [0.4],
                    "wait_p95": [1.5],
                    "complete": True,
                },
                "attention": [],
            }
        }
    )

    now: int = Field(description="The time of the store when it was read, in milliseconds since 1970.")
    jobs: dict[str, CountDocument] = Field(description="By status. Completed ones are counted among the newest jobs.")
    pipelines: list[LoadDocument]
    oldest: list[OldestDocument] = Field(description="The tasks that have been ready for longest.")
    slots: SlotsDocument | None = Field(description="For admins.")
    delayed: CountDocument | None = Field(description="Tasks that are not due yet; for admins.")
    outbox: CountDocument | None = Field(description="Deliveries that wait to be sent; for admins.")
    minutes: MinutesDocument
    attention: list[AttentionDocument]


class Overviews:
    """The overviews of one server: that of admins, and those of the users who asked last."""

    def __init__(self, engine: Engine, gauges: ClusterGauges, *, queue_age: float) -> None:
        self._engine = engine
        self._gauges = gauges
        self._activity = ActivityLog()
        self._terms = OverviewTerms(engine.catalogue, self._activity, queue_age)
        self._counted_at = -float("inf")
        self._kept: OrderedDict[str | None, tuple[float, Document]] = OrderedDict()
        self._lock = asyncio.Lock()

    async def of(self, owner: str | None) -> Document:
        """Return the overview of a user, or with None that of the deployment; at most `CACHE_SECONDS` old."""
        async with self._lock:
            read_at, document = self._kept.get(owner, (-float("inf"), {}))
            if time.monotonic() >= read_at + CACHE_SECONDS:
                document = _document(await self._read(owner))
                self._kept[owner] = time.monotonic(), document
                self._kept.move_to_end(owner)
                if len(self._kept) > MAX_USERS:
                    self._kept.popitem(last=False)
        return document

    async def _read(self, owner: str | None) -> Overview:
        if time.monotonic() >= self._counted_at + CACHE_SECONDS:
            await self._activity.refresh(self._engine.store)
            self._counted_at = time.monotonic()
        if owner is not None:
            return await own_overview(self._engine.store, self._terms, owner)
        return await overview(self._engine.store, self._terms, await self._gauges.measured())


@router.get("/overview", response_model=OverviewDocument)
async def read_overview(request: Request, principal: Reader) -> Document:
    """Get the state of the deployment: counts, the last hour, and what needs attention. At most 4 seconds old.

    Counts stop at 10,000. A user's key shows that user's jobs.
    """
    overviews: Overviews = request.app.state.overviews
    return await overviews.of(principal.owner)


def _document(found: Overview) -> Document:
    document = dataclasses.asdict(found)
    del document["at"], document["activity"]
    document["now"] = round(found.at.timestamp() * 1000)
    document["minutes"] = _minutes(found.activity)
    for item in document["attention"]:
        item["job"] = item["jobs"][0] if item["jobs"] else None
    return document


def _minutes(activity: Activity) -> Document:
    columns = dataclasses.asdict(activity)
    minutes, high = columns.pop("minutes"), columns.pop("wait_high")
    return {**columns, "at": [minute * 60_000 for minute in minutes], "wait_p95": high}
