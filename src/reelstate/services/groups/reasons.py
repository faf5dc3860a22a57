"""reasons: what a waiting job waits for, as sentences."""

from __future__ import annotations

from typing import NamedTuple

from reelstate.core.group import AfterFailure
from reelstate.core.machine import ANY_PHASE, INACTIVE_JOBS, PHASES, JobStatus
from reelstate.core.model import Json
from reelstate.core.why import Reason, ReasonKind, error_text
from reelstate.stores.store import Statement, Transaction

MAX_NAMED = 10
"""Jobs and groups that are named."""
FOLLOWS = {
    AfterFailure.WAIT: "it waits on, because a retry may still complete it",
    AfterFailure.CANCEL: "a keeper cancels the job",
    AfterFailure.START: "the job starts when the others have ended too",
}


class _Wait(NamedTuple):
    after_failure: str


class _Dependency(NamedTuple):
    kind: str
    target: int
    status: str | None
    actor: str | None
    reason: str | None
    error: Json
    name: str | None
    jobs: int
    completed: int
    active: int


class _FailedJob(NamedTuple):
    job_id: int
    status: str
    actor: str | None
    reason: str | None
    error: Json


WAIT = Statement("why_waits", _Wait)
OPEN_DEPENDENCIES = Statement("why_after", _Dependency)
FAILED_MEMBER = Statement("why_failed", _FailedJob)


async def waiting_reasons(transaction: Transaction, job_id: int) -> list[Reason] | None:
    """Return what a job waits for, what has failed first; None for a job that does not wait."""
    waits = await transaction.run(WAIT, job_id=job_id)
    if not waits:
        return None
    after_failure = AfterFailure(waits[0].after_failure)
    rows = await transaction.run(OPEN_DEPENDENCIES, job_id=job_id, limit=MAX_NAMED)
    reasons = [
        await _failed_reason(transaction, row, after_failure) if _has_failed(row) else _open_reason(row) for row in rows
    ]
    if not any(reason.kind is ReasonKind.AFTER for reason in reasons) and _starts(reasons, after_failure):
        text = "what it waits for has ended; a keeper takes the next step"
        reasons.append(Reason(kind=ReasonKind.NEXT_STEP, sentence=text))
    return reasons


async def first_failure(transaction: Transaction, job_id: int) -> str:
    """Return why a waiting job is cancelled: the first failure among what it waits for."""
    rows = await transaction.run(OPEN_DEPENDENCIES, job_id=job_id, limit=1)
    for row in rows:
        if _has_failed(row):
            return (await _failure(transaction, row))[0]
    return "what it waits for has failed"


def _starts(reasons: list[Reason], after_failure: AfterFailure) -> bool:
    """Whether a job of which nothing is active any more starts or is cancelled."""
    return not reasons or after_failure is not AfterFailure.WAIT


def _has_failed(row: _Dependency) -> bool:
    if row.kind == "job":
        return row.status is None or row.status in INACTIVE_JOBS
    return row.completed + row.active < row.jobs


def _open_reason(row: _Dependency) -> Reason:
    if row.kind == "job":
        status = ANY_PHASE if row.status in PHASES else row.status
        sentence = f"waits for job {row.target} ({status})"
        return Reason(kind=ReasonKind.AFTER, sentence=sentence, data={"job": row.target, "status": status})
    sentence = f"waits for group {row.name}: {row.completed:,} of {row.jobs:,} completed"
    data = {"group": row.name, "completed": row.completed, "jobs": row.jobs}
    return Reason(kind=ReasonKind.AFTER, sentence=sentence, data=data)


async def _failed_reason(transaction: Transaction, row: _Dependency, after_failure: AfterFailure) -> Reason:
    failure, data = await _failure(transaction, row)
    if row.kind == "group":
        data |= {"group": row.name, "completed": row.completed, "jobs": row.jobs}
        failure += f" ({row.completed:,} of {row.jobs:,} completed)"
    sentence = f"{failure}; {FOLLOWS[after_failure]}"
    data["after_failure"] = str(after_failure)
    if after_failure is AfterFailure.START and row.active:
        sentence = f"waits for group {row.name}: {row.jobs - row.active:,} of {row.jobs:,} ended"
        return Reason(kind=ReasonKind.AFTER, sentence=sentence, data=data)
    return Reason(kind=ReasonKind.AFTER_FAILED, sentence=sentence, data=data)


async def _failure(transaction: Transaction, row: _Dependency) -> tuple[str, dict[str, Json]]:
    """Return which job has failed and why."""
    if row.kind == "job":
        failed = _FailedJob(row.target, row.status or "deleted", row.actor, row.reason, row.error)
        name = f"job {row.target}"
    else:
        (failed,) = await transaction.run(FAILED_MEMBER, id=row.target)
        name = f"job {failed.job_id} of group {row.name}"
    return f"{name} {_outcome(failed)}", {"job": failed.job_id, "status": failed.status}


def _outcome(job: _FailedJob) -> str:
    if job.status == JobStatus.FAILED:
        return "failed" if job.error is None else f"failed: {error_text(job.error)}"
    if job.status == JobStatus.COMPLETED:
        return "completed"
    by = "" if job.actor is None else f" by {job.actor}"
    return f"was {job.status}{by}{f': {job.reason}' if job.reason else ''}"
