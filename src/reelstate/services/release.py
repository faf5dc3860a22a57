"""release: a worker gives tasks back that it will not finish (shutdown, drain). The attempt is not charged."""

from __future__ import annotations

from collections.abc import Sequence

from reelstate.core.machine import Actor, TaskStatus
from reelstate.core.model import Release, Verdict
from reelstate.services.verdict import HELD_COLUMNS, Held, held, held_of, held_rows, verdicts
from reelstate.stores.store import Batch, Store, Transaction


async def release(store: Store, items: Sequence[Release], reason: str = "released by its worker") -> list[Verdict]:
    """Give tasks back, a verdict per item in the order given."""
    asked = held(items)

    async def flow(transaction: Transaction) -> list[Verdict]:
        accepted = await give_back(transaction, asked, actor=Actor.WORKER, reason=reason)
        return await verdicts(transaction, asked, accepted, lambda _: [TaskStatus.READY, TaskStatus.NEW])

    return await store.write(flow) if asked else []


async def give_back(transaction: Transaction, leases: Sequence[Held], *, actor: str, reason: str) -> set[Held]:
    """Make leased tasks ready for others; gives those that were still held."""
    if not leases:
        return set()
    rows = await transaction.run("release", Batch(HELD_COLUMNS, held_rows(leases)), actor=actor, reason=reason)
    return {held_of(row) for row in rows}
