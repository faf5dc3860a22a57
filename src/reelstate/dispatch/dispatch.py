"""What a dispatch is: wake-ups between processes that share a store, and perhaps hints at ready tasks.

The store is the truth: losing every wake-up and every hint costs only latency.
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
    """What a listener should look for in the store."""

    WORK = "work"
    """Tasks may have become ready."""
    STOP = "stop"
    """Running tasks may have been taken from their workers: cancel, quarantine, force, disable, drain."""
    JOB_INACTIVE = "inactive"
    """Jobs may have completed, failed, or been quarantined or cancelled."""
    STATE = "state"
    """Tasks may have published states."""


EVERY_WAKEUP = tuple(Wakeup)
WORKER_WAKEUPS = (Wakeup.WORK, Wakeup.STOP)


class Listener(Protocol):
    """Receives wake-ups until it is closed."""

    async def wait(self, seconds: float) -> frozenset[Wakeup]:
        """Return the wake-ups since the last call as soon as there is one; none when the time is over."""
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
    """Belongs to the event loop that opened it; none of its methods may be called from another thread.

    Changes are reported to it after their commit. Those methods neither wait nor fail.
    """

    mirrors: ClassVar[bool]
    """Whether it keeps hints at ready tasks."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def notify(self, wakeup: Wakeup) -> None:
        """Wake the listeners of every process. Calls in quick succession are sent as one."""
        ...

    def listen(self, wakeups: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:
        """Create a listener for these wake-ups."""
        ...

    def set_source(self, source: MirrorSource) -> None:
        """Set where it reads what it mirrors."""
        ...

    def tasks_ready(self, job_ids: Collection[int] | None = None, known: Collection[ReadyTask] = ()) -> None:
        """Report that the known tasks are ready, and perhaps others of these jobs (None: of any job)."""
        ...

    async def take_hints(self, claim_filter: ClaimFilter, limit: int) -> Hints:
        """Return up to `limit` tasks to claim. Hints that are not settled are handed out again after a while."""
        ...

    def settle_hints(self, claim_filter: ClaimFilter, hints: Hints, claimed: Collection[TaskKey] | None) -> None:
        """Report which of the hints were claimed; None if it is unknown which were still good."""
        ...

    def tasks_claimed(self, claimed: Collection[TaskKey]) -> None:
        """Report tasks that were claimed without a hint."""
        ...

    def jobs_changed(self, job_ids: Collection[int]) -> None:
        """Report jobs that advanced or stopped, so that messages about them are published."""
        ...

    def publish(self, channel: str, subject: int | str, payload: Json) -> None:
        """Send a message about a subject to the subscribers of a channel; of several in quick succession, the last."""
        ...

    async def reconcile(self) -> None:
        """Compare the mirror with the store and repair it."""
        ...

    def health(self) -> DispatchHealth: ...


class HintlessDispatch(Dispatch):
    """A dispatch with wake-ups only: every claim asks the store."""

    mirrors = False

    def set_source(self, source: MirrorSource) -> None:
        """Do nothing: there is no mirror."""

    def tasks_ready(
        self,
        job_ids: Collection[int] | None = None,  # noqa: ARG002 - a wake-up has no content
        known: Collection[ReadyTask] = (),  # noqa: ARG002 - same
    ) -> None:
        self.notify(Wakeup.WORK)

    async def take_hints(self, claim_filter: ClaimFilter, limit: int) -> Hints:  # noqa: ARG002 - there are none
        return ASK_STORE

    def settle_hints(self, claim_filter: ClaimFilter, hints: Hints, claimed: Collection[TaskKey] | None) -> None:
        """Do nothing: there are no hints."""

    def tasks_claimed(self, claimed: Collection[TaskKey]) -> None:
        """Do nothing: there are no hints."""

    def jobs_changed(self, job_ids: Collection[int]) -> None:
        """Do nothing: there are no subscribers."""

    def publish(self, channel: str, subject: int | str, payload: Json) -> None:
        """Do nothing: there are no subscribers."""

    async def reconcile(self) -> None:
        """Do nothing: there is no mirror."""

    def health(self) -> DispatchHealth:
        return DispatchHealth("database")
