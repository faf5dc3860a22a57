"""What the verbs of operators share: locking the jobs, checking their versions and the state machine.

Tasks are locked before jobs, as in every transaction. A stage that opens in between adds tasks that are not locked; a
second statement locks them without waiting, and restarts the flow where another transaction holds one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

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
from reelstate.services.jobs import END_WAITS, LockedJob, lock_jobs, note_moves
from reelstate.stores.store import Batch, Statement, Store, Transaction

REASON_LIMIT = 1000
ACTOR_LIMIT = 255
MAX_SELECTED = 5000
"""Jobs that one transaction changes at most."""
READ_ONLY = "upgrade Reelstate, or run `reel doctor`"


class JobIdRow(NamedTuple):
    id: int


class LockedRow(NamedTuple):
    tasks: int


OPERATE_JOBS = Statement("operate_jobs", JobIdRow)
OPERATE_MATCHING = Statement("operate_matching", JobIdRow)
OPERATE_GROUP = Statement("operate_group", JobIdRow)
OPERATE_OWNED = Statement("operate_owned", JobIdRow)
OPERATE_LOCK = Statement("operate_lock", LockedRow)
OPERATE_LOCK_AGAIN = Statement("operate_lock_again", LockedRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """All jobs with these statuses, of one pipeline, user and group where given. `expected` is their number."""

    statuses: Collection[JobStatus]
    expected: int
    pipeline: str | None = None
    user_id: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Which jobs to change, who changes them, and why. A `selection` replaces the ids.

    With `version` a job must still have it. With `owner` the jobs of other users are unknown.
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


class GroupOptions(TypedDict):
    """Who changes the jobs of a group, and why."""

    actor: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Operated:
    """The outcome for one job: ok, repeated (nothing to do), unknown, or refused with an error."""

    job_id: int
    verdict: Verdict | None
    error: ReelstateError | None = None


Apply = Callable[[Transaction, list[LockedJob]], Awaitable[None]]
Already = Callable[[LockedJob], bool]
"""Whether a job needs no change."""
Objections = Callable[[Transaction, list[LockedJob]], Awaitable[dict[int, ReelstateError]]]
"""Why the verb does not apply to some of these jobs, by their ids."""


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
    """Change jobs where the state machine allows a transition to `target`; `apply` makes the change.

    Without a target they keep their status, and only finished jobs are refused. Jobs with a status in `already` (by
    default the target), or for which it returns True, need no change. Jobs with `objections` are refused.
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
    """Change jobs as part of a larger transaction; see `operate`."""
    job_ids = await _select_jobs(transaction, operation)
    jobs = await _lock_jobs(transaction, catalogue, await _select_owned(transaction, job_ids, operation.owner))
    _require_unchanged(operation.selection, jobs.values())
    is_done = already if callable(already) else _has_status({target} if already is None else already)
    outcomes = [_check_job(job_id, jobs.get(job_id), operation, target, is_done) for job_id in job_ids]
    outcomes = _mark_repeated(outcomes)
    moving = [jobs[outcome.job_id] for outcome in outcomes if outcome.verdict is Verdict.OK]
    refused = await objections(transaction, moving) if objections and moving else {}
    if len(moving) > len(refused):
        await apply(transaction, [job for job in moving if job.id not in refused])
    return [_unless_refused(outcome, refused) for outcome in outcomes]


async def move(transaction: Transaction, jobs: Sequence[LockedJob], target: JobStatus, operation: Operation) -> None:
    """Write the new status of jobs, with the actor and the reason. They wait for other jobs no longer."""
    rows = [(job.id, job.status) for job in jobs]
    await transaction.run(
        OPERATE_JOBS,
        Batch(("id", "origin"), rows),
        status=target,
        actor=operation.actor,
        reason=operation.reason,
    )
    await transaction.run(END_WAITS, job_ids=[job.id for job in jobs])
    await note_moves(transaction, [(job, target, None) for job in jobs])


def _mark_repeated(outcomes: list[Operated]) -> list[Operated]:
    """Mark every further outcome of a job as repeated: a job that is named twice changes once."""
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
        raise InvalidRequest("reason", f"{verb} needs a reason", hint="the history of the job keeps it")


def one(outcomes: list[Operated]) -> Verdict:
    """Return the verdict of a verb on a single job; raise its error."""
    (outcome,) = outcomes
    if outcome.error is not None:
        raise outcome.error
    return outcome.verdict or Verdict.UNKNOWN


async def matching(transaction: Transaction, selection: Selection) -> list[int]:
    """Return the jobs of a selection; raise `InvalidRequest` for more than one transaction may change."""
    terms = {"pipeline": selection.pipeline, "user_id": selection.user_id, "limit": MAX_SELECTED + 1}
    statuses = sorted(selection.statuses)
    if selection.group is None:
        rows = await transaction.run(OPERATE_MATCHING, statuses=statuses, **terms)
    else:
        rows = await transaction.run(OPERATE_GROUP, statuses=statuses, group=selection.group, **terms)
    if len(rows) > MAX_SELECTED:
        raise InvalidRequest(
            "selection",
            f"more than {MAX_SELECTED:,} jobs match",
            hint="narrow it to a pipeline, a user or fewer statuses",
        )
    return [row.id for row in rows]


async def _select_jobs(transaction: Transaction, operation: Operation) -> Sequence[int]:
    if operation.selection is None:
        return operation.job_ids
    job_ids = await matching(transaction, operation.selection)
    if len(job_ids) != operation.selection.expected:
        raise SelectionChanged(operation.selection.expected, len(job_ids))
    return job_ids


def _require_unchanged(selection: Selection | None, jobs: Collection[LockedJob]) -> None:
    """Raise `SelectionChanged` where a job changed its status before its row was locked."""
    if selection is None:
        return
    found = sum(job.status in selection.statuses for job in jobs)
    if found != selection.expected:
        raise SelectionChanged(selection.expected, found)


async def _select_owned(transaction: Transaction, job_ids: Sequence[int], owner: str | None) -> Sequence[int]:
    if owner is None or not job_ids:
        return job_ids
    return [row.id for row in await transaction.run(OPERATE_OWNED, job_ids=sorted(set(job_ids)), owner=owner)]


async def _lock_jobs(transaction: Transaction, catalogue: Catalogue, job_ids: Sequence[int]) -> dict[int, LockedJob]:
    wanted = sorted(set(job_ids))
    await transaction.run(OPERATE_LOCK, job_ids=wanted)
    jobs = {job.id: job for job in await lock_jobs(transaction, catalogue, wanted)}
    await transaction.run(OPERATE_LOCK_AGAIN, job_ids=wanted)
    return jobs


def _has_status(statuses: Collection[JobStatus | None]) -> Already:
    return lambda job: job.status in statuses


def _check_job(
    job_id: int, job: LockedJob | None, operation: Operation, target: JobStatus | None, is_done: Already
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
    if is_done(job):
        return Operated(job_id, Verdict.REPEATED)
    if job.known is None and target is JobStatus.PENDING:
        return Operated(job_id, None, unreadable(job.pipeline_id))
    try:
        JOB.validate(job.status, target or job.status, operation.actor)
    except ReelstateError as error:
        return Operated(job_id, None, error)
    return Operated(job_id, Verdict.OK)
