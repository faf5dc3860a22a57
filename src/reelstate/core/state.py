"""States of tasks per tag: a status number, a message and a payload; and the aggregate of many states.

The lowest status is the aggregate: errors first, then not started, started and finished. A warning is not a status: it
marks a message and leaves the status unchanged.
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
ALIKE: Final = "use the same value in every process"
BEGINNING: Final = datetime.fromtimestamp(0, UTC)


class Severity(StrEnum):
    """The severity of a message."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class StateKey(NamedTuple):
    """The identity of a state within its job."""

    task: int
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One version of the state of a task under a tag."""

    job_id: str
    task: int
    tag: str
    status: int = NOT_STARTED
    severity: Severity = Severity.INFO
    message: str = ""
    payload: Json = None
    schema_version: int = 1
    timestamp: datetime = BEGINNING
    """By the store's clock; 1970 for a state that was never written."""
    version: int = 0
    """Consecutive from 1 per task and tag; 0 for a state that was never written."""
    event_id: str = ""
    generation: int = 1
    """The generation of the job; versions restart from 1 when a deleted job is created again."""

    @property
    def key(self) -> StateKey:
        """The task and the tag."""
        return StateKey(self.task, self.tag)

    @property
    def finished(self) -> bool:
        """Whether the status is finished."""
        return self.status == FINISHED

    @property
    def failed(self) -> bool:
        """Whether the status is an error."""
        return self.status < NOT_STARTED


@dataclass(frozen=True, slots=True, kw_only=True)
class StateWrite:
    """A state to write. A repeated `event_id` is the same write and returns the first result."""

    job_id: str
    task: int
    tag: str
    event_id: str
    status: int | None = None
    """None leaves the status unchanged."""
    severity: Severity = Severity.INFO
    message: str = ""
    payload: Json = None
    schema_version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StateJob:
    """The job of states: the number of its tasks, and the tags that each of them reports."""

    job_id: str
    tasks: int
    tags: tuple[str, ...] = ()
    generation: int = 1
    """Incremented when a deleted job is created again."""


class JobStates(NamedTuple):
    """A stored job with its requested newest states."""

    job: StateJob
    states: Sequence[State]


def validate_write(write: StateWrite, job: StateJob, limits: DocumentLimits = LIMITS) -> StateWrite:
    """Return a write that can be stored. Raises `InvalidRequest`."""
    if write.job_id != job.job_id:
        raise InvalidRequest("job_id", f"invalid value {write.job_id!r}", hint=f"the manager serves job {job.job_id!r}")
    validate_task(write.task, job.tasks)
    validate_tag(write.tag)
    if write.status is not None:
        validate_status(write.status)
    if not write.event_id:
        raise InvalidRequest(
            "event_id", "is empty", hint="leave it out for a new write, or repeat that of an earlier one"
        )
    plain_text("event_id", write.event_id, MAX_EVENT_ID_LENGTH)
    plain_text("message", write.message, limits.message)
    if type(write.schema_version) is not int or not 1 <= write.schema_version <= FINISHED:
        raise InvalidRequest(
            "schema_version", f"invalid value {write.schema_version!r}", hint="expected a whole number from 1"
        )
    if write.payload is not None:
        encode("payload", write.payload, limits.checkpoint)
    return replace(write, severity=validate_severity(write.severity))


def normalise_state(state: TaskState, limits: DocumentLimits) -> TaskState:
    """Return a reported state as stored: checked, its message cut to the limit. Raises `InvalidRequest`."""
    whole_number("state.number", state.number, FINISHED)
    validate_tag(state.tag)
    if state.status is not None:
        validate_status(state.status)
    if state.payload is not None:
        encode("payload", state.payload, limits.checkpoint)
    return replace(
        state, message=shorten(str(state.message), limits.message), severity=validate_severity(state.severity)
    )


def stage_job(job_id: int, stage: str) -> str:
    """Return the id of the state job of a stage."""
    return f"{job_id}.{stage}"


def refuse_stage_job(job_id: str) -> None:
    """Raise `InvalidRequest` for the state job of a stage, which only its tasks write, fenced by tokens."""
    if _OF_A_STAGE.fullmatch(job_id):
        raise InvalidRequest(
            "job_id", f"{job_id!r} belongs to a stage", hint="write it in a handler, with task.state(…)"
        )


def next_state(before: State | None, write: StateWrite, now: datetime, generation: int = 1) -> State:
    """Return the state after a write."""
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
    """Raise `InvalidRequest` if a process declares a job with other tasks or tags than stored."""
    if wanted.tasks != stored.tasks:
        message = f"is {wanted.tasks}, but job {stored.job_id!r} has {stored.tasks}"
        raise InvalidRequest("num_tasks", message, hint=ALIKE)
    if wanted.tags and wanted.tags != stored.tags:
        shown = ", ".join(stored.tags) or "none"
        raise InvalidRequest("tags", f"differ from those of job {stored.job_id!r}: {shown}", hint=ALIKE)


def require_generation(stored: StateJob, generation: int) -> None:
    """Raise `NotFound` if a job was deleted and created again."""
    if stored.generation != generation:
        raise NotFound(
            "states of job", f"{stored.job_id!r} in generation {generation}: it was deleted and created again"
        )


def validate_severity(severity: str) -> Severity:
    """Return the severity of this name. Raises `InvalidRequest`."""
    if severity not in list(Severity):
        raise InvalidRequest("severity", f"invalid value {severity!r}", hint=f"expected one of {', '.join(Severity)}")
    return Severity(severity)


def validate_job(job: StateJob) -> StateJob:
    """Return a job with sorted tags. Raises `InvalidRequest`."""
    if not job.job_id:
        raise InvalidRequest("job_id", "is empty", hint="expected a text that names the job")
    _refuse_slash("job_id", plain_text("job_id", job.job_id, MAX_JOB_ID_LENGTH))
    if type(job.tasks) is not int or not 1 <= job.tasks <= MAX_TASKS:
        raise InvalidRequest("num_tasks", f"invalid value {job.tasks!r}", hint=f"expected 1 to {MAX_TASKS:,}")
    if len(job.tags) > MAX_TAGS:
        raise InvalidRequest("tags", f"{len(job.tags)} are too many", hint=f"expected at most {MAX_TAGS}")
    return replace(job, tags=tuple(sorted({validate_tag(tag) for tag in job.tags})))


def validate_task(task: int, tasks: int) -> int:
    """Return the number of a task. Raises `InvalidRequest`."""
    if type(task) is not int or not 0 <= task < tasks:
        raise InvalidRequest("task", f"invalid value {task!r}", hint=f"expected 0 to {tasks - 1}")
    return task


def validate_tag(tag: str) -> str:
    """Return a tag. Raises `InvalidRequest`."""
    given: object = tag
    if not isinstance(given, str) or not given:
        raise InvalidRequest("tag", f"invalid value {tag!r}", hint="expected a short text such as ingest")
    return _refuse_slash("tag", plain_text("tag", tag, MAX_TAG_LENGTH))


def validate_status(status: int) -> int:
    """Return a 32-bit status. Raises `InvalidRequest`."""
    if type(status) is not int or not LOWEST <= status <= FINISHED:
        raise InvalidRequest(
            "status", f"invalid value {status!r}", hint=f"expected {LOWEST} to {FINISHED}; 0 is not started"
        )
    return status


def aggregate(job: StateJob, states: Iterable[State], task: int | None = None, tag: str | None = None) -> State:
    """Return the lowest state of a scope: one task and tag, all tasks of a tag, all tags of a task, or everything.

    A state that was never written counts as not started: for each task of a tag, each expected tag of a task, and each
    task without any state. Of equal statuses the lowest task is returned, then the oldest.
    """
    known = [each for each in states if task in (None, each.task) and tag in (None, each.tag)]
    missing = _unwritten(job, {each.key for each in known}, task, tag)
    return lowest((*known, *missing))


def lowest(states: Iterable[State]) -> State:
    """Return the state with the lowest status; of equal ones the lowest task, then the oldest."""
    return min(states, key=_precedence)


def unwritten_state(job: StateJob, key: StateKey) -> State:
    """Return the state of a task that has written none under a tag."""
    return State(job_id=job.job_id, task=key.task, tag=key.tag, generation=job.generation)


def _precedence(state: State) -> tuple[int, int, datetime, str]:
    return state.status, state.task, state.timestamp, state.tag


def _unwritten(job: StateJob, known: Collection[StateKey], task: int | None, tag: str | None) -> list[State]:
    """Return the first missing state; the others differ only in their task."""
    tags = (tag,) if tag is not None else job.tags
    written = {key.task for key in known}
    for each in range(job.tasks) if task is None else (task,):
        for wanted in tags:
            if StateKey(each, wanted) not in known:
                return [unwritten_state(job, StateKey(each, wanted))]
        if not tags and each not in written:
            return [unwritten_state(job, StateKey(each, ""))]
    return []


def _refuse_slash(field: str, text: str) -> str:
    if "/" in text:
        raise InvalidRequest(
            field, f"{text[:50]!r} contains a slash", hint="slashes separate paths: use another character"
        )
    return text
