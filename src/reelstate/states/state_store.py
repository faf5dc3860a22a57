"""Where states are kept: one protocol, and a memory, a database or Firestore behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reelstate.core.state import State, StateJob, StateWrite
from reelstate.states.feed import Feed


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

    async def states(self, job_id: str) -> Sequence[State]:
        """The newest state of every task and tag that has one."""
        ...

    async def feed(self, job: StateJob) -> Feed[State]:
        """Every version of every state of a job, in the order in which they were stored: one feed for all who ask."""
        ...

    async def delete_job(self, job_id: str) -> bool:
        """Delete its states and leave a tombstone; made anew, the job has another generation."""
        ...

    async def forget(self, *, older: float) -> list[str]:
        """Delete the jobs that finished longer ago than so many seconds; gives them."""
        ...

    async def close(self) -> None:
        """End every feed."""
        ...
