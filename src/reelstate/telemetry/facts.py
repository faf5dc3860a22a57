"""Facts: typed records of what has just happened, emitted where it happens and received by sinks.

Services, worker, keeper, API and media emit facts and know nothing of metrics and traces. Sinks turn them into metrics
and spans. Without a sink, `emit` is one empty loop. A fact about a transaction is given to `Transaction.note`, which
emits it after the commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from reelstate.core.model import Json
from reelstate.telemetry.trace_context import TraceContext

logger = logging.getLogger("reelstate.telemetry")


ANY_STATE = "any"
"""The origin of a transition whose statement does not return the state that it replaced."""
_NO_IDS: Final[Mapping[str, Any]] = MappingProxyType({})


class TracedJob(NamedTuple):
    """A job that belongs to a trace."""

    job_id: int
    trace: str
    """The context in its row."""
    pipeline: str


class JobCreated(NamedTuple):
    """A job was submitted."""

    pipeline: str


class Transition(NamedTuple):
    """Rows of a state machine moved from `origin` to `target`."""

    machine: str
    origin: str
    """Empty for a new row, or `ANY_STATE`."""
    target: str
    number: int = 1
    seconds: float | None = None
    """How long the row was in `origin`, where that is known."""


class JobsSent(NamedTuple):
    """Jobs were submitted by a process that sends spans."""

    span: TraceContext
    parent: TraceContext | None
    """The span of the submitter."""
    jobs: tuple[TracedJob, ...]
    seconds: float


class JobEnded(NamedTuple):
    """A job completed, failed, was cancelled or was quarantined."""

    status: str
    seconds: float
    """Since its creation."""
    job: TracedJob | None = None
    error: Json = None
    """Why it failed, of a traced job."""


class StageEnded(NamedTuple):
    """A stage of a traced job closed, or its job ended before."""

    job: TracedJob
    stage: int
    name: str
    phase: str
    parts: int
    failed: int
    seconds: float
    """Since it was opened."""


class TaskClaimed(NamedTuple):
    """A worker was leased a task."""

    pipeline: str
    stage: str
    attempt: int
    waited: float | None
    """Seconds that it was ready; None where the answer to the claim had been lost."""


class TasksFailed(NamedTuple):
    """Attempts failed: some tasks are tried again, some have no attempt left, the others failed for good at once."""

    retried: int
    exhausted: int
    final: int


class LeasesReclaimed(NamedTuple):
    """A keeper took back leases."""

    cause: str
    """`lease expired`, `worker died`, `stalled` or `timed out`."""
    target: str
    """The state of the tasks now."""
    number: int


class AttemptEnded(NamedTuple):
    """A run of a task ended in this process."""

    pipeline: str
    stage: str
    outcome: str
    """`completed`, `skipped`, `retried`, `failed`, or why it was stopped: `lost`, `cancelled`, `released`."""
    seconds: float


class AttemptRecorded(NamedTuple):
    """An attempt of a traced job is over in the store: its worker has reported it, or a keeper has taken it back."""

    job: TracedJob
    stage: int
    name: str
    part: int
    token: int
    attempt: int
    worker: str
    """The name of the worker; its id where a keeper says it."""
    outcome: str
    """As in `AttemptEnded`, or the cause for which a keeper took the lease back."""
    seconds: float
    ended: float | None = None
    """When it ended, in seconds since 1970; None for now."""
    error: Json = None


class DutyRun(NamedTuple):
    """A keeper ran one of its duties."""

    duty: str
    seconds: float
    failed: bool


class RequestAnswered(NamedTuple):
    """The server answered an HTTP request."""

    method: str
    route: str
    status: int
    seconds: float
    span: TraceContext | None = None
    """Its span, where it belongs to a trace."""
    parent: TraceContext | None = None
    """The span of its client."""


class ToolExited(NamedTuple):
    """A command such as ffmpeg exited."""

    program: str
    cause: str
    """`ok`, or the kind of its failure."""
    seconds: float
    exit_code: int | None = None
    ids: Mapping[str, Any] = _NO_IDS
    """The ids of the run that started it."""


class Encoded(NamedTuple):
    """One command encoded a stretch of media for a rung."""

    rung: str
    media_seconds: float
    seconds: float


class StateWritten(NamedTuple):
    """The state manager stored a state, or failed to."""

    seconds: float
    failed: bool


class CacheRead(NamedTuple):
    """A cache answered a read, or did not."""

    cache: str
    """`states` or `sources`."""
    hit: bool


class FeedDelivered(NamedTuple):
    """A subscriber received an item."""

    seconds: float
    """Since it was stored."""


class FeedReplayed(NamedTuple):
    """A subscriber received everything that it had missed."""

    seconds: float


class FeedEvent(NamedTuple):
    """Something that should be rare happened to a feed."""

    kind: str
    """`reconnected`, `dropped`, `overflow` or `drift`."""
    number: int = 1


Fact = (
    JobCreated
    | Transition
    | JobsSent
    | JobEnded
    | StageEnded
    | TaskClaimed
    | TasksFailed
    | LeasesReclaimed
    | AttemptEnded
    | AttemptRecorded
    | DutyRun
    | RequestAnswered
    | ToolExited
    | Encoded
    | StateWritten
    | CacheRead
    | FeedDelivered
    | FeedReplayed
    | FeedEvent
)
Sink = Callable[[Fact], None]

_sinks: tuple[Sink, ...] = ()


def listening() -> bool:
    """Whether anything receives facts; code that would emit many checks it first."""
    return bool(_sinks)


def add_sink(sink: Sink) -> None:
    """Let a sink receive every fact of this process. It may be called from any thread."""
    global _sinks  # noqa: PLW0603 - there is one stream of facts in a process, as there is one of log records
    _sinks = (*_sinks, sink)


def remove_sink(sink: Sink) -> None:
    global _sinks  # noqa: PLW0603 - same
    _sinks = tuple(each for each in _sinks if each is not sink)


def emit(fact: Fact) -> None:
    """Give a fact to every sink. An error of a sink is logged and does not reach the caller."""
    for sink in _sinks:
        try:
            sink(fact)
        except Exception:
            logger.exception("fact lost fact=%s", type(fact).__name__)


def emit_all(facts: Iterable[Fact]) -> None:
    for fact in facts:
        emit(fact)
