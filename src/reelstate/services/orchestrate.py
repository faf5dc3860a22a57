"""orchestrate: open the stages that have become possible, move the jobs' phases, make ready what is due.

It is a role, not a process. `advance` runs inside the transaction of whatever closed a stage (complete, fail, reclaim),
and the loop around `orchestrate` is the backstop for what only time makes due. It runs no user code and never marks
work done.

Two workers may close two stages at once that a third waits for. Each sees only its own until the other has committed,
so `advance` locks the job's row first and looks at the stages afterwards, in a new statement: whoever comes second
sees both. The order of locks is tasks, stages, jobs everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reelstate.core.aggregate import Counters
from reelstate.core.machine import PHASES, Actor, JobStatus, TaskStatus
from reelstate.core.pipeline import NextStages
from reelstate.dispatch.dispatch import Wakeup
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.services.isolation import Isolation, finder
from reelstate.services.jobs import JobMove, LockedJob, lock_jobs, move_jobs
from reelstate.services.stages import BrokenFanOut, OpeningStage, merged, open_stages
from reelstate.stores.store import Batch, Store, Transaction

LATELY = 3600.0
"""Seconds in which a task that was missed when its job came to rest is still looked for."""
LONGEST_REASON, MAX_NAMES = 500, 100
"""Of what a job says it lacks."""

Opened = dict[int, tuple[bool, Counters]]
"""The stages a job has opened so far: whether each is open, and its counters."""


@dataclass(frozen=True, slots=True)
class Orchestrated:
    """What one pass of the backstop did."""

    ready: int
    advanced: int
    jobs: frozenset[int] = frozenset()
    """Those that may have tasks to run now."""


@dataclass(slots=True)
class _Decisions:
    """What follows for many jobs, to be written by one statement each."""

    openings: list[OpeningStage] = field(default_factory=list)
    moves: list[JobMove] = field(default_factory=list)
    quiet: list[tuple[int, str]] = field(default_factory=list)
    again: list[LockedJob] = field(default_factory=list)
    opens: bool = False

    @property
    def bells(self) -> set[Wakeup]:
        rests = any(move.status not in PHASES for move in self.moves)
        return ({Wakeup.WORK} if self.opens else set()) | ({Wakeup.JOB_INACTIVE} if rests else set())


async def orchestrate(
    store: Store,
    catalogue: Catalogue,
    *,
    limit: int = 1000,
    stuck_after: float = 60.0,
    isolation: Isolation | None = None,
) -> tuple[Orchestrated, set[Wakeup]]:
    """Make due tasks ready, and move on any job whose next step was missed; with the bells to ring for it."""
    alone = isolation or Isolation()

    async def due(only: Sequence[int] | None, without: Sequence[int]) -> list[int]:
        jobs = {"only": None if only is None else list(only), "without": list(without)}
        moved = await store.write(lambda transaction: transaction.run("orchestrate_due", limit=limit, **jobs))
        return [job_id for status, job_id in moved if status == TaskStatus.READY]

    async def stuck(transaction: Transaction) -> list[int]:
        return [row[0] for row in await transaction.run("orchestrate_stuck", older=stuck_after, limit=limit)]

    async def restless(transaction: Transaction) -> list[int]:
        return [row[0] for row in await transaction.run("orchestrate_restless", lately=LATELY, limit=limit)]

    async def calm(only: Sequence[int] | None, without: Sequence[int]) -> None:
        async def flow(transaction: Transaction) -> None:
            jobs = _chosen(await restless(transaction), only, without)
            await rest(transaction, jobs, actor=Actor.ORCHESTRATOR, reason="the job is at rest")

        await store.write(flow)

    async def move_on(only: Sequence[int] | None, without: Sequence[int]) -> set[Wakeup]:
        jobs: dict[int, Opened] = {job_id: {} for job_id in _chosen(found, only, without)}
        return await store.write(lambda transaction: advance(transaction, catalogue, jobs))

    made_ready = await alone.sweep("orchestrate due", due, finder(store, "orchestrate_due_jobs", limit))
    ready = [job_id for each in made_ready for job_id in each]
    if await store.read(restless):
        await alone.sweep("orchestrate rest", calm, lambda: store.read(restless))
    found = await store.read(stuck)
    bells = {Wakeup.WORK} if ready else set()
    if found:
        bells = bells.union(*await alone.sweep("orchestrate advance", move_on, lambda: store.read(stuck)))
    return Orchestrated(ready=len(ready), advanced=len(found), jobs=frozenset([*ready, *found])), bells


def _chosen(found: Iterable[int], only: Sequence[int] | None, without: Sequence[int]) -> list[int]:
    return [job_id for job_id in found if job_id not in without and (only is None or job_id in only)]


async def advance(transaction: Transaction, catalogue: Catalogue, closed: Mapping[int, Opened]) -> set[Wakeup]:
    """Open what the closed stages of these jobs allow, and move the jobs to their next phase or to completed.

    `closed` says which stages the caller has just closed: of a job with one stage that is all there is to know.
    Gives the bells that tell of it.
    """
    jobs = [job for job in await lock_jobs(transaction, catalogue, closed) if job.active and job.known]
    known = {job.id: closed[job.id] for job in jobs if len(closed[job.id]) == len(job.declared.graph.stages)}
    bells: set[Wakeup] = set()
    while jobs:
        unknown = [job.id for job in jobs if job.id not in known]
        decisions = await _step(transaction, jobs, known | await stage_counters(transaction, unknown))
        bells |= decisions.bells
        jobs, known = decisions.again, {}
    return bells


async def stage_counters(transaction: Transaction, job_ids: Sequence[int]) -> dict[int, Opened]:
    """The stages that these jobs have opened so far."""
    seen: dict[int, Opened] = {job_id: {} for job_id in job_ids}
    rows = await transaction.run("orchestrate_seen", job_ids=list(job_ids)) if job_ids else []
    for job_id, stage, is_open, total, done, skipped, failed in rows:
        seen[job_id][stage] = bool(is_open), Counters(total=total, done=done, skipped=skipped, failed=failed)
    return seen


def closed_stages(declared: Declared, seen: Opened) -> set[int]:
    """The stages that satisfy those after them."""
    return {
        stage
        for stage, (is_open, counters) in seen.items()
        if is_open and counters.closed and not (counters.failed and declared.graph.stages[stage].required)
    }


async def rest(
    transaction: Transaction, job_ids: Iterable[int], *, actor: str, reason: str, stop: bool = False
) -> None:
    """Jobs came to rest: their waiting tasks go back to `new`; with `stop` the running ones too, uncharged."""
    wanted = sorted(set(job_ids))
    if wanted:
        statement = "orchestrate_stop" if stop else "orchestrate_rest"
        await transaction.run(statement, job_ids=wanted, actor=actor, reason=reason)


async def _step(transaction: Transaction, jobs: list[LockedJob], seen: Mapping[int, Opened]) -> _Decisions:
    """One round for each job; those in `again` must be looked at again because an empty stage was passed over."""
    decisions = _Decisions()
    for job in jobs:
        await _decide(transaction, job, seen[job.id], decisions)
    if decisions.openings:
        await open_stages(transaction, merged(decisions.openings))
    if decisions.quiet:
        await transaction.run("orchestrate_phases", Batch(("id", "phase"), decisions.quiet))
    moves = await _with_failures(transaction, decisions.moves)
    await move_jobs(transaction, await _with_words(transaction, moves))
    failed = [move.job.id for move in decisions.moves if move.status is JobStatus.FAILED]
    await rest(transaction, failed, actor=Actor.ORCHESTRATOR, reason="the job failed")
    return decisions


async def _with_failures(transaction: Transaction, moves: list[JobMove]) -> list[JobMove]:
    """Moves to completed, each optional stage that lacks parts with how many failed, and why the first did."""
    stages = [(move.job.id, move.job.declared.graph.index[name]) for move in moves for name in move.degraded]
    if not stages:
        return moves
    reasons: dict[tuple[int, str], str] = {}
    jobs = {move.job.id: move.job for move in moves}
    rows = await transaction.run("orchestrate_failures", Batch(("job_id", "stage"), sorted(stages)))
    for job_id, stage, part, error, failed in rows:
        name = jobs[job_id].declared.graph.stages[stage].name
        message = error.get("message") if isinstance(error, dict) else error
        reasons[job_id, name] = f"{name}: {failed} failed, part {part}: {message}"[:LONGEST_REASON]
    return [
        replace(move, degraded=[reasons.get((move.job.id, name), name) for name in move.degraded]) for move in moves
    ]


async def _with_words(transaction: Transaction, moves: list[JobMove]) -> list[JobMove]:
    """Moves to completed, with what the last stages say is missing: what stands under `degraded` in their results."""
    leaves = [
        (move.job.id, stage)
        for move in moves
        if move.status is JobStatus.COMPLETED
        for stage in move.job.declared.graph.leaves
        if move.job.declared.graph.stages[stage].each is None
    ]
    if not leaves:
        return moves
    said: dict[int, list[str]] = {}
    for job_id, names in await transaction.run("orchestrate_degraded", Batch(("job_id", "stage"), leaves)):
        said.setdefault(job_id, []).extend(str(name)[:LONGEST_REASON] for name in names[:MAX_NAMES])
    return [
        replace(move, degraded=[*move.degraded, *said[move.job.id]]) if move.job.id in said else move for move in moves
    ]


async def _decide(transaction: Transaction, job: LockedJob, seen: Opened, decisions: _Decisions) -> None:
    """What follows for one job. One-part stages are opened together later; a fan-out is opened here and now."""
    opened = {stage for stage, (is_open, _) in seen.items() if is_open}
    failed = [stage for stage in opened if seen[stage][1].failed and job.declared.graph.stages[stage].required]
    if failed:
        decisions.moves.append(
            _failed(job, "stage", job.declared.graph.stages[failed[0]].name, "tasks of it failed for good")
        )
        return
    following = job.declared.graph.next(closed_stages(job.declared, seen), opened)
    openings = [
        OpeningStage([job.id], job.declared, opening, job.priority, job.delay, again=opening.stage in seen)
        for opening in following.openings
    ]
    decisions.opens = decisions.opens or bool(openings)
    if any(not opening.plain for opening in openings):
        try:
            if await open_stages(transaction, openings):
                decisions.again.append(job)
                return
        except BrokenFanOut as broken:
            decisions.moves.append(_failed(job, "fan_out", broken.stage, broken.message))
            return
    else:
        decisions.openings += openings
    _move(job, seen, following, decisions)


def _move(job: LockedJob, seen: Opened, following: NextStages, decisions: _Decisions) -> None:
    if following.phase is None:
        names = [job.declared.graph.stages[stage].name for stage, (_, counters) in seen.items() if counters.failed]
        decisions.moves.append(JobMove(job=job, status=JobStatus.COMPLETED, actor=Actor.ORCHESTRATOR, degraded=names))
    elif following.phase == job.phase:
        return
    elif job.status in PHASES:
        decisions.moves.append(
            JobMove(job=job, status=following.phase, phase=following.phase, actor=Actor.ORCHESTRATOR)
        )
    else:
        decisions.quiet.append((job.id, following.phase))


def _failed(job: LockedJob, kind: str, stage: str, message: str) -> JobMove:
    error = {"type": kind, "stage": stage, "message": message}
    return JobMove(job=job, status=JobStatus.FAILED, actor=Actor.ORCHESTRATOR, reason=message, error=error)
