"""reclaim: leases that ran out are taken back. Nothing but the expiry counts; a dead worker only shortens the wait.

A worker counts as dead only for certain: its process was looked for on its own machine, and it is gone.
"""

from __future__ import annotations

from collections.abc import Collection

from reelstate.core.machine import Actor, TaskStatus
from reelstate.core.model import Reclaimed, TaskKey
from reelstate.dispatch.dispatch import Bell
from reelstate.services.catalogue import Catalogue
from reelstate.services.fail import FinalError, settle
from reelstate.stores.store import Store, Transaction


async def reclaim(
    store: Store,
    catalogue: Catalogue,
    *,
    limit: int = 500,
    expired: bool = True,
    dead: Collection[int] = (),
    gap: float | None = None,
) -> tuple[Reclaimed, set[Bell]]:
    """Take back up to `limit` expired leases, in one statement that looks at the expiry and moves the task at once.

    Leases of `dead` workers count as expired, and nothing else does with `expired=False`. With a `gap` no expiry counts
    in the grace of the keepers, nor while none of them was here for so long. With the bells to ring for it.
    """
    lost = sorted(dead)

    async def flow(transaction: Transaction) -> tuple[Reclaimed, set[Bell]]:
        if lost:
            await transaction.run("reclaim_dead", dead=lost)
        moved = await transaction.run("reclaim", limit=limit, expired=expired, dead=lost, gap=gap)
        final = [
            FinalError(TaskKey(*key), error, killer=bool(killer))
            for *key, status, killer, error in moved
            if status == TaskStatus.ERROR
        ]
        bells = await settle(transaction, catalogue, final, actor=Actor.KEEPER)
        statuses = [row[3] for row in moved]
        ready = statuses.count(TaskStatus.READY)
        reclaimed = Reclaimed(
            ready=ready,
            failed=len(final),
            stopped=statuses.count(TaskStatus.NEW) + statuses.count(TaskStatus.CANCELLED),
            quarantined=tuple(sorted({error.key.job_id for error in final if error.killer})),
        )
        return reclaimed, bells | {Bell.WORK} if ready else bells

    return await store.write(flow)


async def reclaim_workers(store: Store, *, stale_after: float = 45.0) -> list[int]:
    """Mark workers offline that have not been heard of; their leases still run out by themselves."""

    async def flow(transaction: Transaction) -> list[int]:
        return [row[0] for row in await transaction.run("reclaim_workers", stale=stale_after)]

    return await store.write(flow)
