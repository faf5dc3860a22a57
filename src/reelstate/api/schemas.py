"""What goes in and comes out as JSON: the documents of `reel … --json`, described for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Verdict

T = TypeVar("T")
LARGEST_PAGE: Final = 500
LARGEST_ID: Final = 2**53 - 1
JOB: Final[dict[str, Any]] = {
    "id": 244813922304,
    "pipeline": "transcode",
    "digest": "5c9f…",
    "user_id": "ada",
    "status": "processing",
    "phase": "processing",
    "priority": 5,
    "spec": {"source": "https://example.com/film.mov"},
    "run_after": None,
    "error": None,
    "degraded": None,
    "suspect": None,
    "version": 3,
    "actor": "orchestrator",
    "reason": None,
    "created_at": "2026-01-01T12:00:00Z",
    "started_at": "2026-01-01T12:00:01Z",
    "changed_at": "2026-01-01T12:00:05Z",
    "finished_at": None,
    "video_id": None,
}

Json = Any
Id = Annotated[int, Field(ge=0, le=LARGEST_ID)]
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="How many at most.")]
After = Annotated[
    str | None, Query(max_length=200, description="Go on after this: the `after` of the page before, as it is.")
]


class Input(BaseModel):
    """What a caller sends: a name that is not known is refused, not ignored."""

    model_config = ConfigDict(extra="forbid")


class JobDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": JOB})

    id: int
    pipeline: str
    digest: str = Field(description="Of the pipeline's graph that it runs.")
    user_id: str
    status: JobStatus
    phase: JobStatus
    priority: int = Field(description="0 to 10, which is most urgent.")
    spec: Json
    run_after: datetime | None
    error: Json
    degraded: Json
    suspect: str | None
    version: int = Field(description="+1 with every transition; the ETag of the job.")
    actor: str
    reason: str | None
    created_at: datetime
    started_at: datetime | None
    changed_at: datetime
    finished_at: datetime | None
    video_id: int | None


class StageDocument(BaseModel):
    name: str
    phase: JobStatus
    status: TaskStatus
    required: bool
    weight: float
    needs: list[str]
    total: int
    done: int
    skipped: int
    failed: int
    running: int
    running_percent: float
    opened_at: datetime | None


class TaskDocument(BaseModel):
    id: str = Field(description="JOB/STAGE/PART")
    job_id: int
    stage: str
    part: int
    stage_name: str
    status: TaskStatus
    priority: int
    run_after: datetime | None
    ready_at: datetime | None
    claimed_at: datetime | None
    started_at: datetime | None
    progress_at: datetime | None
    finished_at: datetime | None
    worker_id: int | None
    worker: str | None
    lease_expires_at: datetime | None
    token: int
    attempt: int
    max_attempts: int
    lost: int
    last_worker: int | None
    step: str | None
    message: str | None
    percent: float
    error: Json
    version: int
    actor: str
    reason: str | None
    changed_at: datetime


class JobDetailDocument(JobDocument):
    """A job with its stages, what runs of it, and what came of it."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {**JOB, "progress": 42.5, "outputs": {}, "stages": [], "running": [], "resting": []}
        }
    )

    progress: float = Field(description="Percent.")
    outputs: dict[str, Json]
    stages: list[StageDocument]
    running: list[TaskDocument] = Field(description="Tasks that run, 100 at most.")
    resting: list[TaskDocument] = Field(description="Tasks that failed and will be tried again.")


class SubmittedDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": {"id": 244813922304, "verdict": "ok", "video_id": None}})

    id: int
    verdict: Verdict = Field(description="`ok`, or `repeated` for a request that had made its job before.")
    video_id: int | None


class PageDocument(BaseModel, Generic[T]):
    """One page; `after` asks for the next one, and is null at the end."""

    items: list[T]
    after: str | None
