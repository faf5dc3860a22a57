"""complete: tasks are done (or were found to be nothing to do), their stages count them, and what follows is opened.

All in the transaction that checks the tokens: a late or repeated report can neither count twice nor undo anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reelstate.core.document import Limits, encode_optional
from reelstate.core.machine import TaskStatus
from reelstate.core.model import Completion, Verdict
from reelstate.services.catalogue import Catalogue
from reelstate.services.orchestrate import advance
from reelstate.services.verdict import HELD_COLUMNS, held_of, verdicts
from reelstate.stores.store import Batch, Row, Store, Transaction

COLUMNS = (*HELD_COLUMNS, "status", "result")
COUNTED = (TaskStatus.DONE, TaskStatus.SKIPPED, TaskStatus.ERROR)


async def complete(
    store: Store, catalogue: Catalogue, items: Sequence[Completion], limits: Limits = Limits()
) -> list[Verdict]:
    """Record results, a verdict per item in the order given. Only a `running` task under the same token takes one."""
    if not items:
        return []
    rows = [_row(item, limits) for item in items]
    held = [(item.key, item.token) for item in items]
    targets = {item.key: [_target(item)] for item in items}

    async def flow(transaction: Transaction) -> list[Verdict]:
        moved = await transaction.run("complete", Batch(COLUMNS, rows))
        closed = await count(transaction, ((job_id, stage, status) for job_id, stage, _, _, status in moved))
        await advance(transaction, catalogue, closed)
        return await verdicts(transaction, held, {held_of(row) for row in moved}, targets)

    return await store.write(flow)


async def count(transaction: Transaction, ended: Iterable[tuple[int, int, str]]) -> set[int]:
    """Add ended tasks (job, stage, status) to their stages' counters; gives the jobs in which a stage has none left."""
    counted: dict[tuple[int, int], Counter[str]] = {}
    for job_id, stage, status in ended:
        counted.setdefault((job_id, stage), Counter())[status] += 1
    if not counted:
        return set()
    rows = [(*key, *(counts[status] for status in COUNTED)) for key, counts in sorted(counted.items())]
    columns = ("job_id", "stage", "done", "skipped", "failed")
    found = await transaction.run("complete_stages", Batch(columns, rows))
    return {job_id for job_id, _, total, done, skipped, failed in found if done + skipped + failed == total}


async def recount(transaction: Transaction, stages: Sequence[tuple[int, int, bool | None]]) -> None:
    """Make counters anew from the tasks of (job, stage), and say whether each is open; None leaves that as it is."""
    await transaction.run("complete_recount", Batch(("job_id", "stage", "open"), stages))


def _target(item: Completion) -> TaskStatus:
    return TaskStatus.SKIPPED if item.skipped else TaskStatus.DONE


def _row(item: Completion, limits: Limits) -> Row:
    result = encode_optional(f"result of {item.key}", item.result, limits.result)
    return (*item.key, item.token, _target(item), result)
