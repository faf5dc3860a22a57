"""What goes in and comes out as JSON: the documents of `reel … --json`, described for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Verdict
from reelstate.core.state import Severity

T = TypeVar("T")
LARGEST_PAGE: Final = 500
LARGEST_ID: Final = 2**53 - 1
LARGEST_PART: Final = 2**31 - 1
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


class EventDocument(BaseModel):
    """One change of state: audit trail and live feed are the same."""

    entity: str
    id: int | str | None = Field(description="JOB, JOB/STAGE, JOB/STAGE/PART, or the number of a worker.")
    version: int
    origin: str | None = Field(alias="from")
    target: str = Field(alias="to")
    actor: str
    reason: str | None
    at: datetime
    job: int | None
    stage: str | None
    part: int | None
    worker: int | None
    token: int | None
    data: Json
    cursor: str


class LogDocument(BaseModel):
    job_id: int
    id: int
    stage: str
    part: int
    token: int
    at: datetime
    level: str
    message: str
    metadata: Json


class StepDocument(BaseModel):
    """A command that a run has started."""

    job_id: int
    id: int
    stage: str
    part: int
    token: int
    number: int
    at: datetime
    argv: list[str]
    exit_code: int | None
    seconds: float
    output: str


class StateDocument(BaseModel):
    """What a task said under a tag."""

    job_id: str
    task: int
    tag: str
    status: int
    severity: Severity
    message: str
    payload: Json
    schema_version: int
    timestamp: datetime
    version: int
    event_id: str


class GridDocument(BaseModel):
    """The states of one stage: tasks × tags."""

    name: str
    job: str
    tasks: int
    expected_tags: list[str]
    lowest: StateDocument
    states: list[StateDocument]


class StatesDocument(BaseModel):
    lowest: StateDocument | None = Field(description="The state that stands for all; null where no stage speaks.")
    stages: list[GridDocument]


class WorkerDocument(BaseModel):
    id: int
    name: str
    hostname: str
    software: str
    kind: str
    slots: int
    capabilities: list[str]
    pipelines: list[str]
    metadata: Json
    status: str = Field(description="idle, busy, draining, offline or disabled.")
    lifecycle: str
    enabled: bool
    running: int
    version: int
    registered_at: datetime
    last_heartbeat_at: datetime | None


class TransitionDocument(BaseModel):
    origin: str = Field(alias="from")
    target: str = Field(alias="to")
    actors: list[str]


class MachineDocument(BaseModel):
    entity: str
    states: list[str]
    births: list[str]
    terminal: list[str]
    transitions: list[TransitionDocument]


class WaitingDocument(BaseModel):
    """The tasks of one pipeline that wait or run."""

    pipeline: str
    ready: int
    running: int
    waiting: int = Field(description="For their time: a delayed first run, or the next after a failure.")
    oldest: datetime | None = Field(description="Since when the first of the ready ones is ready.")


class QueueDocument(BaseModel):
    jobs: dict[str, int] = Field(description="How many are in each status; completed ones are not counted.")
    pipelines: list[WaitingDocument]


class SettingDocument(BaseModel):
    name: str
    variable: str
    value: str | int | float
    default: str | int | float
    source: str = Field(description="default, environment, or given at the start.")
    meaning: str


class VerdictDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": {"id": 244813922304, "verdict": "ok"}})

    id: int
    verdict: str = Field(description="ok; repeated, when it was so already; refused, in a bulk operation.")
    error: str | None = None
    hint: str | None = None


class PageDocument(BaseModel, Generic[T]):
    """One page; `after` asks for the next one, and is null at the end."""

    items: list[T]
    after: str | None
