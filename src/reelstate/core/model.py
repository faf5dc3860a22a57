"""The records that cross the layers. They are frozen; times are in UTC and come from the store's clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, TypeVar

from reelstate.core.errors import InvalidRequest
from reelstate.core.group import AfterFailureName, Group
from reelstate.core.machine import FINISHED_JOBS, JobStatus, TaskStatus, WorkerStatus
from reelstate.core.policy import PriorityName

T = TypeVar("T")

Json = Any
"""A value that JSON can represent."""
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
SeverityName: TypeAlias = Literal["info", "warning", "error"]
WorkerKind: TypeAlias = Literal["local", "remote"]
Entity: TypeAlias = Literal["job", "stage", "task", "worker", "finding", "state"]
"""The entities that a subscription can select."""


class TaskKey(NamedTuple):
    """The identity of a task: job, number of the stage in the pipeline, part. Its text is `job/stage/part`."""

    job_id: int
    stage: int
    part: int

    def __str__(self) -> str:
        return f"{self.job_id}/{self.stage}/{self.part}"

    @classmethod
    def parse(cls, text: str) -> TaskKey:
        """Parse the text that `str()` returns."""
        pieces = text.split("/")
        if len(pieces) != len(cls._fields) or not all(piece.isdecimal() for piece in pieces):
            raise InvalidRequest("task", f"invalid task id {text!r}", hint="expected JOB/STAGE/PART")
        return cls(*map(int, pieces))


class Verdict(StrEnum):
    """The outcome of one item of a batch."""

    OK = "ok"
    REPEATED = "repeated"
    LOST = "lost"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Resource(Protocol):
    """What a job is created for, where an extension of the engine keeps a record of it."""

    def check(self, spec: Json) -> None:
        """Raise `InvalidRequest` for a resource or a spec that can't be used."""
        ...

    @property
    def identity(self) -> tuple[object, ...]:
        """The values that tell two resources apart in the digest of an idempotent request."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job to create."""

    pipeline: str
    digest: str | None = None
    """The version of the pipeline, by a prefix of its digest; None for the current one."""
    spec: Json = field(default_factory=dict)
    priority: int | PriorityName = 5
    user_id: str = ""
    delay: float = 0.0
    """Seconds until its first tasks may run."""
    run_after: datetime | None = None
    """The time from which they may run; takes precedence over `delay`."""
    idempotency_key: str | None = None
    callback: str | None = None
    """A URL that gets the events of the job, signed as webhooks are."""
    group: str | None = None
    """The group that it joins, by name. The first job creates it."""
    group_callback: str | None = None
    """A URL that gets an event when no job of the group is active any more."""
    after: Sequence[int | Group] = ()
    """Jobs and groups that it waits for: it starts when all of them have completed."""
    after_failure: AfterFailureName = "wait"
    """What happens when one of them fails for good, is quarantined or cancelled."""
    resource: Resource | None = None
    """What the job is created for; the extension of the engine creates or locks its record in the same transaction."""


class SubmitOptions(TypedDict, total=False):
    """Options of `submit`: fields of `Submission`."""

    digest: str | None
    priority: int | PriorityName
    user_id: str
    delay: float
    run_after: datetime | None
    idempotency_key: str | None
    callback: str | None
    group: str | None
    group_callback: str | None
    after: Sequence[int | Group]
    after_failure: AfterFailureName


@dataclass(frozen=True, slots=True)
class Submitted:
    """The answer to one submission: the job, whether it existed already, and the resource it was created for."""

    job_id: int
    verdict: Verdict
    resource_id: int | None = None

    @property
    def id(self) -> int:
        return self.job_id


class Permit:
    """The newest permit that the server issued to a remote worker for a task; every report carries it."""

    __slots__ = ("__weakref__", "text")

    def __init__(self, text: str) -> None:
        self.text = text


@dataclass(frozen=True, slots=True)
class ClaimedTask:
    """A leased task, with everything that a run needs."""

    key: TaskKey
    token: int
    attempt: int
    max_attempts: int
    lost: int
    lease: float
    """Length of the lease in seconds; only the store's clock knows when it expires."""
    input: Json
    checkpoint: Json
    pipeline: str
    stage_name: str
    spec: Json
    strict_lease: bool = False
    timeout: float | None = None
    """Seconds after which the worker stops the run; None for no limit."""
    permit: Permit | None = None
    """None for a worker with access to the database."""
    trace: str | None = None
    """The trace context that the job was submitted in."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The tasks leased by a claim, and whether an isolated task waits for a worker that runs nothing else."""

    tasks: list[ClaimedTask]
    isolated_waiting: bool
    paused: bool = False
    """Whether the worker's name, or everything, is paused."""
    limited: bool = False
    """Whether there are limits: other tasks may wait for one."""

    def with_more(self, more: Claim) -> Claim:
        """Return this claim with the tasks of the next one."""
        return replace(
            self, tasks=self.tasks + more.tasks, isolated_waiting=self.isolated_waiting or more.isolated_waiting
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line that a run logs."""

    message: str
    level: str = "info"
    metadata: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command that a run has started, and its outcome."""

    number: int
    """The number of the step in its run, from 1. A repeated number is stored once."""
    argv: Sequence[str]
    exit_code: int | None = None
    """None for a command that did not exit by itself."""
    seconds: float = 0.0
    output: str = ""
    type: str = ""
    """The kind of step, such as ffmpeg or download; when empty, the name of the program."""
    started: float | None = None
    """Start time in seconds since 1970 by the worker's clock; None for `seconds` before the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """A state that a run reports under a tag."""

    number: int
    """The number of the state in its run, from 1. A repeated number is stored once."""
    tag: str
    status: int | None = None
    """None leaves the status unchanged."""
    message: str = ""
    severity: str = "info"
    payload: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A report on a running task. A field that is None stays unchanged."""

    key: TaskKey
    token: int
    percent: float | None = None
    message: str | None = None
    step: str | None = None
    checkpoint: Json = None
    logs: tuple[LogLine, ...] = ()
    steps: tuple[Step, ...] = ()
    states: tuple[TaskState, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a report: a verdict per item, in order, and whether the worker should drain."""

    verdicts: list[Verdict]
    drain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A run that succeeded, with its result."""

    key: TaskKey
    token: int
    result: Json = None
    skipped: bool = False
    """Whether the handler skipped the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A run that failed, with its error."""

    key: TaskKey
    token: int
    error: Json
    retryable: bool = True
    retry_in: float | None = None
    """Seconds until the next attempt; None for the stage's backoff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A task that its worker gives back; the run does not count as an attempt."""

    key: TaskKey
    token: int


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """The number of tasks that one sweep reclaimed, by their new status."""

    ready: int
    failed: int
    stopped: int
    quarantined: tuple[int, ...]
    """Jobs quarantined because a task of theirs keeps losing its worker."""

    @property
    def total(self) -> int:
        return self.ready + self.failed + self.stopped


@dataclass(frozen=True, slots=True)
class Flag:
    """A change of a job's flag."""

    job_id: int
    reason: str | None
    """Why an operator should look at the job; None clears the flag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage of a job. Its status is derived from its counters."""

    job_id: int
    stage: int
    name: str
    phase: JobStatus
    status: TaskStatus
    required: bool
    weight: float
    needs: tuple[str, ...]
    """Capabilities that a worker must have to run it."""
    after: tuple[str, ...]
    """The names of the stages that it comes after."""
    each: str | None
    """The path of what it fans out over; None for a stage of one task."""
    waits_for: tuple[str, ...]
    """Capabilities that its ready tasks need and no worker has; only filled for a single job."""
    total: int
    done: int
    skipped: int
    failed: int
    running: int
    running_percent: float
    isolated: int
    """Ready and running tasks that run alone on a worker, because they have lost workers."""
    opened_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as stored."""

    id: int
    pipeline: str
    digest: str
    user_id: str
    status: JobStatus
    phase: JobStatus
    priority: int
    spec: Json
    run_after: datetime | None
    error: Json
    degraded: Json
    inconsistent: str | None
    flagged: str | None
    """Why an operator should look at the job: a task makes no progress."""
    flagged_at: datetime | None
    """When it was flagged."""
    version: int
    actor: str
    reason: str | None
    created_at: datetime
    started_at: datetime | None
    changed_at: datetime
    finished_at: datetime | None
    resource_id: int | None
    """The record of the engine's extension that the job was created for."""
    group: str | None
    """The name of the group that it is in."""
    archived: bool = False
    """Whether it was moved to the archive, where it can only be read."""

    @property
    def ended(self) -> bool:
        """Whether it is completed or cancelled, and never changes again."""
        return self.status in FINISHED_JOBS


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetail:
    """A job with its stages, the results of its plan, its outputs and its progress in percent."""

    job: Job
    stages: tuple[Stage, ...]
    plan: Mapping[str, Json]
    outputs: Mapping[str, Json]
    progress: float


class ClaimState(StrEnum):
    """The claim status of a task, derived from its status, lease and error."""

    UNCLAIMED = "Unclaimed"
    CLAIMED = "Claimed"
    EXPIRED = "Expired"
    COMPLETED = "Completed"
    FAILED = "Failed"
    RETRYING = "Retrying"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as stored."""

    job_id: int
    stage: int
    part: int
    stage_name: str
    status: TaskStatus
    priority: int
    input: Json
    run_after: datetime | None
    ready_at: datetime | None
    claimed_at: datetime | None
    started_at: datetime | None
    progress_at: datetime | None
    finished_at: datetime | None
    worker_id: int | None
    lease_expires_at: datetime | None
    token: int
    attempt: int
    max_attempts: int
    lost: int
    isolated: bool
    """Whether it runs alone on a worker, because it has lost workers."""
    last_worker: int | None
    step: str | None
    message: str | None
    percent: float
    checkpoint: Json
    result: Json
    error: Json
    version: int
    actor: str
    reason: str | None
    changed_at: datetime
    lease_expired: bool
    """Whether its lease has expired by the store's clock and was not reclaimed yet."""
    worker: str | None
    """The name of the worker that runs it or ran it last; kept when the worker is pruned."""

    @property
    def claim_state(self) -> ClaimState:
        """The claim status. A cancelled task counts as failed."""
        match self.status:
            case TaskStatus.DONE | TaskStatus.SKIPPED:
                return ClaimState.COMPLETED
            case TaskStatus.CANCELLED:
                return ClaimState.FAILED
            case TaskStatus.RUNNING:
                return ClaimState.EXPIRED if self.lease_expired else ClaimState.CLAIMED
            case TaskStatus.ERROR if self.run_after is None:
                return ClaimState.FAILED
        return ClaimState.RETRYING if self.error is not None and self.attempt else ClaimState.UNCLAIMED

    @property
    def key(self) -> TaskKey:
        return TaskKey(self.job_id, self.stage, self.part)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineVersion:
    """A version of a pipeline: a graph that was declared under its name."""

    name: str
    digest: str
    declared_at: datetime
    """When it was first declared; the newest version has the latest time."""
    stages: tuple[str, ...]
    current: bool
    """Whether new jobs run it."""
    pinned: bool
    """Whether an operator has pinned it."""
    workers: tuple[str, ...]
    """Names of the workers that have its code and are not offline."""
    spec: Json = None
    """The JSON Schema of specs; None accepts any spec."""
    graph: Json = None
    """The graph as it is stored: a document with the options of every stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker instance as stored."""

    id: int
    name: str
    hostname: str
    software: str
    kind: str
    slots: int
    capabilities: frozenset[str]
    pipelines: frozenset[str]
    metadata: Json
    status: WorkerStatus
    enabled: bool
    running: int
    stuck: int
    """Handlers that did not stop when asked; each holds a slot until it returns."""
    version: int
    registered_at: datetime
    last_heartbeat_at: datetime | None
    done: int = 0
    """Runs that it completed."""
    failed: int = 0
    """Runs that it reported as failed."""
    tasks: tuple[str, ...] = ()
    """The tasks that it runs, as JOB/STAGE/PART with the names of stages."""

    @property
    def shown(self) -> str:
        """The status for display: idle, busy, draining, offline or disabled."""
        if not self.enabled:
            return "disabled"
        if self.status is not WorkerStatus.ACTIVE:
            return str(self.status)
        return "busy" if self.running or self.stuck else "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A recorded transition. Audit trail, live feed and replay read the same rows."""

    cursor: str
    entity: str
    job_id: int | None
    stage: str | None
    """The name of the stage; its number as text if the job's pipeline is missing or unreadable."""
    stage_number: int | None
    """The number of the stage, as in a `TaskKey`."""
    part: int | None
    worker_id: int | None
    worker: str | None
    """The name of that worker; kept when the worker is pruned."""
    version: int
    origin: str | None
    target: str
    actor: str
    reason: str | None
    token: int | None
    data: Json
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProgress:
    """The progress of a running task: a value, not an event. Equality ignores the time."""

    key: TaskKey
    token: int
    percent: float
    message: str | None
    step: str | None
    at: datetime = field(compare=False)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A stored log line."""

    job_id: int
    id: int
    stage: int
    part: int
    token: int
    at: datetime
    level: str
    message: str
    metadata: Json


@dataclass(frozen=True, slots=True)
class StepEntry:
    """A stored step of a run."""

    job_id: int
    id: int
    stage: int
    part: int
    token: int
    number: int
    at: datetime
    """When it was stored."""
    type: str
    started_at: datetime
    """By the worker's clock."""
    argv: list[str]
    exit_code: int | None
    seconds: float
    output: str


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a list; `after` is the cursor of the next page, None at the end."""

    items: list[T]
    after: str | None
