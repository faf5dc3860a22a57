"""release: a worker returns tasks that it will not finish (shutdown, drain). The run does not count as an attempt."""

from __future__ import annotations

from collections.abc import Sequence

from reelstate.core.machine import Actor, TaskStatus
from reelstate.core.model import Release, TaskKey, Verdict
from reelstate.services.verdict import LEASE_COLUMNS, LeaseKey, LeaseRow, lease_keys, verdicts
from reelstate.stores.store import Batch, Statement, Store, Transaction
from reelstate.telemetry.facts import Transition

RELEASE = Statement("release", LeaseRow)


async def release(store: Store, items: Sequence[Release], reason: str = "released by its worker") -> list[Verdict]:
    """Return tasks to the queue; a verdict per item in the order given."""
    leases = lease_keys(items)

    async def flow(transaction: Transaction) -> list[Verdict]:
        accepted = await release_leases(transaction, leases, actor=Actor.WORKER, reason=reason)
        return await verdicts(transaction, leases, accepted, lambda _: [TaskStatus.READY, TaskStatus.NEW])

    return await store.write(flow) if leases else []


async def release_leases(
    transaction: Transaction, leases: Sequence[LeaseKey], *, actor: str, reason: str
) -> set[LeaseKey]:
    """Make leased tasks ready for other workers; return those that were still leased."""
    if not leases:
        return set()
    batch = Batch(LEASE_COLUMNS, [(*key, token) for key, token in leases])
    rows = await transaction.run(RELEASE, batch, actor=actor, reason=reason)
    transaction.note(Transition("task", TaskStatus.RUNNING, TaskStatus.READY, len(rows)))
    return {(TaskKey(row.job_id, row.stage, row.part), row.token) for row in rows}
