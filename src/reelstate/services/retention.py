"""retention: delete what is older than the deployment keeps. Each kind has a setting of its own.

Rows of jobs leave by whole months of the archive: a month is deleted when the last of its jobs finished long enough
ago, after it was exported if that is wanted. Idempotency keys, log lines, steps, events of workers and runs of
schedules are deleted in bounded batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reelstate.artifacts.storage import Storage
from reelstate.core.month import Month
from reelstate.services.archive import RowCount, allow_moves, month_row, store_time
from reelstate.services.export import export_month
from reelstate.stores.store import Statement, Store, Transaction

BATCH: Final = 5000
"""Rows that one transaction deletes."""
VACUUM_PAGES: Final = 2000
"""Free pages that one step gives back: writers wait for it."""

KEEP_IDEMPOTENCY = Statement("retain_idempotency", RowCount)
KEEP_LOGS = Statement("retain_logs", RowCount)
KEEP_STEPS = Statement("retain_steps", RowCount)
KEEP_WORKER_EVENTS = Statement("retain_worker_events", RowCount)
KEEP_GROUP_JOBS = Statement("retain_groups", RowCount)
KEEP_SCHEDULE_RUNS = Statement("retain_schedule_runs", RowCount)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ages:
    """How many seconds each kind of row is kept; 0 for ever."""

    idempotency: float = 0.0
    logs: float = 0.0
    steps: float = 0.0
    worker_events: float = 0.0
    schedule_runs: float = 0.0


@dataclass(frozen=True, slots=True)
class Retained:
    """How many rows of each kind were deleted."""

    idempotency: int = 0
    logs: int = 0
    steps: int = 0
    worker_events: int = 0
    schedule_runs: int = 0

    @property
    def total(self) -> int:
        return self.idempotency + self.logs + self.steps + self.worker_events + self.schedule_runs


async def retain(store: Store, ages: Ages) -> Retained:
    """Delete idempotency keys, log lines, steps, events of workers and runs of schedules older than `ages`."""
    now = await store_time(store)
    return Retained(
        idempotency=await _delete(store, KEEP_IDEMPOTENCY, now, ages.idempotency),
        logs=await _delete(store, KEEP_LOGS, now, ages.logs),
        steps=await _delete(store, KEEP_STEPS, now, ages.steps),
        worker_events=await _delete(store, KEEP_WORKER_EVENTS, now, ages.worker_events),
        schedule_runs=await _delete(store, KEEP_SCHEDULE_RUNS, now, ages.schedule_runs),
    )


async def drop_months(store: Store, *, older: float, storage: Storage | None = None) -> list[str]:
    """Delete the months whose last job finished `older` seconds ago, and return them. A storage gets them first."""
    past = await store_time(store) - timedelta(seconds=older)
    dropped = []
    for month in await store.archive.months():
        row = await month_row(store, month)
        if (row.finished_at or month.next.start) >= past or month.next.start >= past:
            continue
        if storage is not None and row.jobs:
            await export_month(store, storage, month)
        if await _drop(store, month):
            dropped.append(str(month))
    return dropped


async def drop_month(store: Store, month: str, storage: Storage | None = None) -> bool:
    """Delete one month; return whether it existed."""
    chosen = Month.parse(month)
    if storage is not None and (await month_row(store, chosen)).jobs:
        await export_month(store, storage, chosen)
    return await _drop(store, chosen)


async def _drop(store: Store, month: Month) -> bool:
    """Delete a month, and the places of its jobs in groups; groups without a job go with them."""
    dropped = await store.archive.drop(month)
    first, last = month.ids

    async def flow(transaction: Transaction) -> int:
        (row,) = await transaction.run(KEEP_GROUP_JOBS, first=first, last=last, limit=BATCH)
        return row.rows

    while await store.write(flow):
        pass
    return dropped


async def vacuum(store: Store) -> None:
    """Give all free pages back to the file system, in short steps."""
    free = await store.vacuum(VACUUM_PAGES)
    while free and (left := await store.vacuum(VACUUM_PAGES)) < free:
        free = left


async def _delete(store: Store, statement: Statement[RowCount], now: datetime, age: float) -> int:
    """Delete rows in batches until one finds none."""
    deleted = 0
    past = now - timedelta(seconds=age)

    async def flow(transaction: Transaction) -> int:
        await allow_moves(transaction, on=True)
        (row,) = await transaction.run(statement, past=past, limit=BATCH)
        await allow_moves(transaction, on=False)
        return row.rows

    while age and (rows := await store.write(flow)):
        deleted += rows
    return deleted
