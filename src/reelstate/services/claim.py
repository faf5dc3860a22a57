"""claim: a worker takes ready tasks under lease. The rows it gets are its own until the lease runs out.

A task that has lost a worker before is a suspect: it is only given to a worker that runs nothing else, and while it
runs that worker gets nothing more, so that a killer takes no innocent neighbours along.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, TypedDict

from reelstate.core.errors import CorruptState, GuardRefused, InvalidRequest, WorkerRefused, WorkerUnknown
from reelstate.core.machine import ACTIVE_JOBS, Actor, WorkerStatus
from reelstate.core.model import Claim, ClaimedTask, Json, TaskKey
from reelstate.dispatch.hints import ClaimFilter
from reelstate.services.catalogue import Catalogue
from reelstate.services.release import give_back
from reelstate.services.verdict import HELD_COLUMNS, Held
from reelstate.stores.store import Batch, Row, Store, Transaction

logger = logging.getLogger("reelstate.claim")

REFUSED = (CorruptState, GuardRefused)
"""What the database says to a change of a damaged row."""
CANDIDATES = 100
"""Tasks that are tried one by one where the claim of all at once is refused."""
KEY_COLUMNS = ("job_id", "stage", "part")
JOB, AT, FIT = 11, 14, 15
"""Where a row of the statement begins to tell of the job, has the time, and says whether the worker may claim."""
MAX_REFUSALS = 100
NEVER = datetime.fromtimestamp(0, UTC)
KNOWN_WORKERS = 10_000
"""Workers that are remembered. One that is not claims all the same: without hints, and a lost answer costs a lease."""


POSTPONED = 300.0
"""Seconds until a task whose pipeline is missing or unreadable is offered again: somebody may have put it back."""
UNREADABLE = "its pipeline is missing or unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """Who claims, how much, and of what."""

    worker_id: int
    limit: int
    pipelines: Collection[str] | None = None
    capabilities: Collection[str] | None = None
    """What the worker can run; left out, what it was registered with."""
    hints: Sequence[TaskKey] = ()
    """Tasks that a dispatch has named; none means whatever is first."""
    gpu_grace: float = 60.0
    """How long a fresh task is kept for an idle worker that has what it prefers."""
    stale_after: float = 45.0
    max_instances: int | None = None
    """Live instances that the worker's name may have: one that is offline comes back only if there is room."""


class ClaimOptions(TypedDict, total=False):
    """Options of `Engine.claim`, as `Claiming` has them."""

    pipelines: Collection[str] | None
    capabilities: Collection[str] | None
    hints: Sequence[TaskKey]
    gpu_grace: float
    stale_after: float
    max_instances: int | None


@dataclass(frozen=True, slots=True)
class _Claimer:
    running: int
    runs_suspect: bool
    suspect: TaskKey | None
    """The first task that it could only run alone."""
    draining: bool


class Claims:
    """The workers that claim through one engine: what they ask for, and what a lost answer needs to be known of."""

    def __init__(self) -> None:
        self._answered: OrderedDict[int, datetime] = OrderedDict()
        self._asking: dict[int, ClaimFilter] = {}
        self._refusals: set[str] = set()

    def report_refusal(self, error: Exception) -> None:
        """Log once that the database refuses a task that would be claimed."""
        if str(error) not in self._refusals and len(self._refusals) < MAX_REFUSALS:
            self._refusals.add(str(error))
            logger.error("claim refused, each task is claimed alone: %s; run `reel doctor`", error)

    def __len__(self) -> int:
        return len(self._answered)

    def since(self, worker_id: int) -> datetime | None:
        """When the last claim of this worker whose answer came was made; None where nobody here knows."""
        return self._answered.get(worker_id)

    def asking(self, worker_id: int) -> ClaimFilter | None:
        """What it was registered for; None where another process has registered it."""
        return self._asking.get(worker_id)

    def answered(self, worker_id: int, at: datetime) -> None:
        self._answered[worker_id] = at
        self._answered.move_to_end(worker_id)
        if len(self._answered) > KNOWN_WORKERS:
            self.forget([next(iter(self._answered))])

    def born(self, worker_id: int, asking: ClaimFilter) -> None:
        """A worker that has just been registered has claimed nothing yet."""
        self._asking[worker_id] = asking
        self.answered(worker_id, NEVER)

    def forget(self, worker_ids: Iterable[int]) -> None:
        """They are gone; an id is never given again."""
        for worker_id in worker_ids:
            self._answered.pop(worker_id, None)
            self._asking.pop(worker_id, None)


async def claim(store: Store, catalogue: Catalogue, claims: Claims, claiming: ClaimRequest) -> Claim:
    """Lease up to `limit` tasks to a worker, the most urgent first, then the oldest job's.

    Most often that is one statement. Where its answer is lost, the next look finds what it has leased. Where the
    database refuses a task or its job, each task is leased alone and the refused ones are left out.
    """
    if claiming.limit < 1:
        raise InvalidRequest("limit", f"{claiming.limit} is not a number of tasks", hint="claim at least one")
    try:
        return await _claim(store, catalogue, claims, claiming)
    except REFUSED as error:
        claims.report_refusal(error)
    return await _claim_apart(store, catalogue, claims, claiming)


async def _claim_apart(store: Store, catalogue: Catalogue, claims: Claims, claiming: ClaimRequest) -> Claim:
    scope = {"worker_id": claiming.worker_id, "pipelines": _listed(claiming.pipelines), "limit": CANDIDATES}
    found = await store.read(lambda transaction: transaction.run("claim_candidates", **scope))
    tasks: list[ClaimedTask] = []
    suspects_waiting = False
    for row in found:
        try:
            one = replace(claiming, hints=(TaskKey(*row),), limit=1)
            taken = await _claim(store, catalogue, claims, one)
        except REFUSED:
            continue
        tasks += taken.tasks
        suspects_waiting = taken.suspects_waiting
        if len(tasks) >= claiming.limit:
            break
    return Claim(tasks, suspects_waiting=suspects_waiting)


async def _claim(store: Store, catalogue: Catalogue, claims: Claims, claiming: ClaimRequest) -> Claim:
    unanswered: datetime | None = None

    async def at_once(transaction: Transaction) -> _Taken | None:
        nonlocal unanswered
        unanswered = claims.since(claiming.worker_id)
        return await _at_once(transaction, claiming)

    async def in_turn(transaction: Transaction) -> _Taken:
        return await _in_turn(transaction, catalogue, claiming, unanswered)

    while True:
        taken = await store.write_alone(at_once, in_turn)
        if taken is None:
            taken = await store.write(lambda transaction: _in_turn(transaction, catalogue, claiming, None))
        if taken.at is not None:
            claims.answered(claiming.worker_id, taken.at)
        if not taken.is_told(catalogue):
            taken = await store.write(partial(_told, catalogue=catalogue, taken=taken))
        # Where all that was taken had to be postponed, what comes after it may be ready.
        if taken.rows or not taken.postponed:
            return Claim(_tasks(catalogue, taken), suspects_waiting=taken.suspects_waiting)


async def claimed(store: Store, catalogue: Catalogue, worker_id: int, known: Collection[Held]) -> Claim:
    """What is leased to a worker beyond what it knows of: the answers to its claims were lost on their way."""

    async def flow(transaction: Transaction) -> _Taken:
        rows = await transaction.run("claim_unanswered", worker_id=worker_id, since=NEVER)
        unheard = [row for row in rows if (TaskKey(*row[:3]), row[3]) not in known]
        return await _told(transaction, catalogue, _Taken.of(unheard))

    return Claim(_tasks(catalogue, await store.write(flow)), suspects_waiting=False)


class _Job(NamedTuple):
    pipeline_id: int
    spec: Json
    status: str


@dataclass(frozen=True, slots=True)
class _Taken:
    """Tasks that are leased, and what is known of their jobs."""

    rows: list[Row]
    jobs: dict[int, _Job]
    at: datetime | None
    suspects_waiting: bool = False
    postponed: bool = False
    """Some of what was taken can't be run, and was put off."""

    @classmethod
    def of(cls, rows: list[Row], *, suspects_waiting: bool = False) -> _Taken:
        jobs: dict[int, _Job] = {}
        for row in rows:
            if row[JOB] is not None and (row[0] not in jobs or row[JOB + 1] is not None):
                jobs[row[0]] = _Job(*row[JOB : JOB + 3])
        at = rows[0][AT] if rows else None
        return cls([row[:JOB] for row in rows if row[0] is not None], jobs, at, suspects_waiting)

    def is_told(self, catalogue: Catalogue) -> bool:
        """Whether every task can be run from here: its job goes on, and the graph of it is at hand."""
        return all(
            (job := self.jobs.get(job_id)) and job.status in ACTIVE_JOBS and catalogue.has(job.pipeline_id, stage)
            for job_id, stage in {row[:2] for row in self.rows}
        )


async def _at_once(transaction: Transaction, claiming: ClaimRequest) -> _Taken | None:
    """One statement that is a transaction of its own; None when the worker must be looked at more closely."""
    rows = await _lease(transaction, claiming, claiming.hints, looked=False)
    return _Taken.of(rows) if rows[0][FIT] else None


async def _in_turn(
    transaction: Transaction, catalogue: Catalogue, claiming: ClaimRequest, since: datetime | None
) -> _Taken:
    """The same with a close look at the worker, after every other claim of its own."""
    claimer = await _claimer(transaction, claiming)
    rows: list[Row] = []
    if since is not None:
        rows = await transaction.run("claim_unanswered", worker_id=claiming.worker_id, since=since)
    suspect = claimer.suspect
    if not rows and not claimer.draining and not claimer.runs_suspect:
        if suspect and not claimer.running:
            rows = await _lease(transaction, claiming, [suspect], looked=True, suspect=True)
        if not any(row[0] is not None for row in rows):
            rows = await _lease(transaction, claiming, claiming.hints, looked=True)
    waiting = bool(suspect and claimer.running and not claimer.draining and not claimer.runs_suspect)
    taken = _Taken.of(rows, suspects_waiting=waiting)
    return taken if taken.is_told(catalogue) else await _told(transaction, catalogue, taken)


async def _claimer(transaction: Transaction, claiming: ClaimRequest) -> _Claimer:
    worker_id = claiming.worker_id
    parameters = {"pipelines": _listed(claiming.pipelines), "capabilities": _listed(claiming.capabilities)}
    found = await transaction.run("claim_worker", worker_id=worker_id, **parameters)
    if not found:
        raise WorkerUnknown(worker_id)
    status, enabled, running, runs_suspect, *suspect = found[0]
    if not enabled:
        raise WorkerRefused(f"worker {worker_id} is disabled", hint="an operator disabled its name and may enable it")
    if status == WorkerStatus.OFFLINE and not await transaction.run(
        "report_worker", worker_id=worker_id, stuck=None, max_instances=claiming.max_instances
    ):
        raise WorkerUnknown(worker_id)
    first = None if suspect[0] is None else TaskKey(*suspect)
    return _Claimer(running, bool(runs_suspect), first, draining=status == WorkerStatus.DRAINING)


def _listed(names: Collection[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


async def _lease(
    transaction: Transaction, claiming: ClaimRequest, named: Sequence[TaskKey], *, looked: bool, suspect: bool = False
) -> list[Row]:
    return await transaction.run(
        "claim",
        Batch(KEY_COLUMNS, named[: claiming.limit]),
        worker_id=claiming.worker_id,
        limit=0 if named else claiming.limit,
        pipelines=_listed(claiming.pipelines),
        capabilities=_listed(claiming.capabilities),
        grace=claiming.gpu_grace,
        stale=claiming.stale_after,
        looked=looked,
        suspect=suspect,
        alone=claiming.limit == 1,
    )


async def _told(transaction: Transaction, catalogue: Catalogue, taken: _Taken) -> _Taken:
    """The same with all that is to be known of the jobs; those of them that are at rest get their tasks back."""
    job_ids = sorted({row[0] for row in taken.rows})
    jobs = {row[0]: _Job(*row[1:]) for row in await transaction.run("claim_jobs", job_ids=job_ids)}
    await catalogue.known(transaction, {job.pipeline_id for job in jobs.values()})
    able = [row for row in taken.rows if row[0] in jobs and catalogue.has(jobs[row[0]].pipeline_id, row[1])]
    postponed = await _postpone(transaction, [row for row in taken.rows if row not in able])
    resting = {job_id for job_id, job in jobs.items() if job.status not in ACTIVE_JOBS}
    rows = await _without_resting(transaction, able, resting)
    return replace(taken, jobs=jobs, rows=rows, postponed=taken.postponed or postponed)


async def _postpone(transaction: Transaction, rows: list[Row]) -> bool:
    """Put off tasks that no graph describes: ready at once, they would be the first of every further claim."""
    if not rows:
        return False
    held = [(*row[:3], row[3]) for row in rows]
    await transaction.run("claim_postpone", Batch(HELD_COLUMNS, held), delay=POSTPONED, reason=UNREADABLE)
    return True


def _tasks(catalogue: Catalogue, taken: _Taken) -> list[ClaimedTask]:
    """The leased rows as tasks, in the order they should be run."""
    tasks = []
    running = {row[0] for row in taken.rows}
    graphs = {job_id: catalogue.graph(taken.jobs[job_id].pipeline_id) for job_id in running}
    taken.rows.sort(key=lambda row: (-row[8], row[0], row[1], row[2]))
    for job_id, stage, part, token, attempt, max_attempts, lost, lease, _priority, given, checkpoint in taken.rows:
        graph = graphs[job_id]
        key = TaskKey(job_id, stage, part)
        declared_stage = graph.stages[stage]
        spec, limits = taken.jobs[job_id].spec, (declared_stage.strict_lease, declared_stage.timeout)
        rest = (graph.name, declared_stage.name, spec, *limits)
        tasks.append(ClaimedTask(key, token, attempt, max_attempts, lost, lease, given, checkpoint, *rest))
    return tasks


async def _without_resting(transaction: Transaction, rows: list[Row], resting: set[int]) -> list[Row]:
    """Give back tasks whose job came to rest while another claim held, but did not take, their rows."""
    if not resting:
        return rows
    back = [(TaskKey(*row[:3]), row[3]) for row in rows if row[0] in resting]
    await give_back(transaction, back, actor=Actor.WORKER, reason="the job is at rest")
    return [row for row in rows if row[0] not in resting]
