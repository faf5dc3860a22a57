"""fail: record failed attempts. A task waits for its retry, or is out of attempts and its job fails with it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from reelstate.core.document import LIMITS, DocumentLimits, encode, shorten
from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import Actor, JobStatus, TaskStatus
from reelstate.core.model import Failure, Json, TaskKey, Verdict
from reelstate.core.policy import Backoff
from reelstate.dispatch.dispatch import Wakeup
from reelstate.services.catalogue import Catalogue
from reelstate.services.complete import count_tasks
from reelstate.services.jobs import JobMove, LockedJob, lock_jobs, move_jobs, note_stages
from reelstate.services.orchestrate import advance, reset_tasks
from reelstate.services.verdict import LEASE_COLUMNS, lease_keys, verdicts
from reelstate.stores.store import Batch, Statement, Store, Transaction
from reelstate.telemetry.facts import TasksFailed, Transition

FAILURE_COLUMNS = (*LEASE_COLUMNS, "retryable", "retry_in", "error")
MAX_RETRY_DELAY = 30 * 86_400.0


class _FailedTask(NamedTuple):
    job_id: int
    stage: int
    part: int
    token: int
    final: bool
    error: Json


class _Attempt(NamedTuple):
    job_id: int
    stage: int
    part: int
    attempt: int
    pipeline_id: int


FAIL = Statement("fail", _FailedTask)
ATTEMPTS = Statement("fail_attempts", _Attempt)


@dataclass(frozen=True, slots=True)
class FinalError:
    """A task that is not retried automatically."""

    key: TaskKey
    error: Json
    poison: bool = False
    """The task keeps losing its worker."""


async def fail(
    store: Store, catalogue: Catalogue, items: Sequence[Failure], limits: DocumentLimits = LIMITS
) -> tuple[list[Verdict], set[Wakeup]]:
    """Record failed attempts; return a verdict per item in the order given, and the wake-ups for what followed."""
    if not items:
        return [], set()
    leases = lease_keys(items)
    failures = [
        (item, _error_text(item, limits), random.random()) for item in sorted(items, key=attrgetter("key", "token"))
    ]

    refused = {item.key for item in items if not item.retryable}

    async def flow(transaction: Transaction) -> tuple[list[Verdict], set[Wakeup]]:
        backoffs = await _backoffs(transaction, catalogue, items)
        rows = []
        for item, error, jitter in failures:
            delay = item.retry_in or 0.0
            if item.retry_in is None and item.key in backoffs:
                backoff, attempt = backoffs[item.key]
                delay = backoff.delay(attempt, jitter)
            rows.append((*item.key, item.token, item.retryable, delay, error))
        moved = await transaction.run(FAIL, Batch(FAILURE_COLUMNS, rows))
        final = [FinalError(TaskKey(row.job_id, row.stage, row.part), row.error) for row in moved if row.final]
        wakeups = await apply_final_errors(transaction, catalogue, final, actor=Actor.ORCHESTRATOR)
        accepted = [(TaskKey(row.job_id, row.stage, row.part), row.token) for row in moved]
        exhausted = len(final) - len(refused & {error.key for error in final})
        transaction.note(Transition("task", TaskStatus.RUNNING, TaskStatus.ERROR, len(moved)))
        transaction.note(TasksFailed(len(moved) - len(final), exhausted, len(final) - exhausted))
        return await verdicts(transaction, leases, accepted, lambda _: [TaskStatus.ERROR]), wakeups

    return await store.write(flow)


async def apply_final_errors(
    transaction: Transaction, catalogue: Catalogue, final: Sequence[FinalError], *, actor: Actor
) -> set[Wakeup]:
    """Fail the jobs of required tasks, quarantine those of poison tasks, let the others go on without the task.

    Returns the wake-ups for what followed.
    """
    if not final:
        return set()
    counts = Counter((error.key.job_id, error.key.stage, str(TaskStatus.ERROR)) for error in final)
    closed = await count_tasks(transaction, counts)
    jobs = {job.id: job for job in await lock_jobs(transaction, catalogue, {error.key.job_id for error in final})}
    moves: dict[int, JobMove] = {}
    for error in sorted(final, key=lambda error: not error.poison):  # a quarantine takes precedence over a failure
        job = jobs.get(error.key.job_id)
        if job and job.active and job.known and (error.poison or job.declared.graph.stages[error.key.stage].required):
            moves.setdefault(job.id, _move(job, error, actor))
    await move_jobs(transaction, list(moves.values()))
    ended = {job_id: job.stages for job_id, job in closed.items() if job_id in moves}
    await note_stages(transaction, [moves[job_id].job for job_id in ended], ended)
    quarantined = [move.job.id for move in moves.values() if move.status is JobStatus.QUARANTINED]
    failed = moves.keys() - set(quarantined)
    await reset_tasks(transaction, failed, actor=actor, reason="the job failed")
    await reset_tasks(transaction, quarantined, actor=Actor.KEEPER, reason="the job was quarantined", stop_running=True)
    others = {job_id: job.stages for job_id, job in closed.items() if job_id not in moves}
    wakeups = await advance(transaction, catalogue, others)
    return wakeups | ({Wakeup.JOB_INACTIVE} if moves else set()) | ({Wakeup.STOP} if quarantined else set())


def _move(job: LockedJob, error: FinalError, actor: Actor) -> JobMove:
    stage = job.declared.graph.stages[error.key.stage].name
    evidence = {"task": str(error.key), "stage": stage, "part": error.key.part, "cause": error.error}
    if error.poison:
        reason = f"task {error.key} keeps losing its worker"
        return JobMove(job=job, status=JobStatus.QUARANTINED, actor=Actor.KEEPER, reason=reason, error=evidence)
    reason = f"task {error.key} of stage {stage} failed for good"
    return JobMove(job=job, status=JobStatus.FAILED, actor=actor, reason=reason, error=evidence)


async def _backoffs(
    transaction: Transaction, catalogue: Catalogue, items: Sequence[Failure]
) -> dict[TaskKey, tuple[Backoff, int]]:
    """Return the backoff of the stage and the attempt of each retryable task whose handler has named no delay.

    A pipeline that is missing or unreadable has the default backoff.
    """
    wanted = [(*item.key, item.token) for item in items if item.retryable and item.retry_in is None]
    if not wanted:
        return {}
    found = await transaction.run(ATTEMPTS, Batch(LEASE_COLUMNS, wanted))
    declared = await catalogue.load(transaction, {row.pipeline_id for row in found})
    backoffs = {}
    for row in found:
        pipeline = declared.get(row.pipeline_id)
        backoff = pipeline.graph.stages[row.stage].backoff if pipeline else Backoff()
        backoffs[TaskKey(row.job_id, row.stage, row.part)] = backoff, row.attempt
    return backoffs


def _error_text(item: Failure, limits: DocumentLimits) -> str:
    if item.retry_in is not None and not 0 <= item.retry_in <= MAX_RETRY_DELAY:
        raise InvalidRequest("retry_in", f"{item.retry_in!r} is not a delay", hint="seconds, from 0 to 30 days")
    error = {"message": item.error} if isinstance(item.error, str) else item.error
    if isinstance(error, dict):
        error = {
            name: shorten(value, limits.error) if isinstance(value, str) else value for name, value in error.items()
        }
    try:
        return encode("error", error, 16 * limits.error)
    except InvalidRequest:
        # The failure is recorded even where the error can't be stored as given.
        return encode("error", {"message": shorten(str(item.error), limits.error)}, 16 * limits.error)
