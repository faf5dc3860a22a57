"""What the operators' verbs share: the locks, the check of the version, the check of the machine.

The tasks of the jobs are locked before the jobs' rows, as everywhere. A stage that opens in between brings tasks that
are not locked yet; the second look takes them without waiting, and where somebody holds one the flow runs again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from reelstate.core.document import plain_text, whole_number
from reelstate.core.errors import (
    CorruptState,
    InvalidRequest,
    InvalidTransition,
    NotFound,
    ReelstateError,
    SelectionChanged,
    VersionConflict,
)
from reelstate.core.machine import FINISHED_JOBS, JOB, JobStatus
from reelstate.core.model import Verdict
from reelstate.services.catalogue import Catalogue, unreadable
from reelstate.services.jobs import LockedJob, lock_jobs
from reelstate.stores.store import Batch, Store, Transaction

REASON_LIMIT = 1000
ACTOR_LIMIT = 255
MAX_SELECTED = 5000
"""Jobs that one transaction changes at most."""
READ_ONLY = "it is left alone: upgrade Reelstate, or run `reel doctor`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """All jobs of these statuses, and of a pipeline and a user where they are named; the caller says how many."""

    statuses: Collection[JobStatus]
    expected: int
    pipeline: str | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Which jobs, who asks, and why. With `version` the jobs must still be as they were read.

    With `owner` there are no jobs but theirs. A `selection` stands in the place of ids.
    """

    job_ids: Sequence[int] = ()
    actor: str
    reason: str | None = None
    version: int | None = None
    owner: str | None = None
    selection: Selection | None = None

    def __post_init__(self) -> None:
        for job_id in self.job_ids:
            whole_number("job_id", job_id)
        plain_text("actor", self.actor, ACTOR_LIMIT)
        if self.reason is not None:
            plain_text("reason", self.reason, REASON_LIMIT)


class OperationOptions(TypedDict, total=False):
    """Options of a verb on one job, or one resource of an extension."""

    reason: str | None
    version: int | None
    owner: str | None


@dataclass(frozen=True, slots=True)
class Operated:
    """What became of one job: ok, repeated (it was so already), unknown, or refused with an error."""

    job_id: int
    verdict: Verdict | None
    error: ReelstateError | None = None


Apply = Callable[[Transaction, list[LockedJob]], Awaitable[None]]
Already = Callable[[LockedJob], bool]
"""Whether a job is as the verb would have it."""
Objections = Callable[[Transaction, list[LockedJob]], Awaitable[dict[int, ReelstateError]]]
"""Why the verb can't be done to some of these jobs, by their ids."""


async def operate(
    store: Store,
    catalogue: Catalogue,
    operation: Operation,
    target: JobStatus | None,
    apply: Apply,
    *,
    already: Collection[JobStatus] | Already | None = None,
    objections: Objections | None = None,
) -> list[Operated]:
    """Move jobs to `target` where their machine allows it; `apply` does the verb's own part for those that move.

    Without a target they keep their status, and only those that have ended are refused. Jobs in a status in `already`
    (by default the target), or for which it returns True, are as the verb would have them, so nothing is done. Those
    that the verb itself can't be done to, by its `objections`, are left as they are.
    """
    return await store.write(
        lambda transaction: operate_in(
            transaction, catalogue, operation, target, apply, already=already, objections=objections
        )
    )


async def operate_in(
    transaction: Transaction,
    catalogue: Catalogue,
    operation: Operation,
    target: JobStatus | None,
    apply: Apply,
    *,
    already: Collection[JobStatus] | Already | None = None,
    objections: Objections | None = None,
) -> list[Operated]:
    """The same as part of a larger transaction."""
    job_ids = await _chosen(transaction, operation)
    jobs = await _lock(transaction, catalogue, await _owned(transaction, job_ids, operation.owner))
    _require_still(operation.selection, jobs.values())
    enough = already if callable(already) else _has_status({target} if already is None else already)
    outcomes = [_judge(job_id, jobs.get(job_id), operation, target, enough) for job_id in job_ids]
    outcomes = _once_each(outcomes)
    moving = [jobs[outcome.job_id] for outcome in outcomes if outcome.verdict is Verdict.OK]
    refused = await objections(transaction, moving) if objections and moving else {}
    if len(moving) > len(refused):
        await apply(transaction, [job for job in moving if job.id not in refused])
    return [_unless_refused(outcome, refused) for outcome in outcomes]


async def move(transaction: Transaction, jobs: Sequence[LockedJob], target: JobStatus, operation: Operation) -> None:
    """Write the jobs' new status with who asked and why."""
    rows = [(job.id, job.status) for job in jobs]
    await transaction.run(
        "operate_jobs",
        Batch(("id", "origin"), rows),
        status=target,
        actor=operation.actor,
        reason=operation.reason,
    )


def _once_each(outcomes: list[Operated]) -> list[Operated]:
    """A job that is named twice is moved once."""
    seen: set[int] = set()
    result = []
    for outcome in outcomes:
        again = outcome.job_id in seen and outcome.verdict is Verdict.OK
        result.append(Operated(outcome.job_id, Verdict.REPEATED) if again else outcome)
        seen.add(outcome.job_id)
    return result


def _unless_refused(outcome: Operated, refused: Mapping[int, ReelstateError]) -> Operated:
    if outcome.job_id in refused:
        return Operated(outcome.job_id, None, refused[outcome.job_id])
    return outcome


def require_reason(operation: Operation, verb: str) -> None:
    if not (operation.reason or "").strip():
        raise InvalidRequest("reason", f"{verb} needs a reason", hint="say why; it is kept in the job's history")


def one(outcomes: list[Operated]) -> Verdict:
    """The outcome of a verb on a single job, raised when it is an error."""
    (outcome,) = outcomes
    if outcome.error is not None:
        raise outcome.error
    return outcome.verdict or Verdict.UNKNOWN


async def matching(transaction: Transaction, selection: Selection) -> list[int]:
    """The jobs of a selection; one that is too large for one transaction is refused."""
    rows = await transaction.run(
        "operate_matching",
        statuses=sorted(selection.statuses),
        pipeline=selection.pipeline,
        user_id=selection.user_id,
        limit=MAX_SELECTED + 1,
    )
    if len(rows) > MAX_SELECTED:
        raise InvalidRequest(
            "selection",
            f"more than {MAX_SELECTED:,} jobs match",
            hint="narrow it to a pipeline, a user or fewer statuses",
        )
    return [row[0] for row in rows]


async def _chosen(transaction: Transaction, operation: Operation) -> Sequence[int]:
    if operation.selection is None:
        return operation.job_ids
    job_ids = await matching(transaction, operation.selection)
    if len(job_ids) != operation.selection.expected:
        raise SelectionChanged(operation.selection.expected, len(job_ids))
    return job_ids


def _require_still(selection: Selection | None, jobs: Collection[LockedJob]) -> None:
    """Refuse what is no longer as it was chosen: a job may have moved on before its row was ours."""
    if selection is None:
        return
    found = sum(job.status in selection.statuses for job in jobs)
    if found != selection.expected:
        raise SelectionChanged(selection.expected, found)


async def _owned(transaction: Transaction, job_ids: Sequence[int], owner: str | None) -> Sequence[int]:
    if owner is None or not job_ids:
        return job_ids
    return [row[0] for row in await transaction.run("operate_owned", job_ids=sorted(set(job_ids)), owner=owner)]


async def _lock(transaction: Transaction, catalogue: Catalogue, job_ids: Sequence[int]) -> dict[int, LockedJob]:
    wanted = sorted(set(job_ids))
    await transaction.run("operate_lock", job_ids=wanted)
    jobs = {job.id: job for job in await lock_jobs(transaction, catalogue, wanted)}
    await transaction.run("operate_lock_again", job_ids=wanted)
    return jobs


def _has_status(statuses: Collection[JobStatus | None]) -> Already:
    return lambda job: job.status in statuses


def _judge(
    job_id: int, job: LockedJob | None, operation: Operation, target: JobStatus | None, already: Already
) -> Operated:
    if job is None:
        return Operated(job_id, Verdict.UNKNOWN, NotFound("job", job_id))
    if job.status is None:
        return Operated(
            job_id,
            None,
            CorruptState(f"job {job_id} has a status that this version does not know", hint=READ_ONLY),
        )
    if operation.version is not None and operation.version != job.version:
        return Operated(job_id, None, VersionConflict("job", job_id, operation.version, job.version))
    if target is None and job.status in FINISHED_JOBS:
        return Operated(job_id, None, InvalidTransition("job", job.status, "a change", operation.actor))
    if already(job):
        return Operated(job_id, Verdict.REPEATED)
    if job.known is None and target is JobStatus.PENDING:
        return Operated(job_id, None, unreadable(job.pipeline_id))
    try:
        JOB.validate(job.status, target or job.status, operation.actor)
    except ReelstateError as error:
        return Operated(job_id, None, error)
    return Operated(job_id, Verdict.OK)
