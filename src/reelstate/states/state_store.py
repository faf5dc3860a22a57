"""The storage of states: one protocol, implemented in memory, in the engine's database and in Firestore."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from reelstate.core.state import JobStates, State, StateJob, StateKey, StateWrite
from reelstate.feed.feed import Feed, Marks
from reelstate.telemetry.facts import CacheRead, StateWritten, emit

STATE_MARKS: Final[Marks[State]] = Marks(
    at=lambda state: state.timestamp, version=lambda state: ((state.generation, state.key), state.version)
)


@dataclass(slots=True)
class StoreFigures:
    """The counters of a store in this process, for metrics."""

    writes: int = 0
    write_errors: int = 0
    write_seconds: float = 0.0
    slowest_write: float = 0.0
    cache_hits: int = 0
    cache_misses: int = 0
    """Reads that a cache did not answer; a store without a cache counts no hits and no misses."""

    @property
    def hit_rate(self) -> float | None:
        reads = self.cache_hits + self.cache_misses
        return self.cache_hits / reads if reads else None

    def read(self, *, hit: bool) -> None:
        """Count one read through a cache."""
        self.cache_hits += hit
        self.cache_misses += not hit
        emit(CacheRead("states", hit))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Count one write, its duration and its failure."""
        began = time.monotonic()
        failed = True
        try:
            yield
            failed = False
        finally:
            self.write_errors += failed
            seconds = time.monotonic() - began
            self.writes += 1
            self.write_seconds += seconds
            self.slowest_write = max(self.slowest_write, seconds)
            emit(StateWritten(seconds, failed=failed))


class StateStore(Protocol):
    """Stores the states of any number of jobs. What a method returns has been stored."""

    async def open_job(self, job: StateJob) -> StateJob:
        """Create a job, or return the stored one; raise `InvalidRequest` where its `tasks` or tags differ."""
        ...

    async def find_job(self, job_id: str) -> StateJob:
        """Return a job; raise `NotFound` where there is none."""
        ...

    async def write(self, write: StateWrite, generation: int) -> State:
        """Store a state under the next version, or return the one that the same event id stored before."""
        ...

    async def states(self, job_id: str, key: StateKey | None = None) -> JobStates:
        """Return the job and its newest states, or that of one key; raise `NotFound` where there is no such job.

        The cost of reading one key does not depend on the size of the job.
        """
        ...

    async def feed(self, job_id: str) -> Feed[State]:
        """Return the feed of a job, which all callers share: every version of every state, in the order of storage.

        It outlives the job: after a deletion of the job or of old versions, its log raises `CursorGone` for older
        cursors and continues with the next generation.
        """
        ...

    async def delete_job(self, job_id: str) -> bool:
        """Delete the states of a job and leave a tombstone; created again, the job has the next generation."""
        ...

    async def forget(self, *, older: float) -> list[str]:
        """Delete the jobs whose states are all finished, the last one `older` seconds ago or more; return their ids."""
        ...

    async def prune(self, *, older: float) -> int:
        """Delete versions stored `older` seconds ago or more that a newer version follows; return their number."""
        ...

    async def close(self) -> None:
        """End every feed and every subscription."""
        ...
