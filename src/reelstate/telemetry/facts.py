"""Facts: typed records of what has just happened, emitted where it happens and received by sinks.

Services, worker, keeper, API and media emit facts and know nothing of metrics. A sink turns them into metrics. Without
a sink, `emit` is one empty loop. A fact about a transaction is given to `Transaction.note`, which emits it after the
commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple

logger = logging.getLogger("reelstate.telemetry")


ANY_STATE = "any"
"""The origin of a transition whose statement does not return the state that it replaced."""


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


class JobEnded(NamedTuple):
    """A job completed, failed, was cancelled or was quarantined."""

    status: str
    seconds: float
    """Since its creation."""


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


class ToolExited(NamedTuple):
    """A command such as ffmpeg exited."""

    program: str
    cause: str
    """`ok`, or the kind of its failure."""
    seconds: float


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
    | JobEnded
    | TaskClaimed
    | TasksFailed
    | LeasesReclaimed
    | AttemptEnded
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
