"""Rows of jobs that a transaction has locked, and the changes that it makes to them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from reelstate.core.machine import ACTIVE_JOBS, INACTIVE_JOBS, JobStatus
from reelstate.core.model import Json
from reelstate.services.catalogue import Catalogue, Declared, unreadable
from reelstate.stores.store import Batch, NoRow, Row, Statement, Transaction
from reelstate.telemetry.facts import JobEnded, StageEnded, TracedJob, Transition, listening

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
    trace: str | None


class _OpenedStage(NamedTuple):
    job_id: int
    stage: int
    open: bool
    total: int
    done: int
    skipped: int
    failed: int
    age: float

    @property
    def closed(self) -> bool:
        return self.done + self.skipped + self.failed == self.total


class NewId(NamedTuple):
    id: int


class JobStatusRow(NamedTuple):
    id: int
    status: str


class WaitedJob(NamedTuple):
    job_id: int


class StoreTime(NamedTuple):
    at: datetime


LOCK_JOBS = Statement("orchestrate_lock", _JobRow)
MOVE_JOBS = Statement("orchestrate_jobs", NoRow)
OPENED_STAGES = Statement("orchestrate_opened", _OpenedStage)
END_WAITS = Statement("waits_end", WaitedJob)
"""Let jobs wait for others no longer; the rows are those that waited until now."""
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
    trace: str | None = None
    """The trace context that it was submitted in."""

    @property
    def declared(self) -> Declared:
        """The pipeline of the job. Raises `CorruptState` where it is missing or unreadable."""
        if self.known is None:
            raise unreadable(self.pipeline_id)
        return self.known

    @property
    def active(self) -> bool:
        return self.status in ACTIVE_JOBS

    @property
    def traced(self) -> TracedJob | None:
        """The job as facts name it; None without a trace."""
        if self.trace is None or self.known is None:
            return None
        return TracedJob(self.id, self.trace, self.known.graph.name)


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
            row.trace,
        )
        for row in rows
    ]


async def move_jobs(transaction: Transaction, moves: Sequence[JobMove]) -> None:
    """Change the status of locked jobs; each change is guarded by the status it starts from."""
    if moves:
        await transaction.run(MOVE_JOBS, Batch(MOVE_COLUMNS, [move.row() for move in moves]))
        await note_moves(transaction, [(move.job, move.status, move.error) for move in moves])


async def note_moves(transaction: Transaction, moves: Sequence[tuple[LockedJob, JobStatus, Json]]) -> None:
    """Note the transitions of locked jobs, which of them end, and the stages that end with a traced one."""
    for job, target, error in moves:
        transaction.note(Transition("job", str(job.status), target, seconds=job.in_state))
        if target in INACTIVE_JOBS:
            transaction.note(JobEnded(target, job.age, job.traced, error))
    await note_stages(transaction, [job for job, target, _ in moves if target in INACTIVE_JOBS])


async def note_stages(
    transaction: Transaction, jobs: Iterable[LockedJob], closed: Mapping[int, Collection[int]] | None = None
) -> None:
    """Note the stages of traced jobs that have just `closed`, by job; without it, those that are open."""
    traced = {job.id: job for job in jobs if job.trace is not None and job.known}
    if not traced or not listening():
        return
    for row in await transaction.run(OPENED_STAGES, job_ids=sorted(traced)):
        job = traced[row.job_id]
        ends = row.stage in closed.get(job.id, ()) if closed is not None else bool(row.open) and not row.closed
        if ends and job.traced is not None and row.stage < len(job.declared.graph.stages):
            stage = job.declared.graph.stages[row.stage]
            transaction.note(StageEnded(job.traced, row.stage, stage.name, stage.phase, row.total, row.failed, row.age))
