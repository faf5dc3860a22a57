"""The records that cross every layer. All of them are frozen; times are UTC and come from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypedDict, TypeVar

from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import FINISHED_JOBS, JobStatus, TaskStatus, WorkerStatus
from reelstate.core.policy import PriorityName

T = TypeVar("T")

Json = Any
"""A value that JSON can say."""
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
SeverityName: TypeAlias = Literal["info", "warning", "error"]
WorkerKind: TypeAlias = Literal["local", "remote"]
Entity: TypeAlias = Literal["job", "stage", "task", "worker", "finding", "state"]
"""What a subscription may be narrowed to."""


class TaskKey(NamedTuple):
    """Which task: the job, the number of its stage in the pipeline, the part. Written `job/stage/part`."""

    job_id: int
    stage: int
    part: int

    def __str__(self) -> str:
        return f"{self.job_id}/{self.stage}/{self.part}"

    @classmethod
    def parse(cls, text: str) -> TaskKey:
        """Read a key back from the form `str()` gives it."""
        pieces = text.split("/")
        if len(pieces) != len(cls._fields) or not all(piece.isdecimal() for piece in pieces):
            raise InvalidRequest("task", f"{text!r} is not a task id", hint="a task id looks like JOB/STAGE/PART")
        return cls(*map(int, pieces))


class Verdict(StrEnum):
    """What became of one item of a batch."""

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
    """One job to be made."""

    pipeline: str
    digest: str | None = None
    """The version of the pipeline, by its digest or the beginning of it; None for the one that new jobs run."""
    spec: Json = field(default_factory=dict)
    priority: int | PriorityName = 5
    user_id: str = ""
    delay: float = 0.0
    """Seconds until its first tasks may run."""
    run_after: datetime | None = None
    """The instant from which they may run, where a delay does not say it better; it wins over `delay`."""
    idempotency_key: str | None = None
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
    """What a worker far away shows with every word on a task: the newest that the server gave it."""

    __slots__ = ("__weakref__", "text")

    def __init__(self, text: str) -> None:
        self.text = text


@dataclass(frozen=True, slots=True)
class ClaimedTask:
    """A task under lease, with everything a run of it needs."""

    key: TaskKey
    token: int
    attempt: int
    max_attempts: int
    lost: int
    lease: float
    """Seconds; a duration, because only the store's clock may say when it ends."""
    input: Json
    checkpoint: Json
    pipeline: str
    stage_name: str
    spec: Json
    strict_lease: bool = False
    timeout: float | None = None
    """Seconds after which the worker ends the run; None for no limit."""
    permit: Permit | None = None
    """None for a worker of the house."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a worker got, and whether tasks wait that must be run on an otherwise empty worker."""

    tasks: list[ClaimedTask]
    isolated_waiting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    message: str
    level: str = "info"
    metadata: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command that a run has started, and how it ended."""

    number: int
    """Which step of its run: the first is 1. A step told twice is kept once."""
    argv: Sequence[str]
    exit_code: int | None = None
    """None for a command that did not come to an end of its own."""
    seconds: float = 0.0
    output: str = ""
    type: str = ""
    """What kind of step, such as ffmpeg or download; when empty, the name of the program."""
    started: float | None = None
    """When it started, in seconds since 1970 by the clock of the worker; None for `seconds` before it was reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """What a run says of itself under a tag."""

    number: int
    """Which state of its run: the first is 1. One told twice is kept once."""
    tag: str
    status: int | None = None
    """None leaves the status as it is."""
    message: str = ""
    severity: str = "info"
    payload: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A worker's word on a task that it runs. Every field left out stays as it was."""

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
    """The answer to a report: a verdict per item in the order given, and whether the worker should drain."""

    verdicts: list[Verdict]
    drain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    key: TaskKey
    token: int
    result: Json = None
    skipped: bool = False
    """The handler found that there was nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    key: TaskKey
    token: int
    error: Json
    retryable: bool = True
    retry_in: float | None = None
    """Seconds to rest before the next attempt; left out, the stage's backoff decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    key: TaskKey
    token: int


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """What one sweep of expired leases did, by what became of the tasks."""

    ready: int
    failed: int
    stopped: int
    quarantined: tuple[int, ...]
    """Jobs put aside because a task of theirs keeps losing its worker."""

    @property
    def total(self) -> int:
        return self.ready + self.failed + self.stopped


@dataclass(frozen=True, slots=True)
class Flag:
    """A change of what is flagged of a job."""

    job_id: int
    reason: str | None
    """What an operator should look at; None: nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage of a job, its status derived from its counters."""

    job_id: int
    stage: int
    name: str
    phase: JobStatus
    status: TaskStatus
    required: bool
    weight: float
    needs: tuple[str, ...]
    """What a worker must be able to do to run it."""
    waits_for: tuple[str, ...]
    """Of its ready tasks: what a worker must be able to do, while no worker can; for what tells of one job."""
    total: int
    done: int
    skipped: int
    failed: int
    running: int
    running_percent: float
    isolated: int
    """Tasks, ready or running, that have lost workers and run alone on one."""
    opened_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
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
    """What an operator should look at: a task that makes no progress."""
    flagged_at: datetime | None
    """Since when it is flagged."""
    version: int
    actor: str
    reason: str | None
    created_at: datetime
    started_at: datetime | None
    changed_at: datetime
    finished_at: datetime | None
    resource_id: int | None
    """The record of the engine's extension that the job was created for."""

    @property
    def ended(self) -> bool:
        """Whether nothing will ever change it again."""
        return self.status in FINISHED_JOBS


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetail:
    """A job with its stages, the plan made so far, its outputs and its progress in percent."""

    job: Job
    stages: tuple[Stage, ...]
    plan: Mapping[str, Json]
    outputs: Mapping[str, Json]
    progress: float


class ClaimState(StrEnum):
    """How a task stands with the workers, derived from its status, lease and error."""

    UNCLAIMED = "Unclaimed"
    CLAIMED = "Claimed"
    EXPIRED = "Expired"
    COMPLETED = "Completed"
    FAILED = "Failed"
    RETRYING = "Retrying"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
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
    """Whether it runs only on a worker that runs nothing else, because it has lost workers."""
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
    """Whether its lease has run out by the store's clock, and nobody has taken it back yet."""
    worker: str | None
    """The name of the worker that runs it, or ran it last; it outlives the worker's own row."""

    @property
    def claim_state(self) -> ClaimState:
        """How it stands with the workers. A cancelled task counts as failed, because nothing came of it."""
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
    """A graph that was declared under a pipeline's name."""

    name: str
    digest: str
    declared_at: datetime
    """When it was declared for the first time; the newest is the one with the latest such time."""
    stages: tuple[str, ...]
    current: bool
    """Whether new jobs of the name run it."""
    pinned: bool
    """Whether an operator has chosen it."""
    workers: tuple[str, ...]
    """Names of the workers that have its code and are not offline."""
    spec: Json = None
    """The JSON Schema of its jobs' specs; None where it takes any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
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
    """Handlers that were told to stop and did not; each holds a slot until it ends."""
    version: int
    registered_at: datetime
    last_heartbeat_at: datetime | None
    done: int = 0
    """Runs that it has completed."""
    failed: int = 0
    """Runs that it has reported as failed."""
    tasks: tuple[str, ...] = ()
    """What it runs, as JOB/STAGE/PART with the names of stages."""

    @property
    def shown(self) -> str:
        """The one word people read: idle, busy, draining, offline or disabled."""
        if not self.enabled:
            return "disabled"
        if self.status is not WorkerStatus.ACTIVE:
            return str(self.status)
        return "busy" if self.running or self.stuck else "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the record: audit trail, live feed and replay are these same rows."""

    cursor: str
    entity: str
    job_id: int | None
    stage: str | None
    """The name of the stage; its number as text where the job's pipeline is missing or unreadable."""
    stage_number: int | None
    """Which stage of its pipeline, as in a `TaskKey`."""
    part: int | None
    worker_id: int | None
    worker: str | None
    """The name of that worker; it outlives the worker's own row."""
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
    """How far a running task is: a value, not an event. Two are equal when they say the same."""

    key: TaskKey
    token: int
    percent: float
    message: str | None
    step: str | None
    at: datetime = field(compare=False)


@dataclass(frozen=True, slots=True)
class LogEntry:
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
    job_id: int
    id: int
    stage: int
    part: int
    token: int
    number: int
    at: datetime
    """When the store got it."""
    type: str
    started_at: datetime
    """By the clock of the worker."""
    argv: list[str]
    exit_code: int | None
    seconds: float
    output: str


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a listing; `after` asks for the next one and is None at the end."""

    items: list[T]
    after: str | None
