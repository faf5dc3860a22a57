"""cancel: end jobs and their unfinished tasks. Workers stop at their next report."""

from __future__ import annotations

from collections.abc import Sequence

from reelstate.core.machine import JobStatus
from reelstate.services.catalogue import Catalogue
from reelstate.services.complete import recount
from reelstate.services.jobs import LockedJob
from reelstate.services.operate.operation import Operated, Operation, move, operate_in
from reelstate.services.orchestrate import stage_counters
from reelstate.stores.store import NoRow, Statement, Store, Transaction

CANCEL_TASKS = Statement("cancel_tasks", NoRow)


async def cancel(store: Store, catalogue: Catalogue, operation: Operation) -> list[Operated]:
    """Cancel jobs; their completed tasks stay on record."""
    return await store.write(lambda transaction: cancel_in(transaction, catalogue, operation))


async def cancel_in(transaction: Transaction, catalogue: Catalogue, operation: Operation) -> list[Operated]:
    """Cancel jobs as part of a larger transaction."""

    async def apply(transaction: Transaction, jobs: list[LockedJob]) -> None:
        await cancel_tasks(transaction, jobs, operation)
        await move(transaction, jobs, JobStatus.CANCELLED, operation)

    return await operate_in(transaction, catalogue, operation, JobStatus.CANCELLED, apply)


async def cancel_tasks(transaction: Transaction, jobs: Sequence[LockedJob], operation: Operation) -> None:
    """Cancel the unfinished tasks of jobs, and finally failed ones, which their stages have counted."""
    job_ids = [job.id for job in jobs]
    await transaction.run(CANCEL_TASKS, job_ids=job_ids, actor=operation.actor, reason=operation.reason)
    seen = await stage_counters(transaction, job_ids)
    await recount(transaction, [(job_id, stage, None) for job_id in job_ids for stage in seen[job_id]])
