"""cancel: a job and whatever of it is unfinished ends now. Its workers learn of it with their next report."""

from __future__ import annotations

from collections.abc import Sequence

from reelstate.core.machine import JobStatus
from reelstate.services.catalogue import Catalogue
from reelstate.services.complete import recount
from reelstate.services.jobs import LockedJob
from reelstate.services.operate.operation import Operated, Operation, move, operate_in
from reelstate.services.orchestrate import stage_counters
from reelstate.stores.store import Store, Transaction


async def cancel(store: Store, catalogue: Catalogue, operation: Operation) -> list[Operated]:
    """End jobs for good; completed work stays on record."""
    return await store.write(lambda transaction: cancel_in(transaction, catalogue, operation))


async def cancel_in(transaction: Transaction, catalogue: Catalogue, operation: Operation) -> list[Operated]:
    """The same as part of a larger transaction."""

    async def apply(transaction: Transaction, jobs: list[LockedJob]) -> None:
        await cancel_tasks(transaction, jobs, operation)
        await move(transaction, jobs, JobStatus.CANCELLED, operation)

    return await operate_in(transaction, catalogue, operation, JobStatus.CANCELLED, apply)


async def cancel_tasks(transaction: Transaction, jobs: Sequence[LockedJob], operation: Operation) -> None:
    """End whatever is unfinished; a finally failed task, which its stage has counted, is among it."""
    job_ids = [job.id for job in jobs]
    await transaction.run("cancel_tasks", job_ids=job_ids, actor=operation.actor, reason=operation.reason)
    seen = await stage_counters(transaction, job_ids)
    await recount(transaction, [(job_id, stage, None) for job_id in job_ids for stage in seen[job_id]])
