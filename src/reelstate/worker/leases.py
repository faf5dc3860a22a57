"""A task that this worker holds: its lease as known here, and what its run has reported since the last heartbeat.

The run writes from the event loop, a thread or (through a pipe) a process; the heartbeat reads from its own thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterable
from concurrent.futures import Future, InvalidStateError
from enum import StrEnum
from typing import Any, NamedTuple

from reelstate.core.errors import InvalidRequest
from reelstate.core.model import ClaimedTask, Json, LogLine, Progress, Step, TaskKey, TaskState
from reelstate.core.outcome import Stopped
from reelstate.telemetry.facts import AttemptRecorded

MAX_LINES = 1000
"""Log lines, and steps, kept between two reports; beyond it the oldest are dropped."""
MAX_STATES = 10_000
"""States kept between two reports; beyond it the oldest state that has a newer one of the same tag is dropped."""
MAX_PERCENT = 100

Lease = tuple[TaskKey, int]
"""A task and the token of its run."""


class Stop(StrEnum):
    """Why a run was stopped."""

    LOST = "lease lost"
    CANCELLED = "job cancelled"
    RELEASED = "worker stopping"
    TIMED_OUT = "timed out"


class PendingReport(NamedTuple):
    """What to report of a task, and the futures to resolve when it is stored."""

    progress: Progress
    waiting: tuple[Future[None], ...]


class HeldTask:
    """A claimed task with what its run has reported but the heartbeat has not sent."""

    __slots__ = (
        "_lines",
        "_lock",
        "_max_states",
        "_states",
        "_steps",
        "_values",
        "_waiting",
        "lease",
        "record",
        "renewed_at",
        "run",
        "sending",
        "stop",
        "task",
    )

    def __init__(self, task: ClaimedTask, now: float, *, max_states: int = MAX_STATES) -> None:
        self.task = task
        self.lease: Lease = (task.key, task.token)
        self.renewed_at = now
        self.stop: Stop | None = None
        self.run: asyncio.Task[None] | None = None
        self.record: AttemptRecorded | None = None
        """What to emit of a traced attempt that has ended, when the store knows its outcome."""
        self.sending = False
        """Whether a report of it is being sent."""
        self._max_states = max_states
        self._lock = threading.Lock()
        self._values: dict[str, Any] = {}
        self._lines: list[LogLine] = []
        self._steps: list[Step] = []
        self._states: list[TaskState] = []
        self._waiting: list[Future[None]] = []

    @property
    def log_fields(self) -> str:
        """The fields that name this run in a log line."""
        return lease_fields(self.lease, self.task.stage_name)

    @property
    def ids(self) -> dict[str, Any]:
        """The ids of this run, for everything that is logged in it."""
        key, token = self.lease
        task = self.task
        return {
            "job": key.job_id,
            "stage": task.stage_name,
            "part": key.part,
            "token": token,
            "attempt": task.attempt,
        }

    @property
    def expires_at(self) -> float:
        """When, by this machine's monotonic clock, the lease has expired for certain."""
        return self.renewed_at + self.task.lease

    @property
    def has_unsent(self) -> bool:
        return bool(self._values or self._lines or self._steps or self._states or self._waiting)

    def note(self, percent: Any, message: str | None, step: str | None) -> None:
        """Replace the progress that the next report sends. Raise InvalidRequest for a percent outside of 0 to 100."""
        if percent is not None and not (isinstance(percent, int | float) and 0 <= percent <= MAX_PERCENT):
            raise InvalidRequest("percent", f"{percent!r} is not a percentage", hint="a number from 0 to 100")
        texts = {"message": message, "step": step}
        given = {name: str(text) for name, text in texts.items() if text is not None}
        with self._lock:
            self._values |= given if percent is None else {**given, "percent": percent}

    def log(self, line: LogLine) -> None:
        with self._lock:
            self._lines.append(line)
            del self._lines[:-MAX_LINES]

    def step(self, step: Step) -> None:
        with self._lock:
            self._steps.append(step)
            del self._steps[:-MAX_LINES]

    def state(self, state: TaskState) -> None:
        with self._lock:
            self._states.append(state)
            if len(self._states) > self._max_states:
                del self._states[_superseded_index(self._states)]

    def save(self, checkpoint: Json) -> Future[None]:
        """Send a checkpoint with the next report; the future resolves when it is stored."""
        stored: Future[None] = Future()
        with self._lock:
            self._values["checkpoint"] = checkpoint
            self._waiting.append(stored)
        return stored

    def when_stored(self) -> Future[None]:
        """Return a future that resolves when everything reported so far is stored."""
        future: Future[None] = Future()
        with self._lock:
            self._waiting.append(future)
        return future

    def take_report(self) -> PendingReport:
        """Remove and return everything that was reported since the last call."""
        key, token = self.lease
        with self._lock:
            self.sending = self.has_unsent
            values, self._values = self._values, {}
            lines, self._lines = self._lines, []
            steps, self._steps = self._steps, []
            states, self._states = self._states, []
            waiting, self._waiting = self._waiting, []
        lists: dict[str, Any] = {"logs": tuple(lines), "steps": tuple(steps), "states": tuple(states)}
        progress = Progress(key=key, token=token, **lists, **values)
        return PendingReport(progress, tuple(waiting))

    def discard_report(self) -> None:
        """Drop what is unsent and fail the futures that wait for it."""
        fail_futures(self.take_report().waiting, Stopped(self.stop or Stop.LOST))


def lease_fields(lease: Lease, stage: str | None = None) -> str:
    """Return the fields that name a run in a log line; without the stage's name its number is shown."""
    key, token = lease
    return f"job={key.job_id} stage={stage or key.stage} part={key.part} token={token}"


def fail_futures(waiting: Iterable[Future[None]], error: BaseException) -> None:
    for future in waiting:
        with contextlib.suppress(InvalidStateError):  # its waiter was cancelled
            future.set_exception(error)


def _superseded_index(states: list[TaskState]) -> int:
    """Return the index of the oldest state that is not the newest of its tag."""
    newest = {state.tag: state.number for state in states}
    return next((index for index, state in enumerate(states) if newest[state.tag] != state.number), 0)
