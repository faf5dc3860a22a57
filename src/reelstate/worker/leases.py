"""A task that this worker holds: its lease as seen from here, and what its run has said since the last report.

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

MAX_LINES = 1000
"""Log lines, and steps, kept between two reports; a handler that says more loses the oldest."""
MAX_STATES = 10_000
"""States kept between two reports; beyond it the oldest one that a newer one of its tag follows is let go."""
WHOLE = 100

Lease = tuple[TaskKey, int]


class Stop(StrEnum):
    """Why a run was stopped."""

    LOST = "its lease was lost"
    CANCELLED = "its job was cancelled"
    RELEASED = "its worker stops"
    TIMED_OUT = "its timeout is over"


class Reported(NamedTuple):
    """What is to be reported of a task, and who waits until it is stored."""

    progress: Progress
    waiting: tuple[Future[None], ...]


class HeldTask:
    __slots__ = (
        "_lines",
        "_lock",
        "_said",
        "_states",
        "_steps",
        "_waiting",
        "renewed_at",
        "run",
        "sending",
        "stop",
        "task",
    )

    def __init__(self, task: ClaimedTask, now: float) -> None:
        self.task = task
        self.renewed_at = now
        self.stop: Stop | None = None
        self.run: asyncio.Task[None] | None = None
        self.sending = False
        """Whether something that it said is on its way."""
        self._lock = threading.Lock()
        self._said: dict[str, Any] = {}
        self._lines: list[LogLine] = []
        self._steps: list[Step] = []
        self._states: list[TaskState] = []
        self._waiting: list[Future[None]] = []

    @property
    def lease(self) -> Lease:
        return self.task.key, self.task.token

    @property
    def expired(self) -> float:
        """When, by this machine's steady clock, the lease has surely run out."""
        return self.renewed_at + self.task.lease

    @property
    def has_said(self) -> bool:
        return bool(self._said or self._lines or self._steps or self._states or self._waiting)

    def note(self, percent: Any, message: str | None, step: str | None) -> None:
        """Remember the newest word on the progress; the next report carries it."""
        if percent is not None and not (isinstance(percent, int | float) and 0 <= percent <= WHOLE):
            raise InvalidRequest("percent", f"{percent!r} is not a percentage", hint="a number from 0 to 100")
        texts = {"message": message, "step": step}
        given = {name: str(text) for name, text in texts.items() if text is not None}
        with self._lock:
            self._said |= given if percent is None else {**given, "percent": percent}

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
            if len(self._states) > MAX_STATES:
                del self._states[_superseded(self._states)]

    def save(self, checkpoint: Json) -> Future[None]:
        """Have a checkpoint stored; the future is done when it is."""
        stored: Future[None] = Future()
        with self._lock:
            self._said["checkpoint"] = checkpoint
            self._waiting.append(stored)
        return stored

    def stored(self) -> Future[None]:
        """Done when all that was said so far is stored."""
        future: Future[None] = Future()
        with self._lock:
            self._waiting.append(future)
        return future

    def take(self) -> Reported:
        """All that was said since the last time."""
        key, token = self.lease
        with self._lock:
            self.sending = self.has_said
            said, self._said = self._said, {}
            lines, self._lines = self._lines, []
            steps, self._steps = self._steps, []
            states, self._states = self._states, []
            waiting, self._waiting = self._waiting, []
        lists: dict[str, Any] = {"logs": tuple(lines), "steps": tuple(steps), "states": tuple(states)}
        progress = Progress(key=key, token=token, **lists, **said)
        return Reported(progress, tuple(waiting))

    def give_up(self) -> None:
        """Nothing more of it will be stored."""
        refuse(self.take().waiting, Stopped(self.stop or Stop.LOST))


def _superseded(states: list[TaskState]) -> int:
    """The place of the oldest state that is not the newest of its tag."""
    newest = {state.tag: state.number for state in states}
    return next((place for place, state in enumerate(states) if newest[state.tag] != state.number), 0)


def refuse(waiting: Iterable[Future[None]], error: BaseException) -> None:
    for future in waiting:
        with contextlib.suppress(InvalidStateError):  # whoever waited has been cancelled, perhaps just now
            future.set_exception(error)
