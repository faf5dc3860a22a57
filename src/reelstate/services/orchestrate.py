"""orchestrate: open the stages that can start, move jobs to their next phase, and make due tasks ready.

It is a role, not a process. `advance` runs in the transaction that closed a stage (complete, fail, reclaim). The loop
around `orchestrate` handles what becomes due with time. It runs no user code and never marks work done.

Two workers may close two stages at once that a third one waits for. Each sees only its own until the other has
committed, so `advance` locks the job's row first and reads the stages afterwards, in a new statement: the second one
sees both. Locks are taken in the order tasks, stages, jobs everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from reelstate.core.aggregate import Counters
from reelstate.core.machine import PHASES, Actor, JobStatus, TaskStatus
from reelstate.core.model import Json
from reelstate.core.pipeline import NextStages
from reelstate.dispatch.dispatch import Wakeup
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.services.isolation import Isolation, JobId, finder
from reelstate.services.jobs import JobMove, LockedJob, lock_jobs, move_jobs, note_stages
from reelstate.services.stages import BrokenFanOut, OpeningStage, merge_openings, open_stages
from reelstate.stores.store import Batch, NoRow, Statement, Store, Transaction
from reelstate.telemetry.facts import Transition

RECENT = 3600.0
"""Seconds for which ready tasks of a stopped job are still looked for."""
STUCK_WINDOW = 2000
"""Active jobs that one pass looks at for a missed step."""
MAX_REASON_LENGTH, MAX_REASONS = 500, 100
"""Limits of what a degraded job lists as missing."""

OpenedStages = dict[int, tuple[bool, Counters]]
"""The stages that a job has opened so far: whether each is open, and its counters."""


class _DueTask(NamedTuple):
    status: str
    job_id: int
    origin: str


class _StageCounters(NamedTuple):
    job_id: int
    stage: int
    open: bool
    total: int
    done: int
    skipped: int
    failed: int


class _FailedPart(NamedTuple):
    """The first part of a stage that failed for good, and how many did."""

    job_id: int
    stage: int
    part: int
    error: Json
    failed: int


class _DegradedJob(NamedTuple):
    job_id: int
    degraded: list[Json]


class _ActiveJob(NamedTuple):
    """A job without a task to run; or, with `stuck` false, the last job that was looked at."""

    job_id: int
    stuck: bool


MAKE_READY = Statement("orchestrate_due", _DueTask)
DUE_JOBS = Statement("orchestrate_due_jobs", JobId)
STUCK_JOBS = Statement("orchestrate_stuck", _ActiveJob)
STOPPED_JOBS_WITH_READY_TASKS = Statement("orchestrate_stopped", JobId)
STAGE_COUNTERS = Statement("orchestrate_counters", _StageCounters)
RESET_TASKS = Statement("orchestrate_reset", NoRow)
STOP_TASKS = Statement("orchestrate_stop", NoRow)
SET_PHASES = Statement("orchestrate_phases", NoRow)
FAILED_PARTS = Statement("orchestrate_failures", _FailedPart)
DEGRADED_JOBS = Statement("orchestrate_degraded", _DegradedJob)


@dataclass(frozen=True, slots=True)
class Orchestrated:
    """What one pass of `orchestrate` did."""

    ready: int
    advanced: int
    jobs: frozenset[int] = frozenset()
    """The jobs that may have tasks to run now."""


@dataclass(slots=True)
class StuckSearch:
    """The search for stuck jobs. Each pass looks at the next active jobs: a long queue costs a pass no more."""

    after: int = 0


@dataclass(slots=True)
class _Decisions:
    """What follows for many jobs; one statement of each kind writes it."""

    openings: list[OpeningStage] = field(default_factory=list)
    moves: list[JobMove] = field(default_factory=list)
    phases: list[tuple[int, str]] = field(default_factory=list)
    """The next phases of jobs that are still pending."""
    again: list[LockedJob] = field(default_factory=list)
    """Jobs in which an empty stage was opened: it is closed already."""
    opens: bool = False

    @property
    def wakeups(self) -> set[Wakeup]:
        ends = any(move.status not in PHASES for move in self.moves)
        return ({Wakeup.WORK} if self.opens else set()) | ({Wakeup.JOB_INACTIVE} if ends else set())


async def orchestrate(
    store: Store,
    catalogue: Catalogue,
    *,
    limit: int = 1000,
    stuck_after: float = 60.0,
    isolation: Isolation | None = None,
    search: StuckSearch | None = None,
) -> tuple[Orchestrated, set[Wakeup]]:
    """Make due tasks ready, and advance jobs whose next step was missed; return what was done, and the wake-ups."""
    alone = isolation or Isolation()
    looking = search or StuckSearch()

    async def make_ready(only: Sequence[int] | None, without: Sequence[int]) -> list[int]:
        jobs = {"only": None if only is None else list(only), "without": list(without)}

        async def flow(transaction: Transaction) -> list[_DueTask]:
            due = await transaction.run(MAKE_READY, limit=limit, **jobs)
            for (origin, status), count in Counter((row.origin, row.status) for row in due).items():
                transaction.note(Transition("task", origin, status, count))
            return due

        moved = await store.write(flow)
        return [row.job_id for row in moved if row.status == TaskStatus.READY]

    async def look_for_stuck(transaction: Transaction) -> list[_ActiveJob]:
        return await transaction.run(STUCK_JOBS, after=looking.after, window=STUCK_WINDOW, older=stuck_after)

    async def find_stuck() -> list[int]:
        return [row.job_id for row in await store.read(look_for_stuck) if row.stuck]

    async def find_stopped(transaction: Transaction) -> list[int]:
        found = await transaction.run(STOPPED_JOBS_WITH_READY_TASKS, recent=RECENT, limit=limit)
        return [row.job_id for row in found]

    async def reset_stopped(only: Sequence[int] | None, without: Sequence[int]) -> None:
        async def flow(transaction: Transaction) -> None:
            jobs = _select(await find_stopped(transaction), only, without)
            await reset_tasks(transaction, jobs, actor=Actor.ORCHESTRATOR, reason="the job has stopped")

        await store.write(flow)

    async def advance_stuck(only: Sequence[int] | None, without: Sequence[int]) -> set[Wakeup]:
        jobs: dict[int, OpenedStages] = {job_id: {} for job_id in _select(stuck, only, without)}
        return await store.write(lambda transaction: advance(transaction, catalogue, jobs))

    made_ready = await alone.sweep("orchestrate due", make_ready, finder(store, DUE_JOBS, limit))
    ready = [job_id for each in made_ready for job_id in each]
    if await store.read(find_stopped):
        await alone.sweep("orchestrate stopped", reset_stopped, lambda: store.read(find_stopped))
    active = await store.read(look_for_stuck)
    stuck = [row.job_id for row in active if row.stuck]
    wakeups = {Wakeup.WORK} if ready else set()
    if stuck:
        wakeups = wakeups.union(*await alone.sweep("orchestrate advance", advance_stuck, find_stuck))
    looking.after = next((row.job_id for row in active if not row.stuck), 0)
    return Orchestrated(ready=len(ready), advanced=len(stuck), jobs=frozenset([*ready, *stuck])), wakeups


def _select(found: Iterable[int], only: Sequence[int] | None, without: Sequence[int]) -> list[int]:
    return [job_id for job_id in found if job_id not in without and (only is None or job_id in only)]


async def advance(transaction: Transaction, catalogue: Catalogue, closed: Mapping[int, OpenedStages]) -> set[Wakeup]:
    """Open what the closed stages of these jobs allow, and move the jobs to their next phase or to completed.

    `closed` has the stages that the caller has just closed; the other stages of a job are read here. Returns the
    wake-ups for what followed.
    """
    jobs = [job for job in await lock_jobs(transaction, catalogue, closed) if job.active and job.known]
    await note_stages(transaction, jobs, closed)
    known = {job.id: closed[job.id] for job in jobs if len(closed[job.id]) == len(job.declared.graph.stages)}
    wakeups: set[Wakeup] = set()
    while jobs:
        unknown = [job.id for job in jobs if job.id not in known]
        decisions = await _step(transaction, jobs, known | await stage_counters(transaction, unknown))
        wakeups |= decisions.wakeups
        jobs, known = decisions.again, {}
    return wakeups


async def stage_counters(transaction: Transaction, job_ids: Sequence[int]) -> dict[int, OpenedStages]:
    """Return the stages that these jobs have opened so far."""
    opened: dict[int, OpenedStages] = {job_id: {} for job_id in job_ids}
    for row in await transaction.run(STAGE_COUNTERS, job_ids=list(job_ids)) if job_ids else []:
        counters = Counters(total=row.total, done=row.done, skipped=row.skipped, failed=row.failed)
        opened[row.job_id][row.stage] = bool(row.open), counters
    return opened


def closed_stages(declared: Declared, opened: OpenedStages) -> set[int]:
    """Return the stages that satisfy those after them."""
    return {
        stage
        for stage, (is_open, counters) in opened.items()
        if is_open and counters.closed and not (counters.failed and declared.graph.stages[stage].required)
    }


async def reset_tasks(
    transaction: Transaction, job_ids: Iterable[int], *, actor: str, reason: str, stop_running: bool = False
) -> None:
    """Move the waiting tasks of stopped jobs back to `new`.

    With `stop_running`, running tasks too; their run does not count as an attempt.
    """
    jobs = sorted(set(job_ids))
    if jobs:
        await transaction.run(STOP_TASKS if stop_running else RESET_TASKS, job_ids=jobs, actor=actor, reason=reason)


async def _step(transaction: Transaction, jobs: list[LockedJob], opened: Mapping[int, OpenedStages]) -> _Decisions:
    """Decide once for each job and write it; jobs in `again` must be looked at once more."""
    decisions = _Decisions()
    for job in jobs:
        await _decide(transaction, job, opened[job.id], decisions)
    if decisions.openings:
        await open_stages(transaction, merge_openings(decisions.openings))
    if decisions.phases:
        await transaction.run(SET_PHASES, Batch(("id", "phase"), decisions.phases))
    moves = await _add_failure_reasons(transaction, decisions.moves)
    await move_jobs(transaction, await _add_reported_losses(transaction, moves))
    failed = [move.job.id for move in decisions.moves if move.status is JobStatus.FAILED]
    await reset_tasks(transaction, failed, actor=Actor.ORCHESTRATOR, reason="the job failed")
    return decisions


async def _add_failure_reasons(transaction: Transaction, moves: list[JobMove]) -> list[JobMove]:
    """Add to each optional stage that lacks parts how many failed, and why the first did."""
    stages = [(move.job.id, move.job.declared.graph.index[name]) for move in moves for name in move.degraded]
    if not stages:
        return moves
    reasons: dict[tuple[int, str], str] = {}
    jobs = {move.job.id: move.job for move in moves}
    for row in await transaction.run(FAILED_PARTS, Batch(("job_id", "stage"), sorted(stages))):
        name = jobs[row.job_id].declared.graph.stages[row.stage].name
        message = row.error.get("message") if isinstance(row.error, dict) else row.error
        reasons[row.job_id, name] = f"{name}: {row.failed} failed, part {row.part}: {message}"[:MAX_REASON_LENGTH]
    return [
        replace(move, degraded=[reasons.get((move.job.id, name), name) for name in move.degraded]) for move in moves
    ]


async def _add_reported_losses(transaction: Transaction, moves: list[JobMove]) -> list[JobMove]:
    """Add to jobs that complete what the results of their last stages list under `degraded`."""
    leaves = [
        (move.job.id, stage)
        for move in moves
        if move.status is JobStatus.COMPLETED
        for stage in move.job.declared.graph.leaves
        if move.job.declared.graph.stages[stage].each is None
    ]
    if not leaves:
        return moves
    reported: dict[int, list[str]] = {}
    for row in await transaction.run(DEGRADED_JOBS, Batch(("job_id", "stage"), leaves)):
        names = [str(name)[:MAX_REASON_LENGTH] for name in row.degraded[:MAX_REASONS]]
        reported.setdefault(row.job_id, []).extend(names)
    return [replace(move, degraded=[*move.degraded, *reported.get(move.job.id, ())]) for move in moves]


async def _decide(transaction: Transaction, job: LockedJob, stages: OpenedStages, decisions: _Decisions) -> None:
    """Decide what follows for one job. One-part stages are opened together later; a fan-out is opened here."""
    opened = {stage for stage, (is_open, _) in stages.items() if is_open}
    failed = [stage for stage in opened if stages[stage][1].failed and job.declared.graph.stages[stage].required]
    if failed:
        decisions.moves.append(
            _fail_job(job, "stage", job.declared.graph.stages[failed[0]].name, "tasks of it failed for good")
        )
        return
    following = job.declared.graph.next(closed_stages(job.declared, stages), opened)
    openings = [
        OpeningStage([job.id], job.declared, opening, job.priority, job.delay, again=opening.stage in stages)
        for opening in following.openings
    ]
    decisions.opens = decisions.opens or bool(openings)
    if all(opening.plain for opening in openings):
        decisions.openings += openings
    else:
        try:
            if await open_stages(transaction, openings):
                decisions.again.append(job)
                return
        except BrokenFanOut as broken:
            decisions.moves.append(_fail_job(job, "fan_out", broken.stage, broken.message))
            return
    _move_on(job, stages, following, decisions)


def _move_on(job: LockedJob, stages: OpenedStages, following: NextStages, decisions: _Decisions) -> None:
    """Move a job to completed where every stage is closed, else to its next phase."""
    if following.phase is None:
        names = [job.declared.graph.stages[stage].name for stage, (_, counters) in stages.items() if counters.failed]
        decisions.moves.append(JobMove(job=job, status=JobStatus.COMPLETED, actor=Actor.ORCHESTRATOR, degraded=names))
    elif following.phase == job.phase:
        return
    elif job.status in PHASES:
        decisions.moves.append(
            JobMove(job=job, status=following.phase, phase=following.phase, actor=Actor.ORCHESTRATOR)
        )
    else:
        decisions.phases.append((job.id, following.phase))


def _fail_job(job: LockedJob, kind: str, stage: str, message: str) -> JobMove:
    error = {"type": kind, "stage": stage, "message": message}
    return JobMove(job=job, status=JobStatus.FAILED, actor=Actor.ORCHESTRATOR, reason=message, error=error)
