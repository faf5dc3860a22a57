"""What a dispatch is: a bell that says where to look, and perhaps hints at what is there.

The store is the truth; losing every ring and every hint costs latency alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol

from reelstate.connections.breaker import CircuitHealth
from reelstate.core.model import Json, TaskKey
from reelstate.dispatch.hints import ASK_STORE, ClaimFilter, Hints, MirrorSource, ReadyTask


class Wakeup(StrEnum):
    WORK = "work"
    """Tasks may have become ready."""
    STOP = "stop"
    """Tasks that run may have been taken from their workers: cancel, quarantine, force, disable, drain."""
    JOB_INACTIVE = "inactive"
    """Jobs may have come to rest: completed, failed, quarantined, cancelled."""
    STATE = "state"
    """Tasks may have said something of themselves."""


EVERY_WAKEUP = tuple(Wakeup)
WORKER_WAKEUPS = (Wakeup.WORK, Wakeup.STOP)


class Listener(Protocol):
    async def wait(self, seconds: float) -> frozenset[Wakeup]:
        """The bells rung since the last call, as soon as there is one; none when the time is over."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class DispatchHealth:
    """A dispatch as health checks and metrics show it."""

    kind: str
    queue: str = ""
    circuit: CircuitHealth | None = None
    reconciled_ago: float | None = None
    """Seconds since this process last compared Redis with the store."""


class Dispatch(Protocol):
    """Belongs to the event loop that opened it; nothing of it may be called from another thread.

    What is told of changes is told after their commit. None of it waits, and none of it fails.
    """

    mirrors: ClassVar[bool]
    """Whether it wants to know which tasks are ready."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def notify(self, bell: Wakeup) -> None:
        """Say so to every process. Rings that come close together are one."""
        ...

    def listen(self, bells: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:
        """A pair of ears of one's own for these bells."""
        ...

    def set_source(self, source: MirrorSource) -> None:
        """Where it may ask for what it mirrors."""
        ...

    def tasks_ready(self, job_ids: Collection[int] | None = None, known: Collection[ReadyTask] = ()) -> None:
        """These tasks have become ready, and perhaps some of these jobs, or of any; rings for work."""
        ...

    async def take_hints(self, asking: ClaimFilter, count: int) -> Hints:
        """Tasks to claim, at most so many. They come back by themselves unless it is said what became of them."""
        ...

    def settle_hints(self, asking: ClaimFilter, hints: Hints, claimed: Collection[TaskKey] | None) -> None:
        """Of these hints some were claimed; None: it is not known which were still good."""
        ...

    def tasks_claimed(self, claimed: Collection[TaskKey]) -> None:
        """These tasks were claimed without a hint."""
        ...

    def jobs_changed(self, job_ids: Collection[int]) -> None:
        """Jobs have got further, or have come to an end: there may be something to tell of them."""
        ...

    def publish(self, channel: str, subject: int | str, payload: Json) -> None:
        """Tell whoever subscribes to a channel how it is with a subject; of what comes close together, the last."""
        ...

    async def reconcile(self) -> None:
        """Compare what is mirrored with the store, and mend it both ways."""
        ...

    def health(self) -> DispatchHealth: ...


class HintlessDispatch(Dispatch):
    """A dispatch that knows no task: it rings, and whoever asks is told to look into the store."""

    mirrors = False

    def set_source(self, source: MirrorSource) -> None:
        """Nothing is mirrored."""

    def tasks_ready(
        self,
        job_ids: Collection[int] | None = None,  # noqa: ARG002 - a bell has no content
        known: Collection[ReadyTask] = (),  # noqa: ARG002 - same
    ) -> None:
        self.notify(Wakeup.WORK)

    async def take_hints(self, asking: ClaimFilter, count: int) -> Hints:  # noqa: ARG002 - the answer is always the same
        return ASK_STORE

    def settle_hints(self, asking: ClaimFilter, hints: Hints, claimed: Collection[TaskKey] | None) -> None:
        """There were none."""

    def tasks_claimed(self, claimed: Collection[TaskKey]) -> None:
        """Nothing was remembered."""

    def jobs_changed(self, job_ids: Collection[int]) -> None:
        """Nobody subscribes."""

    def publish(self, channel: str, subject: int | str, payload: Json) -> None:
        """Nobody subscribes."""

    async def reconcile(self) -> None:
        """Nothing is mirrored."""

    def health(self) -> DispatchHealth:
        return DispatchHealth("database")
