"""quarantine: stop jobs and their running tasks until an operator decides."""

from __future__ import annotations

from reelstate.core.machine import JobStatus
from reelstate.services.catalogue import Catalogue
from reelstate.services.jobs import LockedJob
from reelstate.services.operate.operation import Operated, Operation, move, operate, require_reason
from reelstate.services.orchestrate import reset_tasks
from reelstate.stores.store import Store, Transaction


async def quarantine(store: Store, catalogue: Catalogue, operation: Operation) -> list[Operated]:
    """Stop jobs until an operator retries or cancels them; a reason is required."""
    require_reason(operation, "quarantine")

    async def apply(transaction: Transaction, jobs: list[LockedJob]) -> None:
        await move(transaction, jobs, JobStatus.QUARANTINED, operation)
        job_ids = [job.id for job in jobs]
        await reset_tasks(
            transaction, job_ids, actor=operation.actor, reason="the job was quarantined", stop_running=True
        )

    return await operate(store, catalogue, operation, JobStatus.QUARANTINED, apply)
