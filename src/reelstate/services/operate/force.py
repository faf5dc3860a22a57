"""force: set the status of jobs as an operator decides, whatever it was. Leases end; the event keeps the reason."""

from __future__ import annotations

from reelstate.core.errors import InvalidRequest, InvalidTransition
from reelstate.core.machine import Actor, JobStatus
from reelstate.services.catalogue import Catalogue
from reelstate.services.extension import NO_EXTENSION, Extension
from reelstate.services.jobs import LockedJob
from reelstate.services.operate.cancel import cancel_tasks
from reelstate.services.operate.operation import Operated, Operation, move, operate, require_reason
from reelstate.services.operate.retry import reopen
from reelstate.services.orchestrate import advance, reset_tasks
from reelstate.stores.store import Store, Transaction

TARGETS = (JobStatus.PENDING, JobStatus.FAILED, JobStatus.COMPLETED)


async def force(
    store: Store,
    catalogue: Catalogue,
    operation: Operation,
    target: JobStatus,
    extension: Extension = NO_EXTENSION,
) -> list[Operated]:
    """Set jobs to pending, failed or completed."""
    require_reason(operation, "force")
    if target not in TARGETS:
        raise InvalidRequest("target", f"a job can't be forced to {target}", hint=f"one of {', '.join(TARGETS)}")
    if operation.actor.partition(":")[0] != Actor.OPERATOR:
        raise InvalidTransition("job", "any status", target, operation.actor, who_may=[Actor.OPERATOR])

    async def apply(transaction: Transaction, jobs: list[LockedJob]) -> None:
        job_ids = [job.id for job in jobs]
        if target is JobStatus.COMPLETED:
            await cancel_tasks(transaction, jobs, operation)
        else:
            await reset_tasks(
                transaction, job_ids, actor=operation.actor, reason=f"forced: {operation.reason}", stop_running=True
            )
        if target is JobStatus.PENDING:
            await reopen(transaction, jobs, operation)
        await move(transaction, jobs, target, operation)
        if target is JobStatus.COMPLETED:
            await extension.on_forced_complete(transaction, job_ids)
        if target is JobStatus.PENDING:
            await advance(transaction, catalogue, {job_id: {} for job_id in job_ids})

    return await operate(store, catalogue, operation, target, apply)
