"""What a task says of itself, per tag: a status number, a message, a payload; and many such states as one.

The lowest status stands for all: an error before what has not started, that before what is under way, and finished
last. A warning is no status: it marks a message, and leaves the status as it was.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple

from reelstate.core.document import LIMITS, DocumentLimits, encode, plain_text, shorten, whole_number
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.model import Json, TaskState

NOT_STARTED: Final = 0
STARTED: Final = 1
FINISHED: Final = 2**31 - 1
FAILED: Final = -1
LOWEST: Final = -(2**31)

MAX_JOB_ID_LENGTH: Final = 200
MAX_TAG_LENGTH: Final = 200
MAX_EVENT_ID_LENGTH: Final = 200
MAX_TASKS: Final = 1_000_000
MAX_TAGS: Final = 1_000
_OF_A_STAGE: Final = re.compile(r"\d+\.[a-z][a-z0-9_-]*", re.ASCII)
ALIKE: Final = "every process says the same of a job"
BEGINNING: Final = datetime.fromtimestamp(0, UTC)


class Severity(StrEnum):
    """How a message is to be taken."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class StateKey(NamedTuple):
    task: int
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One version of what a task said under a tag."""

    job_id: str
    task: int
    tag: str
    status: int = NOT_STARTED
    severity: Severity = Severity.INFO
    message: str = ""
    payload: Json = None
    schema_version: int = 1
    timestamp: datetime = BEGINNING
    """By the store's clock; the beginning of time for a state that nobody has written."""
    version: int = 0
    """From 1, without a gap, per task and tag; 0 for a state that nobody has written."""
    event_id: str = ""
    generation: int = 1
    """Of the job: versions of a job that was deleted and created again start from 1."""

    @property
    def key(self) -> StateKey:
        return StateKey(self.task, self.tag)

    @property
    def finished(self) -> bool:
        return self.status == FINISHED

    @property
    def failed(self) -> bool:
        return self.status < NOT_STARTED


@dataclass(frozen=True, slots=True, kw_only=True)
class StateWrite:
    """What is to be said. The same `event_id` again is the same write: it is answered as the first time."""

    job_id: str
    task: int
    tag: str
    event_id: str
    status: int | None = None
    """None leaves the status as it is."""
    severity: Severity = Severity.INFO
    message: str = ""
    payload: Json = None
    schema_version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StateJob:
    """The job that states belong to: how many tasks it has, and which tags each of them is to report."""

    job_id: str
    tasks: int
    tags: tuple[str, ...] = ()
    generation: int = 1
    """Raised when the job is deleted and made anew, so that nobody mistakes the new one for the old."""


class JobStates(NamedTuple):
    """A job as it is stored, and the newest states of it that were asked for."""

    job: StateJob
    states: Sequence[State]


def validate_write(write: StateWrite, job: StateJob, limits: DocumentLimits = LIMITS) -> StateWrite:
    """The write, if it can be stored: each mistake is named, and nothing is stored for it."""
    if write.job_id != job.job_id:
        raise InvalidRequest("job_id", f"{write.job_id!r} is not {job.job_id!r}", hint="a manager serves one job")
    validate_task(write.task, job.tasks)
    validate_tag(write.tag)
    if write.status is not None:
        validate_status(write.status)
    if not write.event_id:
        raise InvalidRequest("event_id", "is empty", hint="leave it out for a new one, or repeat that of the write")
    plain_text("event_id", write.event_id, MAX_EVENT_ID_LENGTH)
    plain_text("message", write.message, limits.message)
    if type(write.schema_version) is not int or not 1 <= write.schema_version <= FINISHED:
        raise InvalidRequest("schema_version", f"{write.schema_version!r} is no version", hint="a whole number from 1")
    if write.payload is not None:
        encode("payload", write.payload, limits.checkpoint)
    return replace(write, severity=validate_severity(write.severity))


def normalise_state(said: TaskState, limits: DocumentLimits) -> TaskState:
    """What a run says of itself as it is stored: checked, and its message cut to what may be."""
    whole_number("state.number", said.number, FINISHED)
    validate_tag(said.tag)
    if said.status is not None:
        validate_status(said.status)
    if said.payload is not None:
        encode("payload", said.payload, limits.checkpoint)
    return replace(said, message=shorten(str(said.message), limits.message), severity=validate_severity(said.severity))


def stage_job(job_id: int, stage: str) -> str:
    """The job that the states of a stage belong to."""
    return f"{job_id}.{stage}"


def refuse_stage_job(job_id: str) -> None:
    """Refuse what only the tasks of a stage may write: their words are fenced by their tokens."""
    if _OF_A_STAGE.fullmatch(job_id):
        raise InvalidRequest("job_id", f"{job_id!r} belongs to a stage", hint="its tasks write it, with task.state(…)")


def next_state(before: State | None, write: StateWrite, now: datetime, generation: int = 1) -> State:
    """The state that a write makes of the one before it."""
    status = write.status
    if status is None:
        status = before.status if before else NOT_STARTED
    return State(
        job_id=write.job_id,
        task=write.task,
        tag=write.tag,
        status=status,
        severity=write.severity,
        message=write.message,
        payload=write.payload,
        schema_version=write.schema_version,
        timestamp=now,
        version=before.version + 1 if before else 1,
        event_id=write.event_id,
        generation=generation,
    )


def require_same_job(wanted: StateJob, stored: StateJob) -> None:
    """Two processes that do not agree on the job would each be right for themselves alone."""
    if wanted.tasks != stored.tasks:
        message = f"is {wanted.tasks}, but job {stored.job_id!r} has {stored.tasks}"
        raise InvalidRequest("num_tasks", message, hint=ALIKE)
    if wanted.tags and wanted.tags != stored.tags:
        shown = ", ".join(stored.tags) or "none"
        raise InvalidRequest("tags", f"differ from those of job {stored.job_id!r}: {shown}", hint=ALIKE)


def require_generation(stored: StateJob, generation: int) -> None:
    if stored.generation != generation:
        raise NotFound("states of job", f"{stored.job_id!r} as it was: it was deleted and made anew")


def validate_severity(severity: str) -> Severity:
    if severity not in list(Severity):
        raise InvalidRequest("severity", f"{severity!r} is none", hint=f"one of {', '.join(Severity)}")
    return Severity(severity)


def validate_job(job: StateJob) -> StateJob:
    if not job.job_id:
        raise InvalidRequest("job_id", "is empty", hint="any text that names the job")
    _slashless("job_id", plain_text("job_id", job.job_id, MAX_JOB_ID_LENGTH))
    if type(job.tasks) is not int or not 1 <= job.tasks <= MAX_TASKS:
        raise InvalidRequest("num_tasks", f"{job.tasks!r} is no number of tasks", hint=f"from 1 to {MAX_TASKS:,}")
    if len(job.tags) > MAX_TAGS:
        raise InvalidRequest("tags", f"there are {len(job.tags)}", hint=f"at most {MAX_TAGS}")
    return replace(job, tags=tuple(sorted({validate_tag(tag) for tag in job.tags})))


def validate_task(task: int, tasks: int) -> int:
    if type(task) is not int or not 0 <= task < tasks:
        raise InvalidRequest("task", f"{task!r} is not one of the job's tasks", hint=f"0 to {tasks - 1}")
    return task


def validate_tag(tag: str) -> str:
    given: object = tag
    if not isinstance(given, str) or not given:
        raise InvalidRequest("tag", f"{tag!r} is no tag", hint="a short word such as ingest")
    return _slashless("tag", plain_text("tag", tag, MAX_TAG_LENGTH))


def validate_status(status: int) -> int:
    if type(status) is not int or not LOWEST <= status <= FINISHED:
        raise InvalidRequest("status", f"{status!r} is no 32-bit status", hint=f"{LOWEST} to {FINISHED}, 0 not started")
    return status


def aggregate(job: StateJob, states: Iterable[State], task: int | None = None, tag: str | None = None) -> State:
    """The state that stands for a scope: one task and tag, all tasks of a tag, all tags of a task, or everything.

    What nobody has written counts as not started: each task of a tag, each expected tag of a task, and each task that
    has said nothing at all. Of equals the one with the lowest task stands for them, then the oldest.
    """
    known = [each for each in states if task in (None, each.task) and tag in (None, each.tag)]
    missing = _unwritten(job, {each.key for each in known}, task, tag)
    return lowest((*known, *missing))


def lowest(states: Iterable[State]) -> State:
    """The state that stands for these: the lowest status, of equals the lowest task, then the oldest."""
    return min(states, key=_precedence)


def unwritten_state(job: StateJob, key: StateKey) -> State:
    """The state of a task that has said nothing under a tag."""
    return State(job_id=job.job_id, task=key.task, tag=key.tag, generation=job.generation)


def _precedence(state: State) -> tuple[int, int, datetime, str]:
    return state.status, state.task, state.timestamp, state.tag


def _unwritten(job: StateJob, known: Collection[StateKey], task: int | None, tag: str | None) -> list[State]:
    """The first state that is missing is enough: all of them are alike, but for the task."""
    tags = (tag,) if tag is not None else job.tags
    spoken = {key.task for key in known}
    for each in range(job.tasks) if task is None else (task,):
        for wanted in tags:
            if StateKey(each, wanted) not in known:
                return [unwritten_state(job, StateKey(each, wanted))]
        if not tags and each not in spoken:
            return [unwritten_state(job, StateKey(each, ""))]
    return []


def _slashless(field: str, text: str) -> str:
    if "/" in text:
        raise InvalidRequest(field, f"{text[:50]!r} has a slash in it", hint="use another sign: a slash parts paths")
    return text
