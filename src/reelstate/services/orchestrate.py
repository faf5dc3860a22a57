"""orchestrate: open the stages that have become possible, move the jobs' phases, make ready what is due.

It is a role, not a process. `advance` runs inside the transaction of whatever closed a stage (complete, fail, reclaim),
and the loop around `orchestrate` is the backstop for what only time makes due. It runs no user code and never marks
work done.

Two workers may close two stages at once that a third waits for. Each sees only its own until the other has committed,
so `advance` locks the job's row first and looks at the stages afterwards, in a new statement: whoever comes second
sees both. The order of locks is tasks, stages, jobs everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reelstate.core.aggregate import Counters
from reelstate.core.machine import ACTIVE_JOBS, PHASES, Actor, JobStatus
from reelstate.core.model import Json
from reelstate.core.pipeline import Opening, StageSpec
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.stores.store import Batch, Row, Store, Transaction

TASK_COLUMNS = tuple("job_id stage lane priority attempts max_lost lease stall_after timeout delay".split())
KNOWN = {str(status): status for status in JobStatus}
JOB_COLUMNS = tuple("id origin status phase actor reason error degraded".split())


@dataclass(frozen=True, slots=True)
class OpeningStage:
    """A stage of one job about to be opened."""

    job_id: int
    declared: Declared
    opening: Opening
    priority: int
    delay: float = 0.0
    again: bool = False

    @property
    def spec(self) -> StageSpec:
        return self.declared.graph.stages[self.opening.stage]

    def task_row(self) -> Row:
        """Its tasks' common columns, in the order of TASK_COLUMNS."""
        spec = self.spec
        lane = self.declared.lanes[self.opening.stage]
        terms = (spec.attempts, spec.max_lost, spec.lease, spec.stall_after, spec.timeout)
        return (self.job_id, self.opening.stage, lane, self.priority, *terms, self.delay)


@dataclass(frozen=True, slots=True)
class LockedJob:
    """A job whose row this transaction holds."""

    id: int
    declared: Declared
    status: JobStatus | None
    """None for a status that this version does not know: the job is left alone."""
    phase: JobStatus
    priority: int
    version: int

    @property
    def active(self) -> bool:
        return self.status in ACTIVE_JOBS


@dataclass(frozen=True, slots=True)
class Orchestrated:
    """What one pass of the backstop did."""

    ready: int
    advanced: int


class BrokenFanOut(Exception):  # noqa: N818 -- becomes a failed job or a refused request, never reaches a caller
    """An `each` path that leads to nothing one could fan out over."""

    def __init__(self, opening: OpeningStage) -> None:
        self.stage = opening.spec.name
        self.message = f"{opening.spec.each} is no array and no whole number, and stage {self.stage!r} fans out over it"
        super().__init__(self.message)


async def orchestrate(
    store: Store, catalogue: Catalogue, *, limit: int = 1000, stuck_after: float = 60.0
) -> Orchestrated:
    """Make due tasks ready, and move on any job whose next step was missed."""

    async def due(transaction: Transaction) -> int:
        return len(await transaction.run("orchestrate_due", limit=limit))

    async def unstick(transaction: Transaction) -> int:
        rows = await transaction.run("orchestrate_stuck", older=stuck_after, limit=limit)
        job_ids = [row[0] for row in rows]
        await advance(transaction, catalogue, job_ids)
        return len(job_ids)

    return Orchestrated(ready=await store.write(due), advanced=await store.write(unstick))


async def advance(transaction: Transaction, catalogue: Catalogue, job_ids: Iterable[int]) -> None:
    """Open what the closed stages of these jobs allow, and move the jobs to their next phase or to completed."""
    jobs = [job for job in await lock_jobs(transaction, catalogue, job_ids) if job.active]
    while jobs:
        jobs = await _step(transaction, jobs)


async def lock_jobs(transaction: Transaction, catalogue: Catalogue, job_ids: Iterable[int]) -> list[LockedJob]:
    """Hold the rows of these jobs until the transaction ends."""
    wanted = sorted(set(job_ids))
    rows = await transaction.run("orchestrate_lock", job_ids=wanted) if wanted else []
    declared = await catalogue.known(transaction, {row[1] for row in rows})
    return [
        LockedJob(job_id, declared[pipeline_id], KNOWN.get(status), KNOWN.get(phase, JobStatus.PROCESSING), priority, version)
        for job_id, pipeline_id, status, phase, priority, version in rows
    ]


async def stage_counters(transaction: Transaction, job_ids: Sequence[int]) -> dict[int, dict[int, tuple[bool, Counters]]]:
    """The stages that these jobs have opened so far: whether each is open, and its counters."""
    seen: dict[int, dict[int, tuple[bool, Counters]]] = {job_id: {} for job_id in job_ids}
    for job_id, stage, is_open, total, done, skipped, failed in await transaction.run("orchestrate_seen", job_ids=job_ids):
        counters = Counters(total=total, done=done, skipped=skipped, failed=failed)
        seen[job_id][stage] = bool(is_open), counters
    return seen


def closed_stages(declared: Declared, seen: Mapping[int, tuple[bool, Counters]]) -> set[int]:
    """The stages that satisfy those after them."""
    return {
        stage
        for stage, (is_open, counters) in seen.items()
        if is_open and counters.closed and not (counters.failed and declared.graph.stages[stage].required)
    }


async def open_stages(transaction: Transaction, openings: Sequence[OpeningStage]) -> bool:
    """Open stages with their tasks. Gives True when one of them had no parts, and so is closed already."""
    single = [opening for opening in openings if opening.opening.source is None]
    fanned = [(opening, await _parts(transaction, opening)) for opening in openings if opening.opening.source is not None]
    totals = [(opening, 1) for opening in single] + fanned
    rows = [(opening.job_id, opening.opening.stage, total) for opening, total in totals]
    await transaction.run("orchestrate_stages", Batch(("job_id", "stage", "total"), rows))
    if single:
        await transaction.run("orchestrate_tasks", Batch(TASK_COLUMNS, [opening.task_row() for opening in single]))
    for opening, total in fanned:
        await _fan_out(transaction, opening, total)
    return any(total == 0 for _, total in fanned)


async def rest(
    transaction: Transaction, job_ids: Iterable[int], *, actor: Actor, reason: str, stop: bool = False
) -> None:
    """Jobs came to rest: their waiting tasks go back to `new`; with `stop` the running ones too, uncharged."""
    wanted = sorted(set(job_ids))
    if wanted:
        await transaction.run("orchestrate_rest", job_ids=wanted, actor=actor, reason=reason, stop=stop)


async def move_jobs(transaction: Transaction, moves: Sequence[JobMove]) -> None:
    """Change the status of jobs that are locked; each change is guarded by the status it starts from."""
    if moves:
        await transaction.run("orchestrate_jobs", Batch(JOB_COLUMNS, [move.row() for move in moves]))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMove:
    job: LockedJob
    status: JobStatus
    actor: Actor
    phase: JobStatus | None = None
    reason: str | None = None
    error: Json = None
    degraded: Sequence[str] = ()

    def row(self) -> Row:
        """In the order of JOB_COLUMNS."""
        error = None if self.error is None else json.dumps(self.error)
        degraded = json.dumps(list(self.degraded)) if self.degraded else None
        phase = self.phase or self.job.phase
        return (self.job.id, self.job.status, self.status, phase, self.actor, self.reason, error, degraded)


async def _step(transaction: Transaction, jobs: list[LockedJob]) -> list[LockedJob]:
    """One round for each job; gives those that must be looked at again because an empty stage was passed over."""
    seen = await stage_counters(transaction, [job.id for job in jobs])
    moves: list[JobMove] = []
    quiet: list[tuple[int, str]] = []
    again: list[LockedJob] = []
    plain: list[OpeningStage] = []
    for job in jobs:
        following = job.declared.graph.next(
            closed_stages(job.declared, seen[job.id]), {stage for stage, (is_open, _) in seen[job.id].items() if is_open}
        )
        openings = [
            OpeningStage(job.id, job.declared, opening, job.priority, again=opening.stage in seen[job.id])
            for opening in following.openings
        ]
        if any(opening.opening.source is not None for opening in openings):
            try:
                if await open_stages(transaction, openings):
                    again.append(job)
                    continue
            except BrokenFanOut as broken:
                moves.append(_failed(job, broken))
                continue
        else:
            plain += openings
        if following.phase is None:
            moves.append(_completed(job, seen[job.id]))
        elif following.phase != job.phase:
            if job.status in PHASES:
                moves.append(JobMove(job=job, status=following.phase, phase=following.phase, actor=Actor.ORCHESTRATOR))
            else:
                quiet.append((job.id, following.phase))
    if plain:
        await open_stages(transaction, plain)
    if quiet:
        await transaction.run("orchestrate_phases", Batch(("id", "phase"), quiet))
    await move_jobs(transaction, moves)
    failed = [move.job.id for move in moves if move.status is JobStatus.FAILED]
    await rest(transaction, failed, actor=Actor.ORCHESTRATOR, reason="the job failed")
    return again


def _completed(job: LockedJob, seen: Mapping[int, tuple[bool, Counters]]) -> JobMove:
    degraded = [job.declared.graph.stages[stage].name for stage, (_, counters) in seen.items() if counters.failed]
    return JobMove(job=job, status=JobStatus.COMPLETED, actor=Actor.ORCHESTRATOR, degraded=degraded)


def _failed(job: LockedJob, broken: BrokenFanOut) -> JobMove:
    error = {"type": "fan_out", "stage": broken.stage, "message": broken.message}
    return JobMove(job=job, status=JobStatus.FAILED, actor=Actor.ORCHESTRATOR, reason=broken.message, error=error)


async def _parts(transaction: Transaction, opening: OpeningStage) -> int:
    source, path = opening.opening.source, list(opening.opening.path)
    ((parts,),) = await transaction.run("orchestrate_count", job_id=opening.job_id, source=source, path=path)
    if parts is None:
        raise BrokenFanOut(opening)
    return int(parts)


async def _fan_out(transaction: Transaction, opening: OpeningStage, total: int) -> None:
    parameters = dict(zip(TASK_COLUMNS, opening.task_row(), strict=True))
    source, path = opening.opening.source, list(opening.opening.path)
    await transaction.run("orchestrate_fan", source=source, path=path, **parameters)
    if opening.again:
        await transaction.run("orchestrate_surplus", job_id=opening.job_id, stage=opening.opening.stage, total=total)
