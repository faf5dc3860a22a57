"""flag: jobs with a run that reports no progress for too long are marked, for an operator to decide.

The run goes on. The flag is cleared when the run reports progress or ends; a trigger clears it when the job stops.
"""

from __future__ import annotations

from collections.abc import Sequence

from reelstate.core.model import Flag
from reelstate.services.isolation import Isolation, finder
from reelstate.stores.store import Store, Transaction


async def flag_stalled(
    store: Store, *, stall_after: float | None = None, limit: int = 500, isolation: Isolation | None = None
) -> list[Flag]:
    """Set, change and clear the flags of up to `limit` jobs; returns those that changed.

    `stall_after` is the limit, in seconds, of runs whose stage sets none; None: there is no such limit.
    """

    async def sweep(only: Sequence[int] | None, without: Sequence[int]) -> list[Flag]:
        chosen = {"only": None if only is None else list(only), "without": list(without)}

        async def flow(transaction: Transaction) -> list[Flag]:
            return [Flag(*row) for row in await transaction.run("flag", stall=stall_after, limit=limit, **chosen)]

        return await store.write(flow)

    find = finder(store, "flag_jobs", limit, stall=stall_after)
    swept = await (isolation or Isolation()).sweep("flag", sweep, find)
    return [flag for flags in swept for flag in flags]
