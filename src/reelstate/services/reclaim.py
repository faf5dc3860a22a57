"""reclaim: leases that ran out are taken back. Nothing but the expiry counts; a dead worker only shortens the wait."""

from __future__ import annotations

from reelstate.core.machine import Actor, TaskStatus
from reelstate.core.model import Reclaimed, TaskKey
from reelstate.dispatch.dispatch import Bell
from reelstate.services.catalogue import Catalogue
from reelstate.services.fail import FinalError, settle
from reelstate.stores.store import Store, Transaction


async def reclaim(store: Store, catalogue: Catalogue, *, limit: int = 500) -> tuple[Reclaimed, set[Bell]]:
    """Take back up to `limit` expired leases, in one statement that looks at the expiry and moves the task at once.

    With the bells to ring for it.
    """

    async def flow(transaction: Transaction) -> tuple[Reclaimed, set[Bell]]:
        moved = await transaction.run("reclaim", limit=limit)
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
