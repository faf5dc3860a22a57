"""What the archive of a store is: the rows of finished jobs by month, outside the tables that the engine works on.

A month has the same tables with the same columns as the store, so every statement that reads jobs also reads a month:
the store runs it on the tables of that month. A job is in one month with all its rows, and moves there whole.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from reelstate.core.month import Month
from reelstate.stores.store import Flow, Result

ENGINE_TABLES: Final[Mapping[str, str]] = {
    "tasks": "job_id",
    "stages": "job_id",
    "logs": "job_id",
    "steps": "job_id",
    "events": "job_id",
    "jobs": "id",
}
"""The tables with the rows of a job, and the column with its id. A move takes them in the order of locks."""
STATE_TABLES: Final = ("state_log", "states", "state_jobs")
"""The tables with the states of a job, under the names `job.stage`."""
TABLES: Final = (*STATE_TABLES, *ENGINE_TABLES)


class MisplacedJob(NamedTuple):
    """A job that is in the store and in a month, with its version in each."""

    id: int
    version: int
    archived_version: int


class Archive(Protocol):
    """The months of a store. A job that is moved is in the store, in its month, or for a moment in both."""

    async def months(self) -> list[Month]:
        """Return the months that exist, the oldest first."""
        ...

    async def prepare(self, months: Iterable[Month]) -> list[Month]:
        """Create the months that do not exist yet, and return those."""
        ...

    async def copy(self, month: Month, job_ids: Sequence[int], names: Sequence[str]) -> None:
        """Copy the rows of jobs and of their states durably, where `archive_take` can't move them at once.

        Jobs that are not in the store any more are left out.
        """
        ...

    async def read(self, month: Month, flow: Flow[Result]) -> Result:
        """Run a flow that reads, on the tables of a month. Raise `NotFound` where it does not exist."""
        ...

    async def write(self, month: Month, flow: Flow[Result]) -> Result:
        """Run a flow in one transaction, on the tables of a month. Raise `NotFound` where it does not exist."""
        ...

    def rows(self, month: Month, table: str) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the rows of a table of a month in batches, as JSON values by column."""
        ...

    async def drop(self, month: Month) -> bool:
        """Delete a month with all its rows; return whether it existed. An interrupted deletion is continued."""
        ...

    async def misplaced(self, limit: int) -> list[MisplacedJob]:
        """Return jobs that are in the store and in a month, by id: after an interrupted move, or a restored backup."""
        ...
