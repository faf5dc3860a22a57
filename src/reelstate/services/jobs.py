"""Rows of jobs that a transaction has locked, and the changes that it makes to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from reelstate.core.machine import ACTIVE_JOBS, INACTIVE_JOBS, JobStatus
from reelstate.core.model import Json
from reelstate.services.catalogue import Catalogue, Declared, unreadable
from reelstate.stores.store import Batch, NoRow, Row, Statement, Transaction
from reelstate.telemetry.facts import JobEnded, Transition

MOVE_COLUMNS = ("id", "origin", "status", "phase", "actor", "reason", "error", "degraded")
JOB_STATUSES = {str(status): status for status in JobStatus}


class _JobRow(NamedTuple):
    id: int
    pipeline_id: int
    status: str
    phase: str
    priority: int
    version: int
    delay: float
    in_state: float
    age: float


class NewId(NamedTuple):
    id: int


class StoreTime(NamedTuple):
    at: datetime


LOCK_JOBS = Statement("orchestrate_lock", _JobRow)
MOVE_JOBS = Statement("orchestrate_jobs", NoRow)
NEW_IDS = Statement("submit_ids", NewId)
"""Ids of new rows, in the order of time."""
NOW = Statement("submit_now", StoreTime)
"""The time by the store's clock."""


@dataclass(frozen=True, slots=True)
class LockedJob:
    """A job whose row this transaction has locked."""

    id: int
    pipeline_id: int
    known: Declared | None
    """None for a pipeline that is missing or unreadable: only cancel and quarantine change the job."""
    status: JobStatus | None
    """None for a status that this version does not know: nothing changes the job."""
    phase: JobStatus
    priority: int
    version: int
    delay: float
    """Seconds until its first tasks may run."""
    in_state: float = 0.0
    """Seconds since its status changed."""
    age: float = 0.0
    """Seconds since its creation."""

    @property
    def declared(self) -> Declared:
        """The pipeline of the job. Raises `CorruptState` where it is missing or unreadable."""
        if self.known is None:
            raise unreadable(self.pipeline_id)
        return self.known

    @property
    def active(self) -> bool:
        return self.status in ACTIVE_JOBS


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMove:
    """A change of a locked job's status, with its actor and reason."""

    job: LockedJob
    status: JobStatus
    actor: str
    phase: JobStatus | None = None
    reason: str | None = None
    error: Json = None
    degraded: Sequence[str] = ()

    def row(self) -> Row:
        """Return the row for `MOVE_COLUMNS`."""
        error = None if self.error is None else json.dumps(self.error)
        degraded = json.dumps(list(self.degraded)) if self.degraded else None
        phase = self.phase or self.job.phase
        return (self.job.id, self.job.status, self.status, phase, self.actor, self.reason, error, degraded)


async def lock_jobs(transaction: Transaction, catalogue: Catalogue, job_ids: Iterable[int]) -> list[LockedJob]:
    """Lock the rows of these jobs until the transaction ends, and return them by id."""
    wanted = sorted(set(job_ids))
    rows = await transaction.run(LOCK_JOBS, job_ids=wanted) if wanted else []
    declared = await catalogue.load(transaction, {row.pipeline_id for row in rows})
    return [
        LockedJob(
            row.id,
            row.pipeline_id,
            declared.get(row.pipeline_id),
            JOB_STATUSES.get(row.status),
            JOB_STATUSES.get(row.phase, JobStatus.PROCESSING),
            row.priority,
            row.version,
            row.delay,
            row.in_state,
            row.age,
        )
        for row in rows
    ]


async def move_jobs(transaction: Transaction, moves: Sequence[JobMove]) -> None:
    """Change the status of locked jobs; each change is guarded by the status it starts from."""
    if moves:
        await transaction.run(MOVE_JOBS, Batch(MOVE_COLUMNS, [move.row() for move in moves]))
        note_moves(transaction, [(move.job, move.status) for move in moves])


def note_moves(transaction: Transaction, moves: Iterable[tuple[LockedJob, JobStatus]]) -> None:
    """Note the transitions of locked jobs, and which of them end."""
    for job, target in moves:
        transaction.note(Transition("job", str(job.status), target, seconds=job.in_state))
        if target in INACTIVE_JOBS:
            transaction.note(JobEnded(target, job.age))
