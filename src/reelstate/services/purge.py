"""purge: delete every row of one user from the store and the archive, and record that it was done, without the data.

Jobs that still run are cancelled first. It may be interrupted anywhere and started again. Subscribers whose cursor is
before a deleted event get a reset.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from reelstate.core.document import encode, plain_text
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.machine import ACTIVE_JOBS
from reelstate.core.month import Month
from reelstate.services.archive import (
    ARCHIVE_FLOOR,
    ARCHIVE_NAMES,
    FORGET_WAITS,
    LockedId,
    RowCount,
    allow_moves,
    delete_rows,
)
from reelstate.services.catalogue import Catalogue
from reelstate.services.keep import ADD_KEEPER_ROW
from reelstate.services.observe import FILTER_LIMIT, JobFilter, observe_jobs
from reelstate.services.operate.cancel import cancel
from reelstate.services.operate.operation import OPERATE_LOCK, Operation
from reelstate.stores.store import NoRow, Statement, Store, Transaction

BATCH: Final = 200
"""Jobs that one transaction deletes."""
DATA_LIMIT: Final = 16 * 1024
PURGED_TABLES: Final = (
    "idempotency",
    "tickets",
    "versions",
    "videos",
    "keys",
    "webhooks",
    "uploads",
    "schedules",
    "groups",
)
"""Tables with other rows of a user, in the order in which they refer to each other."""


class SourceRow(NamedTuple):
    sha256: str


PURGE_OUTBOX = Statement("purge_outbox", RowCount)
PURGE_JOBS = Statement("purge_jobs", LockedId)
PURGE_TABLES = {table: Statement(f"purge_{table}", RowCount) for table in PURGED_TABLES}
PURGE_FETCHED = Statement("purge_fetched", SourceRow)
PURGE_RECORD = Statement("purge_record", NoRow)


@dataclass(frozen=True, slots=True)
class Purged:
    """How many rows were deleted, or would be, by table, and how many files."""

    rows: Mapping[str, int] = field(default_factory=dict)
    files: int = 0


async def jobs_of_user(store: Store, user_id: str) -> list[int]:
    """Return the jobs of a user, in the store and in the archive."""
    found = await _ids(store, None, user_id, limit=None)
    for month in await store.archive.months():
        found += await _ids(store, month, user_id, limit=None)
    return sorted(set(found))


async def fetched_sources(store: Store, job_ids: Sequence[int]) -> set[str]:
    """Return the sha256 of the sources that these jobs have fetched, archived or not."""
    found: set[str] = set()
    for start in range(0, len(job_ids), BATCH):
        batch = list(job_ids[start : start + BATCH])

        async def flow(transaction: Transaction, batch: list[int] = batch) -> list[str]:
            return [row.sha256 for row in await transaction.run(PURGE_FETCHED, job_ids=batch)]

        found.update(await store.read(flow))
        for month in {month for job_id in batch if (month := Month.of_id(job_id)) is not None}:
            with contextlib.suppress(NotFound):
                found.update(await store.archive.read(month, flow))
    return found


async def cancel_jobs(store: Store, catalogue: Catalogue, user_id: str, *, actor: str) -> int:
    """Cancel the jobs of a user that are not finished, so that their workers stop; return how many."""
    cancelled = 0
    while True:
        page = await observe_jobs(store, JobFilter(statuses=ACTIVE_JOBS, user_id=user_id), limit=BATCH)
        if not page.items:
            return cancelled
        reason = "the data of the user is purged"
        operation = Operation(job_ids=[job.id for job in page.items], actor=actor, reason=reason)
        outcomes = await cancel(store, catalogue, operation)
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
        if len(errors) == len(outcomes):
            raise errors[0]
        cancelled += len(outcomes) - len(errors)


async def purge_rows(store: Store, user_id: str) -> dict[str, int]:
    """Delete every row of a user; return how many by table. Their jobs must be inactive."""
    require_user(user_id)
    (outbox,) = await store.write(lambda transaction: transaction.run(PURGE_OUTBOX, user_id=user_id))
    counts = {"deliveries": outbox.rows}
    while job_ids := await _ids(store, None, user_id, limit=BATCH):
        _add(counts, await store.write(lambda transaction, ids=job_ids: _delete_jobs(transaction, ids)))  # type: ignore[misc]
    for month in await store.archive.months():
        while job_ids := await _ids(store, month, user_id, limit=BATCH):
            _add(
                counts,
                await store.archive.write(
                    month,
                    lambda transaction, ids=job_ids: delete_archived(transaction, ids),  # type: ignore[misc]
                ),
            )
    for table in PURGED_TABLES:
        (row,) = await store.write(
            lambda transaction, table=table: transaction.run(PURGE_TABLES[table], user_id=user_id)  # type: ignore[misc]
        )
        _add(counts, {table: row.rows})
    return counts


async def record_purge(store: Store, counts: Mapping[str, int], *, actor: str, reason: str | None) -> None:
    """Write an event with how much was purged, by whom and why. It does not name the user."""
    data = encode("data", {"purged": dict(counts)}, DATA_LIMIT)
    await store.write(lambda transaction: _record_purge(transaction, actor, reason, data))


async def _record_purge(transaction: Transaction, actor: str, reason: str | None, data: str) -> None:
    await transaction.run(ADD_KEEPER_ROW)
    await transaction.run(PURGE_RECORD, actor=actor, reason=reason, data=data)


async def delete_outdated(transaction: Transaction, job_ids: Sequence[int], *, actor: str, reason: str) -> None:
    """Delete jobs whose archived copy is newer, and write an event that names them."""
    counts = await _delete_jobs(transaction, job_ids)
    data = encode("data", {"purged": counts, "jobs": list(job_ids)}, DATA_LIMIT)
    await _record_purge(transaction, actor, reason, data)


def require_user(user_id: str) -> None:
    """Raise `InvalidRequest` without a user: jobs without an owner belong to nobody."""
    plain_text("user", user_id, FILTER_LIMIT)
    if not user_id:
        raise InvalidRequest("user", "is empty", hint="name the user whose data is to be deleted")


async def _ids(store: Store, month: Month | None, user_id: str, *, limit: int | None) -> list[int]:
    async def flow(transaction: Transaction) -> list[int]:
        rows = await transaction.run(PURGE_JOBS, user_id=user_id, limit=2**31 if limit is None else limit)
        return [row.id for row in rows]

    return await (store.read(flow) if month is None else store.archive.read(month, flow))


async def _delete_jobs(transaction: Transaction, job_ids: Sequence[int]) -> dict[str, int]:
    await transaction.run(OPERATE_LOCK, job_ids=list(job_ids))
    names = await _names(transaction, job_ids)
    await allow_moves(transaction, on=True)
    await transaction.run(ARCHIVE_FLOOR, job_ids=list(job_ids), names=names)
    await transaction.run(FORGET_WAITS, job_ids=list(job_ids))
    counts = await delete_rows(transaction, job_ids, names)
    await allow_moves(transaction, on=False)
    return counts


async def delete_archived(transaction: Transaction, job_ids: Sequence[int]) -> dict[str, int]:
    """Delete all rows of jobs in a month; return how many by table."""
    return await delete_rows(transaction, job_ids, await _names(transaction, job_ids))


async def _names(transaction: Transaction, job_ids: Sequence[int]) -> list[str]:
    return [row.name for row in await transaction.run(ARCHIVE_NAMES, job_ids=list(job_ids))]


def _add(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count
