"""What a contestant must be able to do: the contract between the harness and a system.

The harness makes a fresh database, calls `prepare`, warms up with a small `submit_…` and
`drain_…` of the same kind, then measures with the same two calls on the full count. Every call
returns a rate per second that the system took itself, so that connecting, starting a worker or an
interpreter is never counted.

A contestant is a module with a class of this contract under the name `system` and, where something
has to be installed first, a function `install()` that raises `Unavailable` when it can't.
"""

from typing import Literal, Protocol, runtime_checkable

EventLoop = Literal["asyncio", "uvloop"]

BATCH = 1_000
"""Jobs handed over in one call where a system takes many at once."""


IDLE = 0.03
"""Seconds of pause before a dispatch is measured, so that the worker is idle."""


class System(Protocol):
    """Simple jobs only: one stage, one task. What every peer can do."""

    event_loop: EventLoop
    settings: str
    """A description of the setup for the published table."""

    def versions(self) -> dict[str, str]:
        """Names and versions of what is being measured."""

    async def prepare(self, url: str) -> None:
        """Install the schema in the database at `url` unless it is there, and connect."""

    async def submit_simple(self, count: int) -> float:
        """Submit `count` no-op jobs with a payload of about 100 bytes; jobs per second."""

    async def drain_simple(self, count: int) -> float:
        """Run the `count` waiting jobs, first handler start to last row finished; jobs per second."""

    async def close(self) -> None:
        """Disconnect."""


@runtime_checkable
class PartitionedSystem(System, Protocol):
    """Also one job of many tasks: the engine and the ceiling."""

    async def submit_partitioned(self, count: int) -> float:
        """Submit one job whose only stage has `count` no-op tasks; tasks per second."""

    async def drain_partitioned(self, count: int) -> float:
        """Claim and complete its `count` tasks; tasks per second."""


@runtime_checkable
class HistorySystem(PartitionedSystem, Protocol):
    """Also filled with finished work beforehand: the engine."""

    async def drain_by_claimers(self, count: int, claimers: int) -> float:
        """The same with several claimers, each of which completes a batch before it claims the next."""

    async def fill_history(self, count: int) -> None:
        """Make sure that at least `count` finished tasks, with their events, are in the tables."""


@runtime_checkable
class DispatchSystem(System, Protocol):
    """Also waits for work with its own worker."""

    async def dispatch(self, count: int) -> list[float]:
        """Enqueue jobs one by one for an idle worker; seconds from before each call to its handler's start."""


@runtime_checkable
class WorkerSystem(PartitionedSystem, Protocol):
    """Also runs tasks by a worker with handlers: ours."""

    async def drain_by_worker(self, count: int) -> float:
        """A worker runs the `count` waiting tasks, first handler start to last row finished; tasks per second."""


class Unavailable(Exception):
    """The system can't be measured on this machine; the message names what is missing."""


def payload(number: int) -> dict[str, str | int]:
    """A payload of about 100 bytes as JSON."""
    return {"number": number, "path": f"/media/source/{number:08d}.mp4", "note": "x" * 40}
