"""The JSON messages between a remote worker and the server.

A message about a task has its permit, which contains the task's key and token; the message does not repeat them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from reelstate.core.model import (
    Claim,
    ClaimedTask,
    Completion,
    Failure,
    LogLine,
    Permit,
    Progress,
    Release,
    Step,
    TaskKey,
    TaskState,
    Verdict,
)
from reelstate.dispatch.dispatch import Wakeup

PROTOCOL: Final = 1
"""The version of this protocol; it grows with every incompatible change."""
MIN_PROTOCOL: Final = 1
MAX_ITEMS: Final = 2_000
MAX_LINES: Final = 12_000
"""Log lines, steps and states in one report."""
MAX_WAIT: Final = 60.0
PREFIX: Final = "/api/worker"
PERMIT_HEADER: Final = "Reel-Permit"

Outcome = TypeVar("Outcome", Progress, Completion, Failure, Release)
Json = Any
Id = Annotated[int, Field(ge=0, lt=2**63)]
Text = Annotated[str, Field(max_length=4096)]
Line = Annotated[str, Field(max_length=1024 * 1024)]
"""A text for people; the engine truncates it."""
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Key = tuple[Id, Annotated[int, Field(ge=0, lt=2**15)], Annotated[int, Field(ge=0, lt=2**31)]]
"""Job, stage, part."""
Lease = tuple[Id, Id, Id, Id]
"""Job, stage, part, token."""


class WireMessage(BaseModel):
    """A request of a worker; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WireAnswer(BaseModel):
    """An answer of the server; unknown fields, of a newer server, are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class RegisterRequest(WireMessage):
    """The description of a worker. Its key determines its name."""

    protocol: Annotated[int, Field(ge=0, lt=2**31)]
    software: Text
    hostname: Text
    slots: Annotated[int, Field(ge=1, le=100_000)] = 1
    capabilities: Annotated[list[Text], Field(max_length=1000)] = []
    pipelines: Annotated[list[Text], Field(max_length=1000)] = []
    metadata: Json = None


class RegisterAnswer(WireAnswer):
    worker_id: Id
    name: str
    protocol: int
    software: str


class WireClaimRequest(WireMessage):
    worker_id: Id
    limit: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 1
    pipelines: Annotated[list[Text], Field(max_length=1000)] | None = None
    hints: Annotated[list[Key], Field(max_length=MAX_ITEMS)] = []
    gpu_grace: Seconds = 60.0
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT)] = 0.0
    """Seconds to wait for a task if none is ready."""
    known: Annotated[list[Lease], Field(max_length=100_000)] | None = None
    """The leases that the worker holds, sent after a lost answer: the server returns those that are missing."""


class JobFields(WireAnswer):
    pipeline: str
    spec: Json
    trace: Annotated[str, Field(max_length=1024)] | None = None
    """The trace context of the job, as in its row."""


class TaskFields(WireAnswer):
    key: Key
    token: Id
    attempt: int
    max_attempts: int
    lost: int
    lease: float
    input: Json
    checkpoint: Json
    stage: str
    strict_lease: bool
    timeout: float | None = None
    permit: str


class ClaimAnswer(WireAnswer):
    """Leased tasks; fields that all tasks of a job share are sent once."""

    tasks: list[TaskFields]
    jobs: dict[int, JobFields]
    isolated_waiting: bool

    @classmethod
    def of(cls, claim: Claim, permits: Iterable[str]) -> Self:
        return cls.model_construct(
            tasks=[_task_fields(task, permit) for task, permit in zip(claim.tasks, permits, strict=True)],
            jobs={
                task.key.job_id: JobFields.model_construct(pipeline=task.pipeline, spec=task.spec, trace=task.trace)
                for task in claim.tasks
            },
            isolated_waiting=claim.isolated_waiting,
        )

    def claim(self, permit: Callable[[str], Permit]) -> Claim:
        tasks = [_claimed_task(each, self.jobs[each.key[0]], permit(each.permit)) for each in self.tasks]
        return Claim(tasks, self.isolated_waiting)


_OF_A_TASK: Final = TaskFields.model_fields.keys() - {"key", "stage", "permit"}
"""Fields that have the same name in a `ClaimedTask`."""


def _task_fields(task: ClaimedTask, permit: str) -> TaskFields:
    shared = {name: getattr(task, name) for name in _OF_A_TASK}
    return TaskFields.model_construct(key=task.key, stage=task.stage_name, permit=permit, **shared)


def _claimed_task(fields: TaskFields, job: JobFields, permit: Permit) -> ClaimedTask:
    shared = {name: getattr(fields, name) for name in _OF_A_TASK}
    return ClaimedTask(
        key=TaskKey(*fields.key),
        pipeline=job.pipeline,
        stage_name=fields.stage,
        spec=job.spec,
        permit=permit,
        trace=job.trace,
        **shared,
    )


class Item(WireMessage, Generic[Outcome]):
    """A record about a task. Its fields have the names of the record's; the permit stands for key and token."""

    kind: ClassVar[type[Any]]
    """The record."""
    permit: Text

    @classmethod
    def of(cls, record: Outcome, permit: str) -> Self:
        return cls(permit=permit, **{name: getattr(record, name) for name in cls.model_fields if name != "permit"})

    def record(self, key: TaskKey, token: int) -> Outcome:
        values = {name: value for name, value in self if name != "permit"}
        record: Outcome = self.kind(key=key, token=token, **values)
        return record


class ProgressItem(Item[Progress]):
    kind = Progress
    percent: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None = None
    message: Line | None = None
    step: Line | None = None
    checkpoint: Json = None
    logs: Annotated[tuple[LogLine, ...], Field(max_length=MAX_LINES)] = ()
    steps: Annotated[tuple[Step, ...], Field(max_length=MAX_LINES)] = ()
    states: Annotated[tuple[TaskState, ...], Field(max_length=MAX_LINES)] = ()

    @property
    def lines(self) -> int:
        return len(self.logs) + len(self.steps) + len(self.states)


class CompletionItem(Item[Completion]):
    kind = Completion
    result: Json = None
    skipped: bool = False


class FailureItem(Item[Failure]):
    kind = Failure
    error: Json
    retryable: bool = True
    retry_in: Seconds | None = None


class ReleaseItem(Item[Release]):
    kind = Release


class ReportRequest(WireMessage):
    worker_id: Id
    items: Annotated[list[ProgressItem], Field(max_length=MAX_ITEMS)] = []
    stuck: Annotated[int, Field(ge=0, le=100_000)] | None = None
    """Handlers that do not stop; None if the number has not changed."""

    @field_validator("items")
    @classmethod
    def _require_few_lines(cls, items: list[ProgressItem]) -> list[ProgressItem]:
        if sum(item.lines for item in items) > MAX_LINES:
            raise ValueError(f"hold more than {MAX_LINES:,} log lines, steps and states")
        return items


class ReportAnswer(WireAnswer):
    verdicts: list[Verdict]
    drain: bool
    permits: list[str | None]
    """A new permit for each item whose permit expires soon; None for the others."""


class CompleteRequest(WireMessage):
    items: Annotated[list[CompletionItem], Field(max_length=MAX_ITEMS)]


class FailRequest(WireMessage):
    items: Annotated[list[FailureItem], Field(max_length=MAX_ITEMS)]


class ReleaseRequest(WireMessage):
    items: Annotated[list[ReleaseItem], Field(max_length=MAX_ITEMS)]


class VerdictAnswer(WireAnswer):
    """One verdict per item, in the same order."""

    verdicts: list[Verdict]


class LeaveRequest(WireMessage):
    worker_id: Id
    reason: Text | None = None


class LeaveAnswer(WireAnswer):
    changed: bool


class WakeupsAnswer(WireAnswer):
    wakeups: list[Wakeup]


class ResultsAnswer(WireAnswer):
    items: list[Json]
    after: str | None


class StoredFile(WireAnswer):
    key: str
    size: int
    sha256: str


class UnpackedAnswer(WireAnswer):
    files: list[StoredFile]


class ListedFile(WireAnswer):
    key: str
    size: int
    modified: datetime


class ListedFiles(WireAnswer):
    files: list[ListedFile]
