"""reclaim: take back leases that have expired. Only the expiry counts; a dead worker only shortens the wait.

A worker counts as dead only when its process was looked for on its own machine and does not exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from reelstate.core.machine import Actor, TaskStatus, WorkerStatus
from reelstate.core.model import Json, Reclaimed, TaskKey
from reelstate.dispatch.dispatch import Wakeup
from reelstate.services.alerts import note_recovered
from reelstate.services.catalogue import Catalogue
from reelstate.services.fail import FinalError, apply_final_errors
from reelstate.services.isolation import Isolation, JobId, finder
from reelstate.stores.store import NoRow, Statement, Store, Transaction
from reelstate.telemetry.facts import ANY_STATE, AttemptRecorded, LeasesReclaimed, TracedJob, Transition, listening


class _ReclaimedTask(NamedTuple):
    job_id: int
    stage: int
    part: int
    status: str
    poison: bool
    error: Json
    cause: str
    token: int
    attempt: int
    last_worker: int
    ran: float
    """Seconds since it was claimed."""
    pipeline_id: int
    trace: str | None


class _WorkerId(NamedTuple):
    id: int


RECLAIM = Statement("reclaim", _ReclaimedTask)
RECLAIM_JOBS = Statement("reclaim_jobs", JobId)
END_DEAD_WORKERS = Statement("reclaim_dead", NoRow)
END_SILENT_WORKERS = Statement("reclaim_workers", _WorkerId)


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
    """Take back up to `limit` expired leases; return the counts and the wake-ups for what followed.

    One statement checks the expiry and moves the task. Leases of `dead` workers count as expired, and with
    `expired=False` only those do. With a `gap`, in seconds, no expiry counts during the keepers' grace, nor while no
    keeper has been seen for that long. `stall_after` ends runs without progress for that many seconds, where their
    stage sets no limit.
    """
    lost_workers = sorted(dead)

    async def sweep(only: Sequence[int] | None, without: Sequence[int]) -> tuple[Reclaimed, set[Wakeup]]:
        async def flow(transaction: Transaction) -> tuple[Reclaimed, set[Wakeup]]:
            if lost_workers:
                await transaction.run(END_DEAD_WORKERS, dead=lost_workers)
            moved = await transaction.run(
                RECLAIM,
                limit=limit,
                expired=expired,
                dead=lost_workers,
                gap=gap,
                stall=stall_after,
                only=None if only is None else list(only),
                without=list(without),
            )
            return await _apply(transaction, catalogue, moved)

        return await store.write(flow)

    find = finder(store, RECLAIM_JOBS, limit, stall=stall_after)
    swept = await (isolation or Isolation()).sweep("reclaim", sweep, find)
    total = Reclaimed(
        ready=sum(each.ready for each, _ in swept),
        failed=sum(each.failed for each, _ in swept),
        stopped=sum(each.stopped for each, _ in swept),
        quarantined=tuple(sorted({job_id for each, _ in swept for job_id in each.quarantined})),
    )
    return total, {wakeup for _, wakeups in swept for wakeup in wakeups}


async def _apply(
    transaction: Transaction, catalogue: Catalogue, moved: Sequence[_ReclaimedTask]
) -> tuple[Reclaimed, set[Wakeup]]:
    final = [
        FinalError(TaskKey(row.job_id, row.stage, row.part), row.error, poison=bool(row.poison))
        for row in moved
        if row.status == TaskStatus.ERROR
    ]
    wakeups = await apply_final_errors(transaction, catalogue, final, actor=Actor.KEEPER)
    for (cause, status), count in Counter((row.cause, row.status) for row in moved).items():
        transaction.note(LeasesReclaimed(cause, status, count))
    await _note_lost(transaction, catalogue, moved)
    await note_recovered(transaction, {row.job_id for row in moved if row.status == TaskStatus.READY})
    statuses = [row.status for row in moved]
    reclaimed = Reclaimed(
        ready=statuses.count(TaskStatus.READY),
        failed=len(final),
        stopped=statuses.count(TaskStatus.NEW) + statuses.count(TaskStatus.CANCELLED),
        quarantined=tuple(sorted({error.key.job_id for error in final if error.poison})),
    )
    return reclaimed, wakeups | {Wakeup.WORK} if reclaimed.ready else wakeups


async def _note_lost(transaction: Transaction, catalogue: Catalogue, moved: Sequence[_ReclaimedTask]) -> None:
    """Note the attempts of traced jobs that were taken back: their workers will not."""
    traced = [row for row in moved if row.trace is not None]
    if not traced or not listening():
        return
    declared = await catalogue.load(transaction, {row.pipeline_id for row in traced})
    for row in traced:
        graph = declared[row.pipeline_id].graph if row.pipeline_id in declared else None
        if graph is None or row.trace is None or row.stage >= len(graph.stages):
            continue
        transaction.note(
            AttemptRecorded(
                TracedJob(row.job_id, row.trace, graph.name),
                row.stage,
                graph.stages[row.stage].name,
                row.part,
                row.token,
                row.attempt,
                str(row.last_worker),
                row.cause,
                row.ran,
                error={"type": "lost", "message": row.cause},
            )
        )


async def reclaim_workers(store: Store, *, stale_after: float = 45.0) -> list[int]:
    """Mark workers offline that have sent no heartbeat for `stale_after` seconds; their leases still have to expire."""

    async def flow(transaction: Transaction) -> list[int]:
        silent = await transaction.run(END_SILENT_WORKERS, stale=stale_after)
        transaction.note(Transition("worker", ANY_STATE, WorkerStatus.OFFLINE, len(silent)))
        return [row.id for row in silent]

    return await store.write(flow)
