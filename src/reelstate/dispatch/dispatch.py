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
from reelstate.dispatch.hints import LOOK, Asking, Hints, Source, Waiting


class Bell(StrEnum):
    WORK = "work"
    """Tasks may have become ready."""
    STOP = "stop"
    """Tasks that run may have been taken from their workers: cancel, quarantine, force, disable, drain."""
    REST = "rest"
    """Jobs may have come to rest: completed, failed, quarantined, cancelled."""
    STATE = "state"
    """Tasks may have said something of themselves."""


EVERY_BELL = tuple(Bell)
WORKER_BELLS = (Bell.WORK, Bell.STOP)


class Listener(Protocol):
    async def wait(self, seconds: float) -> frozenset[Bell]:
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

    def ring(self, bell: Bell) -> None:
        """Say so to every process. Rings that come close together are one."""
        ...

    def listen(self, bells: Collection[Bell] = WORKER_BELLS) -> Listener:
        """A pair of ears of one's own for these bells."""
        ...

    def serve(self, source: Source) -> None:
        """Where it may ask for what it mirrors."""
        ...

    def offer(self, job_ids: Collection[int] | None = None, known: Collection[Waiting] = ()) -> None:
        """These tasks have become ready, and perhaps some of these jobs, or of any; rings for work."""
        ...

    async def hints(self, asking: Asking, count: int) -> Hints:
        """Tasks to claim, at most so many. They come back by themselves unless it is said what became of them."""
        ...

    def settle(self, asking: Asking, hints: Hints, claimed: Collection[TaskKey] | None) -> None:
        """Of these hints some were claimed; None: it is not known which were still good."""
        ...

    def forget(self, claimed: Collection[TaskKey]) -> None:
        """These tasks were claimed without a hint."""
        ...

    def changed(self, job_ids: Collection[int]) -> None:
        """Jobs have got further, or have come to an end: there may be something to tell of them."""
        ...

    def tell(self, channel: str, subject: int | str, payload: Json) -> None:
        """Tell whoever subscribes to a channel how it is with a subject; of what comes close together, the last."""
        ...

    async def reconcile(self) -> None:
        """Compare what is mirrored with the store, and mend it both ways."""
        ...

    def health(self) -> DispatchHealth: ...


class Unhinted(Dispatch):
    """A dispatch that knows no task: it rings, and whoever asks is told to look into the store."""

    mirrors = False

    def serve(self, source: Source) -> None:
        """Nothing is mirrored."""

    def offer(
        self,
        job_ids: Collection[int] | None = None,  # noqa: ARG002 - a bell has no content
        known: Collection[Waiting] = (),  # noqa: ARG002 - same
    ) -> None:
        self.ring(Bell.WORK)

    async def hints(self, asking: Asking, count: int) -> Hints:  # noqa: ARG002 - the answer is always the same
        return LOOK

    def settle(self, asking: Asking, hints: Hints, claimed: Collection[TaskKey] | None) -> None:
        """There were none."""

    def forget(self, claimed: Collection[TaskKey]) -> None:
        """Nothing was remembered."""

    def changed(self, job_ids: Collection[int]) -> None:
        """Nobody subscribes."""

    def tell(self, channel: str, subject: int | str, payload: Json) -> None:
        """Nobody subscribes."""

    async def reconcile(self) -> None:
        """Nothing is mirrored."""

    def health(self) -> DispatchHealth:
        return DispatchHealth("database")
