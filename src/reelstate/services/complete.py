"""complete: tasks are done (or were found to be nothing to do), their stages count them, and what follows is opened.

All in the transaction that checks the tokens: a late or repeated report can neither count twice nor undo anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reelstate.core.aggregate import Counters
from reelstate.core.document import LIMITS, DocumentLimits, encode
from reelstate.core.machine import TaskStatus
from reelstate.core.model import Completion, Verdict
from reelstate.dispatch.dispatch import Wakeup
from reelstate.services.catalogue import Catalogue
from reelstate.services.orchestrate import Opened, advance
from reelstate.services.verdict import HELD_COLUMNS, held, held_of, row_key, verdicts
from reelstate.stores.store import Batch, Row, Store, Transaction

COLUMNS = (*HELD_COLUMNS, "result")
COUNTED = {str(TaskStatus.DONE): 0, str(TaskStatus.SKIPPED): 1, str(TaskStatus.ERROR): 2}
"""The place of each counter among the three."""
Stage = tuple[int, int]
"""A stage of a job, by the numbers of both."""


async def complete(
    store: Store, catalogue: Catalogue, items: Sequence[Completion], limits: DocumentLimits = LIMITS
) -> tuple[list[Verdict], set[Wakeup]]:
    """Record results, a verdict per item in the order given. Only a `running` task under the same token takes one.

    The bells tell of what was opened and of jobs that came to rest.
    """
    if not items:
        return [], set()
    rows = {status: _rows(items, status, limits) for status in (TaskStatus.DONE, TaskStatus.SKIPPED)}
    asked = held(items)

    targets = {(item.key, item.token): (_target(item),) for item in items}

    async def flow(transaction: Transaction) -> tuple[list[Verdict], set[Wakeup]]:
        moved = [
            row
            for status, given in rows.items()
            if given
            for row in await transaction.run("complete", Batch(COLUMNS, given), status=status)
        ]
        bells = await close(transaction, catalogue, Counter((row[0], row[1], row[4]) for row in moved))
        return await verdicts(transaction, asked, set(map(held_of, moved)), targets.__getitem__), bells

    return await store.write(flow)


async def close(transaction: Transaction, catalogue: Catalogue, ended: Counter[tuple[int, int, str]]) -> set[Wakeup]:
    """Count ended tasks by (job, stage, status), and do what follows from the stages that have none left."""
    closed = await count(transaction, ended)
    only = [job_id for job_id, seen in closed.items() if seen.completes]
    if only:
        await transaction.run("complete_jobs", job_ids=sorted(only))
    others = {job: seen.opened for job, seen in closed.items() if not seen.completes}
    bells = await advance(transaction, catalogue, others)
    return bells | {Wakeup.JOB_INACTIVE} if only else bells


class Closed:
    """The stages of one job that have just closed; `completes` when the one stage it has closed without a failure."""

    __slots__ = ("completes", "opened")

    def __init__(self) -> None:
        self.opened: Opened = {}
        self.completes = False


async def count(transaction: Transaction, ended: Counter[tuple[int, int, str]]) -> dict[int, Closed]:
    """Add ended tasks to their stages' counters; gives the stages with none left, by job."""
    stages: dict[Stage, list[int]] = {}
    for (job_id, stage, status), number in ended.items():
        stages.setdefault((job_id, stage), [0, 0, 0])[COUNTED[status]] += number
    if not stages:
        return {}
    rows = [(*key, *numbers) for key, numbers in sorted(stages.items())]
    closed: dict[int, Closed] = {}
    columns = ("job_id", "stage", "done", "skipped", "failed")
    for job_id, stage, total, done, skipped, failed, sole in await transaction.run(
        "complete_stages", Batch(columns, rows)
    ):
        if done + skipped + failed == total:
            job = closed.setdefault(job_id, Closed())
            job.completes = bool(sole) and not failed
            job.opened[stage] = True, Counters(total=total, done=done, skipped=skipped, failed=failed)
    return closed


async def recount(transaction: Transaction, stages: Iterable[tuple[int, int, bool | None]]) -> None:
    """Make counters anew from the tasks of (job, stage), and say whether each is open; None leaves that as it is."""
    await transaction.run("complete_recount", Batch(("job_id", "stage", "open"), list(stages)))


def _target(item: Completion) -> TaskStatus:
    return TaskStatus.SKIPPED if item.skipped else TaskStatus.DONE


def _result(item: Completion, limits: DocumentLimits) -> str | None:
    return None if item.result is None else encode(f"result of {item.key}", item.result, limits.result)


def _rows(items: Sequence[Completion], status: TaskStatus, limits: DocumentLimits) -> list[Row]:
    rows: list[Row] = [(*item.key, item.token, _result(item, limits)) for item in items if _target(item) is status]
    rows.sort(key=row_key)
    return rows
