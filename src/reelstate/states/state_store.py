"""Where states are kept: one protocol, and a memory, a database or Firestore behind it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from reelstate.core.state import JobStates, State, StateJob, StateKey, StateWrite
from reelstate.feed.feed import Feed, Marks

STATE_MARKS: Final[Marks[State]] = Marks(
    at=lambda state: state.timestamp, version=lambda state: ((state.generation, state.key), state.version)
)


@dataclass(slots=True)
class StoreFigures:
    """What a store has done in this process, for whoever exports it."""

    writes: int = 0
    write_errors: int = 0
    write_seconds: float = 0.0
    slowest_write: float = 0.0
    cache_hits: int = 0
    cache_misses: int = 0
    """Reads that a cache answered, and those that it could not; a store without one counts neither."""

    @property
    def hit_rate(self) -> float | None:
        reads = self.cache_hits + self.cache_misses
        return self.cache_hits / reads if reads else None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around one write: how long it took, and whether it failed."""
        began = time.monotonic()
        try:
            yield
        except BaseException:
            self.write_errors += 1
            raise
        finally:
            seconds = time.monotonic() - began
            self.writes += 1
            self.write_seconds += seconds
            self.slowest_write = max(self.slowest_write, seconds)


class StateStore(Protocol):
    """Serves any number of jobs. Whatever it answers has been stored."""

    async def open_job(self, job: StateJob) -> StateJob:
        """The job, made if it is not there; `num_tasks` or tags that differ from the stored ones are an error."""
        ...

    async def find_job(self, job_id: str) -> StateJob:
        """The job as it is stored; `NotFound` if it is not."""
        ...

    async def write(self, write: StateWrite, generation: int) -> State:
        """Store a state under the next version, or give what the same event id stored before."""
        ...

    async def states(self, job_id: str, key: StateKey | None = None) -> JobStates:
        """Return the job and its newest states: of every task and tag that has one, or of one key alone.

        The state of one key is read by its key, whatever the size of the job. `NotFound` if there is no such job.
        """
        ...

    async def feed(self, job_id: str) -> Feed[State]:
        """Return the feed of a job: every version of every state, in the order in which they were stored.

        All callers share it. It outlives the job: where the job is deleted, or old versions are, its log raises
        `CursorGone` for every older cursor, and goes on with the next generation.
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
