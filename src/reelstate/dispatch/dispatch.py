"""What a dispatch is: a bell that says where to look. The store is the truth; losing every ring costs latency alone."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Protocol


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
JOB_BELLS = (Bell.WORK, Bell.STOP, Bell.REST)
"""All that tell of jobs."""
WORKER_BELLS = (Bell.WORK, Bell.STOP)


class Listener(Protocol):
    async def wait(self, seconds: float) -> frozenset[Bell]:
        """The bells rung since the last call, as soon as there is one; none when the time is over."""
        ...

    def close(self) -> None: ...


class Dispatch(Protocol):
    """Belongs to the event loop that opened it; nothing of it may be called from another thread."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def ring(self, bell: Bell) -> None:
        """Say so to every process. It never waits and never fails; rings that come close together are one."""
        ...

    def listen(self, bells: Collection[Bell] = WORKER_BELLS) -> Listener:
        """A pair of ears of one's own for these bells."""
        ...
