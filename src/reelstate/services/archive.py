"""archive: move finished jobs with all their rows into the months of the archive, and read them there.

A job moves whole, in one transaction, in batches of a bounded number of rows. Only a job that nothing can change moves:
it is finished or stopped, no task of it runs, and its version is the one that was selected. Moves may run at the same
time in several processes, may be killed anywhere, and are continued by the next one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Final, NamedTuple, TypeVar

from reelstate.core.errors import JobArchived, NotFound
from reelstate.core.month import Month, id_at, months_from
from reelstate.services.extension import Extension
from reelstate.services.jobs import NOW
from reelstate.services.operate.operation import OPERATE_LOCK_AGAIN, Operated
from reelstate.services.repair import SettingRow
from reelstate.stores.archive import TABLES
from reelstate.stores.store import Batch, Flow, NoRow, Statement, Store, Transaction

T = TypeVar("T")
WINDOW: Final = 1000
"""Jobs that one statement looks at."""
BATCH_JOBS: Final = 500
BATCH_TASKS: Final = 2000
"""Jobs and tasks that one transaction moves; a job with more tasks moves alone."""
CLOCK_ERROR: Final = timedelta(days=1)
"""By how much the clock may have been set back since the id of a job was made."""
START_OF_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS_AHEAD: Final = 3
"""Months that the keeper creates: this one and the next ones."""


class DueRow(NamedTuple):
    id: int
    version: int
    resource_id: int | None
    due: bool
    tasks: int


class LockedId(NamedTuple):
    id: int


class StateName(NamedTuple):
    name: str


class RowCount(NamedTuple):
    rows: int


class MonthRow(NamedTuple):
    jobs: int
    finished_at: datetime | None


class PipelineIdRow(NamedTuple):
    pipeline_id: int


OBSERVE_PIPELINE = Statement("observe_pipeline", PipelineIdRow)
ARCHIVE_DUE = Statement("archive_due", DueRow)
ARCHIVE_LOCK = Statement("archive_lock", LockedId)
ARCHIVE_NAMES = Statement("archive_names", StateName)
ARCHIVE_ALLOW = Statement("archive_allow", SettingRow)
ARCHIVE_FLOOR = Statement("archive_floor", NoRow)
ARCHIVE_MONTH = Statement("archive_month", MonthRow)
FORGET_WAITS = Statement("waits_forget", NoRow)
"""Delete what jobs have waited for: it leaves the store with them, and is not archived."""
PURGE_ROWS = {table: Statement(f"purge_rows_{table}", RowCount) for table in TABLES}
ARCHIVE_TAKE = {table: Statement(f"archive_take_{table}", RowCount) for table in TABLES}


@dataclass(frozen=True, slots=True)
class Archived:
    """What a run of `archive` has moved, or would move: jobs by month, and rows by table."""

    jobs: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.jobs.values())

    def __add__(self, other: Archived) -> Archived:
        return Archived(_sum(self.jobs, other.jobs), _sum(self.rows, other.rows))


@dataclass(frozen=True, slots=True)
class ArchiveMonth:
    """A month of the archive."""

    month: str
    jobs: int
    finished_at: datetime | None
    """When the last of its jobs finished."""


OnBatch = Callable[[Archived], None]


async def archive(
    store: Store,
    extension: Extension,
    *,
    older: float | None,
    failed_older: float | None,
    before: datetime | None = None,
    failed_before: datetime | None = None,
    dry_run: bool = False,
    on_batch: OnBatch | None = None,
) -> Archived:
    """Move jobs that completed or were cancelled `older` seconds ago, and that failed `failed_older` seconds ago.

    None leaves these jobs where they are. `before` and `failed_before` replace the ages by times. `on_batch` is called
    with the sum after each batch.
    """
    now = await store_time(store)
    limit, failed_limit = _limit(now, older, before), _limit(now, failed_older, failed_before)
    if not dry_run:
        await prepare_months(store)
    done = Archived()
    async for jobs in _due_jobs(store, extension, limit, failed_limit):
        for month, batch in _batches(jobs):
            done += _planned(month, batch) if dry_run else await _move(store, month, batch)
            if on_batch:
                on_batch(done)
    return done


async def prepare_months(store: Store) -> list[Month]:
    """Create this month and the next ones, where the store keeps months ready."""
    return await store.archive.prepare(months_from(Month.of_time(await store_time(store)), MONTHS_AHEAD))


async def archive_months(store: Store) -> list[ArchiveMonth]:
    """List the months of the archive that have jobs, the oldest first."""
    found = []
    for month in await store.archive.months():
        row = await month_row(store, month)
        if row.jobs:
            found.append(ArchiveMonth(str(month), row.jobs, row.finished_at))
    return found


async def month_row(store: Store, month: Month) -> MonthRow:
    """Return how many jobs a month has, and when the last one finished."""
    try:
        (row,) = await store.archive.read(month, lambda transaction: transaction.run(ARCHIVE_MONTH))
    except NotFound:  # dropped meanwhile
        return MonthRow(0, None)
    return row


async def read_job(store: Store, job_id: int, flow: Flow[T], on_archived: Callable[[T], T] = lambda found: found) -> T:
    """Run a flow that reads a job, and where that raises `NotFound`, on the month of the job in the archive.

    `on_archived` marks what was read there. The archive is asked second: a job that moves meanwhile is found.
    """
    try:
        return await store.read(flow)
    except NotFound as missing:
        month = Month.of_id(job_id)
        if month is None:
            raise
        try:
            return on_archived(await store.archive.read(month, flow))
        except NotFound:
            raise missing from None


async def refuse_archived(store: Store, outcomes: Sequence[Operated], owner: str | None) -> list[Operated]:
    """Return the outcomes of a verb, with `JobArchived` for those jobs that are unknown because they are archived."""
    return [
        replace(outcome, error=JobArchived(outcome.job_id))
        if isinstance(outcome.error, NotFound) and await is_archived(store, outcome.job_id, owner)
        else outcome
        for outcome in outcomes
    ]


async def is_archived(store: Store, job_id: int, owner: str | None = None) -> bool:
    """Return whether a job is in the archive; with `owner`, only for a job of theirs."""
    month = Month.of_id(job_id)
    try:
        return month is not None and bool(
            await store.archive.read(
                month, lambda transaction: transaction.run(OBSERVE_PIPELINE, job_id=job_id, owner=owner)
            )
        )
    except NotFound:
        return False


async def allow_moves(transaction: Transaction, *, on: bool) -> None:
    """Let the guards accept that rows leave their tables, until the end of the transaction."""
    await transaction.run(ARCHIVE_ALLOW, on=on)


async def store_time(store: Store) -> datetime:
    """Return the time by the clock of the store."""
    (row,) = await store.read(lambda transaction: transaction.run(NOW))
    return row.at


def _limit(now: datetime, older: float | None, before: datetime | None) -> datetime:
    """Return the time before which a job must have finished."""
    if before is not None:
        return before
    return START_OF_TIME if older is None else now - timedelta(seconds=older)


async def _due_jobs(
    store: Store, extension: Extension, before: datetime, failed_before: datetime
) -> AsyncIterator[list[DueRow]]:
    """Yield the jobs to move in windows, the oldest first; versions of a resource that it still needs are left out."""
    after, until = -1, id_at(max(before, failed_before) + CLOCK_ERROR)
    limits = {"before": before, "failed_before": failed_before, "until": until, "window": WINDOW}

    async def flow(transaction: Transaction) -> tuple[int | None, list[DueRow]]:
        rows = await transaction.run(ARCHIVE_DUE, after=after, enough=BATCH_TASKS + 1, **limits)
        due = [row for row in rows if row.due]
        linked = [row.id for row in due if row.resource_id is not None]
        kept = await extension.keeps(transaction, linked) if linked else ()
        return rows[-1].id if rows else None, [row for row in due if row.id not in kept]

    while True:
        last, due = await store.read(flow)
        if due:
            yield due
        if last is None:
            return
        after = last


def _batches(jobs: Sequence[DueRow]) -> Iterator[tuple[Month, list[DueRow]]]:
    """Split jobs by month, and into batches of a bounded number of jobs and tasks."""
    for month, rows in groupby(jobs, key=lambda row: Month.of_id(row.id)):
        if month is None:
            continue  # no time has such an id: it was written by manual SQL
        batch: list[DueRow] = []
        for row in rows:
            if batch and (len(batch) == BATCH_JOBS or sum(each.tasks for each in batch) + row.tasks > BATCH_TASKS):
                yield month, batch
                batch = []
            batch.append(row)
        yield month, batch


async def _move(store: Store, month: Month, batch: Sequence[DueRow]) -> Archived:
    """Move a batch of jobs of one month; jobs that changed since they were selected stay."""
    job_ids = [row.id for row in batch]
    await store.archive.prepare([month])
    names = [row.name for row in await store.read(lambda transaction: transaction.run(ARCHIVE_NAMES, job_ids=job_ids))]
    await store.archive.copy(month, job_ids, names)
    moved, rows = await store.write(lambda transaction: _take(transaction, batch))
    # The copy of a job that stays is left in the month: it may be there because another process has moved the job.
    return Archived({str(month): len(moved)} if moved else {}, rows)


async def _take(transaction: Transaction, batch: Sequence[DueRow]) -> tuple[list[int], dict[str, int]]:
    """Lock tasks, then jobs, and take their rows out of the store; return the jobs, and the rows by table."""
    await transaction.run(OPERATE_LOCK_AGAIN, job_ids=[row.id for row in batch])
    given = Batch(("id", "version"), [(row.id, row.version) for row in batch])
    job_ids = [row.id for row in await transaction.run(ARCHIVE_LOCK, given)]
    if not job_ids:
        return [], {}
    names = [row.name for row in await transaction.run(ARCHIVE_NAMES, job_ids=job_ids)]
    await allow_moves(transaction, on=True)
    await transaction.run(ARCHIVE_FLOOR, job_ids=job_ids, names=names)
    await transaction.run(FORGET_WAITS, job_ids=job_ids)
    rows = {}
    for table, take in ARCHIVE_TAKE.items():
        (taken,) = await transaction.run(take, job_ids=job_ids, names=names)
        rows[table] = taken.rows
    await allow_moves(transaction, on=False)
    return job_ids, rows


async def delete_rows(transaction: Transaction, job_ids: Sequence[int], names: Sequence[str]) -> dict[str, int]:
    """Delete all rows of jobs for good; return how many by table."""
    rows = {}
    for table, purge in PURGE_ROWS.items():
        (gone,) = await transaction.run(purge, job_ids=list(job_ids), names=list(names))
        rows[table] = gone.rows
    return rows


def _planned(month: Month, batch: Sequence[DueRow]) -> Archived:
    return Archived({str(month): len(batch)}, {"jobs": len(batch)})


def _sum(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in (*left, *right)}
