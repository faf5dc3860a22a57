"""fail: an attempt failed. The task rests and is tried again, or it is out of attempts and its job fails with it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reelstate.core.document import LIMITS, DocumentLimits, encode, shorten
from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import Actor, JobStatus, TaskStatus
from reelstate.core.model import Failure, Json, TaskKey, Verdict
from reelstate.core.policy import Backoff
from reelstate.dispatch.dispatch import Wakeup
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.services.complete import count
from reelstate.services.jobs import JobMove, LockedJob, lock_jobs, move_jobs
from reelstate.services.orchestrate import advance, rest
from reelstate.services.verdict import HELD_COLUMNS, held, held_of, held_rows, row_key, verdicts
from reelstate.stores.store import Batch, Row, Store, Transaction

COLUMNS = (*HELD_COLUMNS, "retryable", "retry_in", "error")
LONGEST_REST = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class FinalError:
    """A task that will not be tried again by itself."""

    key: TaskKey
    error: Json
    killer: bool = False


async def fail(
    store: Store, catalogue: Catalogue, items: Sequence[Failure], limits: DocumentLimits = LIMITS
) -> tuple[list[Verdict], set[Wakeup]]:
    """Record failed attempts, a verdict per item in the order given, and the bells to ring for what followed."""
    if not items:
        return [], set()
    errors = [_error_text(item, limits) for item in items]
    asked = held(items)
    dice = [random.random() for _ in items]

    async def flow(transaction: Transaction) -> tuple[list[Verdict], set[Wakeup]]:
        rests = await _rests(transaction, catalogue, items, dice)
        rows = [
            (*item.key, item.token, item.retryable, pause, error)
            for item, pause, error in zip(items, rests, errors, strict=True)
        ]
        rows.sort(key=row_key)
        moved = await transaction.run("fail", Batch(COLUMNS, rows))
        final = [FinalError(TaskKey(*key), error) for *key, _, is_final, error in moved if is_final]
        bells = await settle(transaction, catalogue, final, actor=Actor.ORCHESTRATOR)
        accepted = {held_of(row) for row in moved}
        return await verdicts(transaction, asked, accepted, lambda _: [TaskStatus.ERROR]), bells

    return await store.write(flow)


async def settle(
    transaction: Transaction, catalogue: Catalogue, final: Sequence[FinalError], *, actor: Actor
) -> set[Wakeup]:
    """What follows from final errors: a required stage fails its job, a killer has it quarantined, an optional
    stage goes on without them. Gives the bells that tell of it.
    """
    if not final:
        return set()
    closed = await count(transaction, Counter((error.key.job_id, error.key.stage, "error") for error in final))
    jobs = {job.id: job for job in await lock_jobs(transaction, catalogue, {error.key.job_id for error in final})}
    moves: dict[int, JobMove] = {}
    for error in sorted(final, key=lambda error: not error.killer):  # a killer weighs more than a failure
        job = jobs.get(error.key.job_id)
        if job and job.active and job.known and (error.killer or job.declared.graph.stages[error.key.stage].required):
            moves.setdefault(job.id, _move(job, error, actor))
    await move_jobs(transaction, list(moves.values()))
    killed = [move.job.id for move in moves.values() if move.status is JobStatus.QUARANTINED]
    await rest(transaction, moves.keys() - set(killed), actor=actor, reason="the job failed")
    await rest(transaction, killed, actor=Actor.KEEPER, reason="the job was quarantined", stop=True)
    others = {job: seen.opened for job, seen in closed.items() if job not in moves}
    bells = await advance(transaction, catalogue, others)
    return bells | ({Wakeup.JOB_INACTIVE} if moves else set()) | ({Wakeup.STOP} if killed else set())


def _move(job: LockedJob, error: FinalError, actor: Actor) -> JobMove:
    stage = job.declared.graph.stages[error.key.stage].name
    evidence = {"task": str(error.key), "stage": stage, "part": error.key.part, "cause": error.error}
    if error.killer:
        reason = f"task {error.key} keeps losing its worker"
        return JobMove(job=job, status=JobStatus.QUARANTINED, actor=Actor.KEEPER, reason=reason, error=evidence)
    reason = f"task {error.key} of stage {stage} failed for good"
    return JobMove(job=job, status=JobStatus.FAILED, actor=actor, reason=reason, error=evidence)


async def _rests(
    transaction: Transaction, catalogue: Catalogue, items: Sequence[Failure], dice: Sequence[float]
) -> list[float]:
    """How long each task rests: what its handler asked for, or the backoff of its stage."""
    asked = [item for item in items if item.retryable and item.retry_in is None]
    terms: dict[TaskKey, Row] = {}
    if asked:
        batch = Batch(HELD_COLUMNS, held_rows((item.key, item.token) for item in asked))
        terms = {TaskKey(*row[:3]): row[3:] for row in await transaction.run("fail_terms", batch)}
    declared = await catalogue.known(transaction, {pipeline_id for _, pipeline_id in terms.values()})
    rests = []
    for item, throw in zip(items, dice, strict=True):
        if item.key in terms and item.retry_in is None:
            attempt, pipeline_id = terms[item.key]
            rests.append(_backoff(declared.get(pipeline_id), item.key.stage).delay(attempt, throw))
        else:
            rests.append(item.retry_in or 0.0)
    return rests


def _backoff(declared: Declared | None, stage: int) -> Backoff:
    """The backoff of a stage; the default where its pipeline is missing or unreadable."""
    return declared.graph.stages[stage].backoff if declared else Backoff()


def _error_text(item: Failure, limits: DocumentLimits) -> str:
    if item.retry_in is not None and not 0 <= item.retry_in <= LONGEST_REST:
        raise InvalidRequest("retry_in", f"{item.retry_in!r} is not a delay", hint="seconds, from 0 to 30 days")
    error = {"message": item.error} if isinstance(item.error, str) else item.error
    if isinstance(error, dict):
        error = {
            name: shorten(value, limits.error) if isinstance(value, str) else value for name, value in error.items()
        }
    try:
        return encode("error", error, 16 * limits.error)
    except InvalidRequest:
        # What went wrong must be recorded even when it can't be told as it was given.
        return encode("error", {"message": shorten(str(item.error), limits.error)}, 16 * limits.error)
