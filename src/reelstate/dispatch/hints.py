"""Hints: tasks that were ready a moment ago. Only a claim finds out whether they still are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from reelstate.core.model import Json, TaskKey


@dataclass(frozen=True, slots=True)
class Lane:
    """What a worker must have, and should have, to run the tasks of a lane."""

    pipeline: str
    needs: frozenset[str]
    prefers: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReadyTask:
    """A ready task as the store returns it. An isolated task has the negative number of its lane."""

    key: TaskKey
    priority: int
    number: int
    """The number of its lane."""
    lane: Lane


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """The pipelines and capabilities of the worker that asks for hints."""

    pipelines: frozenset[str]
    capabilities: frozenset[str]


@dataclass(frozen=True, slots=True)
class Hint:
    key: TaskKey
    lane: int
    ticket: str = ""
    """By which the queue identifies it."""


@dataclass(frozen=True, slots=True)
class Hints:
    """Tasks to claim, and whether to ask the store for more."""

    hints: list[Hint] = field(default_factory=list)
    look: bool = False

    @property
    def keys(self) -> list[TaskKey]:
        return [hint.key for hint in self.hints]


ASK_STORE = Hints(look=True)
NO_HINTS = Hints()
"""As far as is known, no task is ready."""


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """A message for the subscribers of a channel."""

    channel: str
    payload: Json


@dataclass(frozen=True, slots=True)
class MirrorSource:
    """How a dispatch reads from the store what it mirrors."""

    ready: Callable[[Collection[int] | None, int], Awaitable[list[ReadyTask]]]
    """Return the first ready tasks of these jobs (None: of all), in the order of claims, up to a limit."""
    messages: Callable[[Collection[int]], Awaitable[list[ChannelMessage]]]
    """Return the messages to publish about these jobs."""
