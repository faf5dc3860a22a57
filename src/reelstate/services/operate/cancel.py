"""cancel: a job and whatever of it is unfinished ends now. Its workers learn of it with their next report."""

from __future__ import annotations

from reelstate.core.machine import JobStatus
from reelstate.services.catalogue import Catalogue
from reelstate.services.jobs import LockedJob
from reelstate.services.operate.operation import Operated, Operation, move, operate
from reelstate.stores.store import Store, Transaction


async def cancel(store: Store, catalogue: Catalogue, operation: Operation) -> list[Operated]:
    """End jobs for good; completed work stays on record."""

    async def apply(transaction: Transaction, jobs: list[LockedJob]) -> None:
        job_ids = [job.id for job in jobs]
        await transaction.run("cancel_tasks", job_ids=job_ids, actor=operation.actor, reason=operation.reason)
        await move(transaction, jobs, JobStatus.CANCELLED, operation)

    return await operate(store, catalogue, operation, JobStatus.CANCELLED, apply)
