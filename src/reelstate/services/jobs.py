"""Rows of jobs held by a transaction, and the changes it makes to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reelstate.core.machine import ACTIVE_JOBS, JobStatus
from reelstate.core.model import Json
from reelstate.services.catalogue import Catalogue, Declared, unreadable
from reelstate.stores.store import Batch, Row, Transaction

COLUMNS = ("id", "origin", "status", "phase", "actor", "reason", "error", "degraded")
KNOWN = {str(status): status for status in JobStatus}


@dataclass(frozen=True, slots=True)
class LockedJob:
    """A job whose row this transaction holds."""

    id: int
    pipeline_id: int
    known: Declared | None
    """None for a pipeline that is missing or unreadable: the job is left alone, except by cancel and quarantine."""
    status: JobStatus | None
    """None for a status that this version does not know: the job is left alone."""
    phase: JobStatus
    priority: int
    version: int
    delay: float
    """Seconds until its first tasks may run."""

    @property
    def declared(self) -> Declared:
        if self.known is None:
            raise unreadable(self.pipeline_id)
        return self.known

    @property
    def active(self) -> bool:
        return self.status in ACTIVE_JOBS


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMove:
    """A change of a locked job's status, with who made it and why."""

    job: LockedJob
    status: JobStatus
    actor: str
    phase: JobStatus | None = None
    reason: str | None = None
    error: Json = None
    degraded: Sequence[str] = ()

    def row(self) -> Row:
        """In the order of COLUMNS."""
        error = None if self.error is None else json.dumps(self.error)
        degraded = json.dumps(list(self.degraded)) if self.degraded else None
        phase = self.phase or self.job.phase
        return (self.job.id, self.job.status, self.status, phase, self.actor, self.reason, error, degraded)


async def lock_jobs(transaction: Transaction, catalogue: Catalogue, job_ids: Iterable[int]) -> list[LockedJob]:
    """Hold the rows of these jobs until the transaction ends."""
    wanted = sorted(set(job_ids))
    rows = await transaction.run("orchestrate_lock", job_ids=wanted) if wanted else []
    declared = await catalogue.known(transaction, {row[1] for row in rows})
    return [
        LockedJob(
            job_id,
            pipeline_id,
            declared.get(pipeline_id),
            KNOWN.get(status),
            KNOWN.get(phase, JobStatus.PROCESSING),
            priority,
            version,
            delay,
        )
        for job_id, pipeline_id, status, phase, priority, version, delay in rows
    ]


async def move_jobs(transaction: Transaction, moves: Sequence[JobMove]) -> None:
    """Change the status of jobs that are locked; each change is guarded by the status it starts from."""
    if moves:
        await transaction.run("orchestrate_jobs", Batch(COLUMNS, [move.row() for move in moves]))
