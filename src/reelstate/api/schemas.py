"""The JSON documents of the API as pydantic models; `reel … --json` prints the same documents."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, get_type_hints

from fastapi import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from reelstate.core.document import readable
from reelstate.core.machine import JobStatus
from reelstate.core.model import ClaimState, Job, LogEntry, Stage, StepEntry, Task, Verdict, Worker
from reelstate.core.state import State
from reelstate.core.why import ReasonKind
from reelstate.documents import NOT_OF_A_STAGE, NOT_OF_A_TASK

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
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
    "spec": {"source": "https://example.com/video.mov"},
    "run_after": None,
    "error": None,
    "degraded": None,
    "inconsistent": None,
    "flagged": None,
    "flagged_at": None,
    "version": 3,
    "actor": "orchestrator",
    "reason": None,
    "created_at": "2026-01-01T12:00:00Z",
    "started_at": "2026-01-01T12:00:01Z",
    "changed_at": "2026-01-01T12:00:05Z",
    "finished_at": None,
    "resource_id": None,
    "group": None,
    "archived": False,
}

Json = Any
StatusFilter = JobStatus | Literal["running"]
Shown = Annotated[Any, BeforeValidator(readable)]
"""A stored value. One that cannot be serialised is replaced by a note, so that the rest is still returned."""
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Maximum number of items.")]
After = Annotated[str | None, Query(max_length=200, description="The `after` of the page before.")]


class Input(BaseModel):
    """A request body; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


def like(record: type, *, without: Collection[str] = ()) -> Callable[[type[Model]], type[Model]]:
    """Build a document with the fields of a record, in their order; fields that the document declares win."""

    def fill(document: type[Model]) -> type[Model]:
        own: dict[str, Any] = {name: (field.annotation, field) for name, field in document.model_fields.items()}
        types = {name: Shown if hint is Any else hint for name, hint in get_type_hints(record).items()}
        names = [field.name for field in fields(record) if field.name not in without]
        shared = {name: own.pop(name, (types[name], ...)) for name in names}
        made: Any = create_model(
            document.__name__,
            __base__=BaseModel,
            __doc__=document.__doc__,
            __module__=document.__module__,
            __cls_kwargs__=dict(document.model_config),
            **own,
            **shared,
        )
        return made  # type: ignore[no-any-return]  # it stands for the class that it is made of

    return fill


@like(Job)
class JobDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": JOB})

    digest: str = Field(description="Digest of the pipeline's graph that the job runs.")
    priority: int = Field(description="0 to 10, which is most urgent.")
    version: int = Field(description="+1 with every transition; the ETag of the job.")


@like(Stage, without=NOT_OF_A_STAGE)
class StageDocument(BaseModel):
    pass


@like(Task, without=NOT_OF_A_TASK)
class TaskDocument(BaseModel):
    id: str = Field(description="JOB/STAGE/PART")
    stage: str
    lease_expired: bool = Field(description="Whether the lease has expired by the store's clock; not reclaimed yet.")
    worker: str | None = Field(description="The name of the worker that runs it, or ran it last.")
    claim_state: ClaimState


class JobDetailDocument(JobDocument):
    """A job with its stages, running tasks and outputs."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {**JOB, "progress": 42.5, "outputs": {}, "stages": [], "running": [], "retrying": []}
        }
    )

    progress: float = Field(description="Percent.")
    outputs: dict[str, Shown]
    stages: list[StageDocument]
    running: list[TaskDocument] = Field(description="Running tasks, at most 100.")
    retrying: list[TaskDocument] = Field(description="Failed tasks that wait for their retry.")


class ReasonDocument(BaseModel):
    """One cause why tasks do not run now, or that they run."""

    kind: ReasonKind = Field(description="The cause.")
    sentence: str = Field(description="The cause as a sentence for people, without its subject.")
    subject: str = Field(description="What it is about: `encode/3`, `37 tasks of encode`; empty for the whole job.")
    stage: str | None
    part: int | None = Field(description="The first part that it is about.")
    tasks: int = Field(description="The number of tasks that it is about; 0 for the job or stage as a whole.")
    more: bool = Field(description="Whether it is about more tasks than were counted.")
    data: dict[str, Any] = Field(description="The data of the cause: seconds until, limits, names, ids.")


class ExplanationDocument(BaseModel):
    """Why a job, a stage or a task does not run now."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "job": 244813922304,
                "stage": None,
                "part": None,
                "status": "processing",
                "runs": False,
                "at": "2026-10-01T08:00:00Z",
                "reasons": [
                    {
                        "kind": "retry",
                        "sentence": "retry due in 12 s (attempt 1 of 3 failed: timed out)",
                        "subject": "encode/3",
                        "stage": "encode",
                        "part": 3,
                        "tasks": 1,
                        "more": False,
                        "data": {"seconds": 12.0, "attempt": 1, "max_attempts": 3},
                    }
                ],
            }
        }
    )

    job: int
    stage: str | None
    part: int | None
    status: str = Field(description="The status of the job.")
    runs: bool = Field(description="Whether a task that was asked about runs under a valid lease.")
    at: datetime
    reasons: list[ReasonDocument]


class SubmittedDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": {"id": 244813922304, "verdict": "ok", "resource_id": None}})

    id: int
    verdict: Verdict = Field(description="`ok`, or `repeated` when an earlier request created the job.")
    resource_id: int | None


class EventDocument(BaseModel):
    """One transition."""

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
    worker_name: str | None
    token: int | None
    data: Shown
    cursor: str


@like(LogEntry)
class LogDocument(BaseModel):
    stage: str


@like(StepEntry)
class StepDocument(BaseModel):
    """A command that an attempt has run."""

    stage: str
    type: str = Field(description="The kind of step, such as ffmpeg.")
    at: datetime = Field(description="When the store received it.")
    started_at: datetime = Field(description="By the worker's clock.")


@like(State)
class StateDocument(BaseModel):
    """The state of a task under a tag."""


class GridDocument(BaseModel):
    """The states of one stage: tasks × tags."""

    name: str
    job: str
    tasks: int
    expected_tags: list[str]
    lowest: StateDocument
    states: list[StateDocument]


class StatesDocument(BaseModel):
    lowest: StateDocument | None = Field(description="The lowest state; null when no task has reported one.")
    stages: list[GridDocument]


@like(Worker)
class WorkerDocument(BaseModel):
    capabilities: list[str]
    pipelines: list[str]
    status: str = Field(description="idle, busy, draining, offline or disabled.")
    lifecycle: str
    done: int = Field(description="Attempts that it has completed.")
    failed: int = Field(description="Attempts that it has reported as failed.")
    stuck: int = Field(description="Handlers that did not stop when asked; each holds a slot until it ends.")
    tasks: list[str] = Field(description="Its running tasks, as JOB/STAGE/PART.")


class TransitionDocument(BaseModel):
    origin: str = Field(alias="from")
    target: str = Field(alias="to")
    actors: list[str]


class MachineDocument(BaseModel):
    entity: str
    states: list[str]
    initial_states: list[str]
    terminal: list[str]
    transitions: list[TransitionDocument]


class WaitingDocument(BaseModel):
    """The waiting and running tasks of one pipeline."""

    pipeline: str
    ready: int
    running: int
    waiting: int = Field(description="Tasks that are not due yet: delayed first runs and retries.")
    oldest: datetime | None = Field(description="When the oldest ready task became ready.")


class QueueDocument(BaseModel):
    jobs: dict[str, int] = Field(description="Jobs by status; completed jobs are not counted.")
    pipelines: list[WaitingDocument]


class SettingDocument(BaseModel):
    name: str
    variable: str
    value: str | int | float
    default: str | int | float
    source: str = Field(description="default, environment, or command line.")
    meaning: str


class VerdictDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": {"id": 244813922304, "verdict": "ok"}})

    id: int
    verdict: str = Field(description="`ok`; `repeated` when nothing changed; `refused` in a bulk operation.")
    error: str | None = None
    hint: str | None = None


class PageDocument(BaseModel, Generic[T]):
    """One page. `after` is the cursor of the next page, null on the last."""

    items: list[T]
    after: str | None
