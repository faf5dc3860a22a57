"""What goes in and comes out as JSON: the documents of `reel … --json`, described for programs."""

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
    "spec": {"source": "https://example.com/film.mov"},
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
}

Json = Any
StatusFilter = JobStatus | Literal["running"]
Shown = Annotated[Any, BeforeValidator(readable)]
"""A stored value in an answer. One that can't be written is replaced by a note: it must not take the others along."""
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="How many at most.")]
After = Annotated[
    str | None, Query(max_length=200, description="Go on after this: the `after` of the page before, as it is.")
]


class Input(BaseModel):
    """What a caller sends: a name that is not known is refused, not ignored."""

    model_config = ConfigDict(extra="forbid")


def like(record: type, *, without: Collection[str] = ()) -> Callable[[type[Model]], type[Model]]:
    """A document with the fields of a record, in their order. Those that it names itself are as it says."""

    def filled(document: type[Model]) -> type[Model]:
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

    return filled


@like(Job)
class JobDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": JOB})

    digest: str = Field(description="Of the pipeline's graph that it runs.")
    priority: int = Field(description="0 to 10, which is most urgent.")
    version: int = Field(description="+1 with every transition; the ETag of the job.")


@like(Stage, without=NOT_OF_A_STAGE)
class StageDocument(BaseModel):
    pass


@like(Task, without=NOT_OF_A_TASK)
class TaskDocument(BaseModel):
    id: str = Field(description="JOB/STAGE/PART")
    stage: str
    lease_expired: bool = Field(description="By the store's clock; until somebody takes it back.")
    worker: str | None = Field(description="The name of the worker that runs it, or ran it last.")
    claim_state: ClaimState


class JobDetailDocument(JobDocument):
    """A job with its stages, what runs of it, and what came of it."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {**JOB, "progress": 42.5, "outputs": {}, "stages": [], "running": [], "resting": []}
        }
    )

    progress: float = Field(description="Percent.")
    outputs: dict[str, Shown]
    stages: list[StageDocument]
    running: list[TaskDocument] = Field(description="Tasks that run, 100 at most.")
    resting: list[TaskDocument] = Field(description="Tasks that failed and will be tried again.")


class SubmittedDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": {"id": 244813922304, "verdict": "ok", "resource_id": None}})

    id: int
    verdict: Verdict = Field(description="`ok`, or `repeated` for a request that had made its job before.")
    resource_id: int | None


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
    worker_name: str | None
    token: int | None
    data: Shown
    cursor: str


@like(LogEntry)
class LogDocument(BaseModel):
    stage: str


@like(StepEntry)
class StepDocument(BaseModel):
    """A command that a run has started."""

    stage: str
    type: str = Field(description="What kind of step, such as ffmpeg.")
    at: datetime = Field(description="When the store got it.")
    started_at: datetime = Field(description="By the clock of the worker.")


@like(State)
class StateDocument(BaseModel):
    """What a task said under a tag."""


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


@like(Worker)
class WorkerDocument(BaseModel):
    capabilities: list[str]
    pipelines: list[str]
    status: str = Field(description="idle, busy, draining, offline or disabled.")
    lifecycle: str
    done: int = Field(description="Runs that it has completed.")
    failed: int = Field(description="Runs that it has reported as failed.")
    stuck: int = Field(description="Handlers that were told to stop and did not; each holds a slot until it ends.")
    tasks: list[str] = Field(description="What it runs, as JOB/STAGE/PART.")


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
