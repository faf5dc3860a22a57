"""Hints: tasks that were ready a moment ago. Whether they still are, only a claim finds out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from reelstate.core.model import Json, TaskKey


@dataclass(frozen=True, slots=True)
class Lane:
    """Who may run the tasks of a lane: those who have the pipeline and what it needs."""

    pipeline: str
    needs: frozenset[str]
    prefers: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReadyTask:
    """A ready task, as the store tells of it; suspects wait in the mirror of their lane, a negative one."""

    key: TaskKey
    priority: int
    number: int
    """Of its lane."""
    lane: Lane


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """Who asks for hints: what they have code for and what they can do."""

    pipelines: frozenset[str]
    capabilities: frozenset[str]


@dataclass(frozen=True, slots=True)
class Hint:
    key: TaskKey
    lane: int
    ticket: str = ""
    """What the queue knows it by."""


@dataclass(frozen=True, slots=True)
class Hints:
    """What a dispatch answers: some tasks, and whether to look into the store for what they leave open."""

    hints: list[Hint] = field(default_factory=list)
    look: bool = False

    @property
    def keys(self) -> list[TaskKey]:
        return [hint.key for hint in self.hints]


ASK_STORE = Hints(look=True)
"""No hint: look yourself."""
NO_HINTS = Hints()
"""There is nothing to do, as far as is known."""


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """What is told to whoever subscribes to a channel."""

    channel: str
    payload: Json


@dataclass(frozen=True, slots=True)
class MirrorSource:
    """Where a dispatch that mirrors the store gets to know of it."""

    ready: Callable[[Collection[int] | None, int], Awaitable[list[ReadyTask]]]
    """The first so many ready tasks in the order of claims: of these jobs, or of all."""
    messages: Callable[[Collection[int]], Awaitable[list[ChannelMessage]]]
    """What there is to tell of these jobs."""
