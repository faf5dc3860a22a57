"""flag: mark jobs with a run that has reported no progress for too long, for an operator to decide.

The run goes on. The flag is cleared when the run reports progress or ends; a trigger clears it when the job stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reelstate.core.model import Flag
from reelstate.services.isolation import Isolation, JobId, finder
from reelstate.stores.store import Statement, Store, Transaction


class _FlaggedJob(NamedTuple):
    id: int
    flagged: str | None


FLAG = Statement("flag", _FlaggedJob)
FLAG_JOBS = Statement("flag_jobs", JobId)


async def flag_stalled(
    store: Store, *, stall_after: float | None = None, limit: int = 500, isolation: Isolation | None = None
) -> list[Flag]:
    """Set, change and clear the flags of up to `limit` jobs; return those that changed.

    `stall_after` is the limit, in seconds, of runs whose stage sets none; None: there is no such limit.
    """

    async def sweep(only: Sequence[int] | None, without: Sequence[int]) -> list[Flag]:
        jobs = {"only": None if only is None else list(only), "without": list(without)}

        async def flow(transaction: Transaction) -> list[Flag]:
            changed = await transaction.run(FLAG, stall=stall_after, limit=limit, **jobs)
            return [Flag(row.id, row.flagged) for row in changed]

        return await store.write(flow)

    find = finder(store, FLAG_JOBS, limit, stall=stall_after)
    swept = await (isolation or Isolation()).sweep("flag", sweep, find)
    return [flag for flags in swept for flag in flags]
