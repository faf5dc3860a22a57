"""reclaim: leases that ran out are taken back. Nothing but the expiry counts; a dead worker only shortens the wait.

A worker counts as dead only for certain: its process was looked for on its own machine, and it is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from reelstate.core.machine import Actor, TaskStatus
from reelstate.core.model import Reclaimed, TaskKey
from reelstate.dispatch.dispatch import Wakeup
from reelstate.services.catalogue import Catalogue
from reelstate.services.fail import FinalError, settle
from reelstate.services.isolation import Isolation, finder
from reelstate.stores.store import Store, Transaction


async def reclaim(
    store: Store,
    catalogue: Catalogue,
    *,
    limit: int = 500,
    expired: bool = True,
    dead: Collection[int] = (),
    gap: float | None = None,
    stall_after: float | None = None,
    isolation: Isolation | None = None,
) -> tuple[Reclaimed, set[Wakeup]]:
    """Take back up to `limit` expired leases, in one statement that looks at the expiry and moves the task at once.

    Leases of `dead` workers count as expired, and nothing else does with `expired=False`. With a `gap` no expiry counts
    in the grace of the keepers, nor while none of them was here for so long. `stall_after` ends runs
    that report no progress for so long, where their stage has set no limit. With the bells to ring for it.
    """
    lost = sorted(dead)

    async def sweep(only: Sequence[int] | None, without: Sequence[int]) -> tuple[Reclaimed, set[Wakeup]]:
        terms: dict[str, Any] = {"limit": limit, "expired": expired, "dead": lost, "gap": gap, "stall": stall_after}
        terms |= {"only": None if only is None else list(only), "without": list(without)}
        return await store.write(partial(_reclaim, catalogue=catalogue, **terms))

    swept = await (isolation or Isolation()).sweep(
        "reclaim", sweep, finder(store, "reclaim_jobs", limit, stall=stall_after)
    )
    return _total([reclaimed for reclaimed, _ in swept]), {bell for _, bells in swept for bell in bells}


async def _reclaim(transaction: Transaction, catalogue: Catalogue, **terms: Any) -> tuple[Reclaimed, set[Wakeup]]:
    if terms["dead"]:
        await transaction.run("reclaim_dead", dead=terms["dead"])
    moved = await transaction.run("reclaim", **terms)
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
    return reclaimed, bells | {Wakeup.WORK} if ready else bells


def _total(swept: Sequence[Reclaimed]) -> Reclaimed:
    return Reclaimed(
        ready=sum(each.ready for each in swept),
        failed=sum(each.failed for each in swept),
        stopped=sum(each.stopped for each in swept),
        quarantined=tuple(sorted({job_id for each in swept for job_id in each.quarantined})),
    )


async def reclaim_workers(store: Store, *, stale_after: float = 45.0) -> list[int]:
    """Mark workers offline that have not been heard of; their leases still run out by themselves."""

    async def flow(transaction: Transaction) -> list[int]:
        return [row[0] for row in await transaction.run("reclaim_workers", stale=stale_after)]

    return await store.write(flow)
