"""Repair jobs that are in the store and in a month of the archive: one copy stays, the one with the higher version.

An interrupted move in SQLite leaves two equal copies, and a store that was restored from a backup may have a job that
its month has in a later version. Of equal copies the one in the store stays: it gets the next version, with an event,
so that a move which has selected it before does not take it. A copy in a month is deleted only if it is older than
that: a move that runs meanwhile writes a newer one, which may be the only one a moment later.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from reelstate.core.month import Month
from reelstate.services.operate.operation import OPERATE_LOCK
from reelstate.services.purge import delete_archived, delete_outdated
from reelstate.services.repair import DOCTOR_REPAIRING, record_repair
from reelstate.stores.archive import MisplacedJob
from reelstate.stores.store import Batch, Statement, Store, Transaction

ACTOR: Final = "doctor"
REASON: Final = "repair: archive"
VERSIONS: Final = ("id", "version")


class VersionRow(NamedTuple):
    id: int
    version: int
    status: str


class OutdatedRow(NamedTuple):
    id: int


REPAIR_KEPT = Statement("repair_kept", VersionRow)
REPAIR_OUTDATED = Statement("repair_outdated", OutdatedRow)


def describe_misplaced(job: MisplacedJob) -> str:
    """Return what is wrong with a job, and which copy a repair keeps."""
    versions = f"version {job.version} in the store, {job.archived_version} in the archive"
    return f"it is in two places: {versions}; repair keeps that in the {'store' if _keeps_stored(job) else 'archive'}"


async def repair_misplaced(store: Store, jobs: Sequence[MisplacedJob]) -> None:
    """Delete the older copy of each job; of equal ones that in the archive."""
    outdated = [job for job in jobs if not _keeps_stored(job)]
    kept = [job for job in jobs if _keeps_stored(job)]
    if outdated:
        await store.write(lambda transaction: _delete_stored(transaction, outdated))
    if kept:
        versions = await store.write(lambda transaction: _raise_versions(transaction, kept))
        for month, rows in groupby(versions, key=lambda row: Month.of_id(row.id)):
            if month is not None:
                await _delete_copies(store, month, list(rows))


def _keeps_stored(job: MisplacedJob) -> bool:
    return job.version >= job.archived_version


async def _delete_stored(transaction: Transaction, jobs: Sequence[MisplacedJob]) -> None:
    """Delete jobs from the store that are still older than their copies."""
    await transaction.run(OPERATE_LOCK, job_ids=[job.id for job in jobs])
    given = Batch(VERSIONS, [(job.id, job.archived_version) for job in jobs])
    job_ids = [row.id for row in await transaction.run(REPAIR_OUTDATED, given)]
    if job_ids:
        await delete_outdated(transaction, job_ids, actor=ACTOR, reason=REASON)


async def _raise_versions(transaction: Transaction, jobs: Sequence[MisplacedJob]) -> list[VersionRow]:
    """Raise the versions of jobs in the store, with an event of each; return them by id."""
    job_ids = [job.id for job in jobs]
    await transaction.run(OPERATE_LOCK, job_ids=job_ids)
    await transaction.run(DOCTOR_REPAIRING, on=True)
    rows = await transaction.run(REPAIR_KEPT, job_ids=job_ids, reason=REASON)
    await record_repair(
        transaction, [("job", row.id, -1, -1, row.version, row.status, row.status) for row in rows], REASON
    )
    await transaction.run(DOCTOR_REPAIRING, on=False)
    return sorted(rows)


async def _delete_copies(store: Store, month: Month, versions: Sequence[VersionRow]) -> None:
    async def flow(transaction: Transaction) -> None:
        given = Batch(VERSIONS, [(row.id, row.version) for row in versions])
        job_ids = [row.id for row in await transaction.run(REPAIR_OUTDATED, given)]
        if job_ids:
            await delete_archived(transaction, job_ids)

    await store.archive.write(month, flow)
