"""reprioritise: change the priority of jobs and of their tasks."""

from __future__ import annotations

from reelstate.core.policy import PriorityName, priority_number
from reelstate.services.catalogue import Catalogue
from reelstate.services.jobs import LockedJob
from reelstate.services.operate.operation import JobIdRow, Operated, Operation, operate
from reelstate.stores.store import Batch, Statement, Store, Transaction

OPERATE_PRIORITY = Statement("operate_priority", JobIdRow)


async def reprioritise(
    store: Store, catalogue: Catalogue, operation: Operation, priority: int | PriorityName
) -> list[Operated]:
    """Set the priority of unfinished jobs: 0 to 10, or low, normal, high, critical."""
    number = priority_number(priority)

    async def apply(transaction: Transaction, jobs: list[LockedJob]) -> None:
        await transaction.run(
            OPERATE_PRIORITY,
            Batch(("id", "version"), [(job.id, job.version) for job in jobs]),
            priority=number,
            actor=operation.actor,
            reason=operation.reason,
        )

    return await operate(store, catalogue, operation, None, apply, already=lambda job: job.priority == number)
