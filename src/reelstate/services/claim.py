"""claim: lease ready tasks to a worker. The tasks belong to it until the lease expires.

A task that has lost a worker before is isolated: it is leased only to a worker that runs nothing else, and while it
runs that worker gets nothing more. So a poison task never takes other tasks down with it.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import NamedTuple, TypedDict

from reelstate.core.errors import CorruptState, GuardRefused, InvalidRequest, WorkerRefused, WorkerUnknown
from reelstate.core.machine import ACTIVE_JOBS, Actor, JobStatus, WorkerStatus
from reelstate.core.model import Claim, ClaimedTask, Json, TaskKey
from reelstate.core.pipeline import Graph
from reelstate.dispatch.hints import ClaimFilter
from reelstate.services.catalogue import Catalogue
from reelstate.services.pause import park
from reelstate.services.release import release_leases
from reelstate.services.report import REPORT_WORKER
from reelstate.services.verdict import LEASE_COLUMNS, LeaseKey
from reelstate.stores.store import Batch, NoRow, Statement, Store, Transaction
from reelstate.telemetry.facts import TaskClaimed, Transition, emit, listening

logger = logging.getLogger("reelstate.claim")

REFUSED = (CorruptState, GuardRefused)
"""The errors of the database for a change of a damaged row."""
MAX_CANDIDATES = 100
"""Tasks that are tried one by one where the claim of all at once is refused."""
KEY_COLUMNS = ("job_id", "stage", "part")
MAX_REFUSALS = 100
START_OF_TIME = datetime.fromtimestamp(0, UTC)
MAX_WORKERS = 10_000
"""Workers that are remembered. One that is forgotten can claim, without hints; a lost answer then costs it a lease."""
POSTPONED = 300.0
"""Seconds until a task whose pipeline is missing or unreadable is offered again: the pipeline may be restored."""
UNREADABLE = "its pipeline is missing or unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """A claim of a worker: how many tasks, and which."""

    worker_id: int
    limit: int
    pipelines: Collection[str] | None = None
    capabilities: Collection[str] | None = None
    """What the worker can run; left out, what it was registered with."""
    hints: Sequence[TaskKey] = ()
    """Tasks that a dispatch has named; none: the first that are ready."""
    gpu_grace: float = 60.0
    """Seconds for which a fresh task is kept for an idle worker that has what it prefers."""
    stale_after: float = 45.0
    max_instances: int | None = None
    """Live instances that the worker's name may have: one that is offline comes back only below that."""


class ClaimOptions(TypedDict, total=False):
    """Options of `Engine.claim`: fields of `ClaimRequest`."""

    pipelines: Collection[str] | None
    capabilities: Collection[str] | None
    hints: Sequence[TaskKey]
    gpu_grace: float
    stale_after: float
    max_instances: int | None


class _ClaimedRow(NamedTuple):
    """A leased task, with its job where the statement has read it.

    `claim` in PostgreSQL returns one row without a task where it has leased none.
    """

    job_id: int
    stage: int
    part: int
    token: int
    attempt: int
    max_attempts: int
    lost: int
    lease: float
    priority: int
    input: Json
    checkpoint: Json
    pipeline_id: int | None
    spec: Json
    """It stands in the first row of a job only."""
    job_status: str | None
    at: datetime
    fit: bool
    """Whether the worker may claim; if not, it must be looked at closely."""
    waited: float | None
    """Seconds that the task was ready."""
    begun: str | None
    """The phase that the job began with this claim, in PostgreSQL."""
    trace: str | None
    """The trace of the job, where `spec` is known."""
    parks: bool
    """Whether a stage or a user is paused, in PostgreSQL: tasks of them are to be parked."""
    limited: bool
    """Whether there are limits, in PostgreSQL: tasks may wait for an admission."""


class _Worker(NamedTuple):
    """A worker that claims, and the first task that it could only run isolated."""

    status: str
    enabled: bool
    running: int
    runs_isolated: bool
    job_id: int | None
    stage: int
    part: int
    paused: bool
    """Whether its name, or everything, is paused."""
    parks: bool
    """Whether a stage or a user is paused: tasks of them are to be parked."""
    limited: bool
    """Whether there are limits: tasks may wait for an admission."""


class _JobRow(NamedTuple):
    id: int
    pipeline_id: int
    spec: Json
    status: str
    begun: str | None
    """The phase that the job began with this claim."""
    trace: str | None


CLAIM = Statement("claim", _ClaimedRow)
CLAIM_WORKER = Statement("claim_worker", _Worker)
CLAIM_JOBS = Statement("claim_jobs", _JobRow)
CLAIM_CANDIDATES = Statement("claim_candidates", TaskKey)
UNANSWERED = Statement("claim_unanswered", _ClaimedRow)
POSTPONE = Statement("claim_postpone", NoRow)


class Claims:
    """The workers that claim through one engine: their filters, and when each last got an answer."""

    def __init__(self) -> None:
        self._answered: OrderedDict[int, datetime] = OrderedDict()
        self._filters: dict[int, ClaimFilter] = {}
        self._refusals: set[str] = set()
        self._paused: set[int] = set()

    def __len__(self) -> int:
        return len(self._answered)

    def add_worker(self, worker_id: int, claims: ClaimFilter) -> None:
        """Remember a worker that has just been registered and has claimed nothing yet."""
        self._filters[worker_id] = claims
        self.note_answer(worker_id, START_OF_TIME)

    def filter_of(self, worker_id: int) -> ClaimFilter | None:
        """Return what a worker was registered for; None where another process has registered it."""
        return self._filters.get(worker_id)

    def filter_for(self, request: ClaimRequest) -> ClaimFilter | None:
        """Return what a worker has code for and can do.

        None where another process has registered it, and while it is paused: it could not claim what it takes.
        """
        if request.worker_id in self._paused:
            return None
        known = self._filters.get(request.worker_id)
        pipelines = known.pipelines if known and request.pipelines is None else request.pipelines
        capabilities = known.capabilities if known and request.capabilities is None else request.capabilities
        if pipelines is None or capabilities is None:
            return None
        return ClaimFilter(frozenset(pipelines), frozenset(capabilities))

    def last_answer(self, worker_id: int) -> datetime | None:
        """Return when the last claim of this worker was made that was answered; None where that is not known."""
        return self._answered.get(worker_id)

    def note_answer(self, worker_id: int, at: datetime) -> None:
        """Remember the time of a claim that was answered."""
        self._answered[worker_id] = at
        self._answered.move_to_end(worker_id)
        if len(self._answered) > MAX_WORKERS:
            self.forget([next(iter(self._answered))])

    def note_paused(self, worker_id: int, *, paused: bool) -> None:
        """Remember whether the last claim of this worker found it paused."""
        if paused:
            self._paused.add(worker_id)
        else:
            self._paused.discard(worker_id)

    def forget(self, worker_ids: Iterable[int]) -> None:
        """Forget workers that have ended; an id is never used again."""
        for worker_id in worker_ids:
            self._answered.pop(worker_id, None)
            self._filters.pop(worker_id, None)
            self._paused.discard(worker_id)

    def log_refusal(self, error: Exception) -> None:
        """Log once that the database refuses to lease a task."""
        if str(error) not in self._refusals and len(self._refusals) < MAX_REFUSALS:
            self._refusals.add(str(error))
            logger.error("claim refused, each task is claimed alone error=%r hint=run `reel doctor`", str(error))


class _Job(NamedTuple):
    graph: Graph
    spec: Json
    trace: str | None


@dataclass(frozen=True, slots=True)
class _Leased:
    """Tasks that are leased, and their jobs."""

    rows: list[_ClaimedRow]
    jobs: dict[int, _Job] = field(default_factory=dict)
    at: datetime | None = None
    """When they were leased, by the store's clock."""
    isolated_waiting: bool = False
    postponed: bool = False
    """Some tasks can't be run and were postponed."""
    begun: tuple[str, ...] = ()
    """The phases of jobs that left `pending`."""
    parks: bool = False
    """A stage or a user is paused: tasks of them are to be parked."""
    limited: bool = False
    """There are limits: tasks may wait for an admission."""
    paused: bool = False
    """The worker's name, or everything, is paused."""

    def claim(self) -> Claim:
        """Return the tasks in the order in which they should run."""
        tasks = []
        rows = sorted(self.rows, key=attrgetter("job_id", "stage", "part"))
        for row in sorted(rows, key=attrgetter("priority"), reverse=True):
            job = self.jobs[row.job_id]
            stage = job.graph.stages[row.stage]
            tasks.append(
                ClaimedTask(
                    TaskKey(row.job_id, row.stage, row.part),
                    row.token,
                    row.attempt,
                    row.max_attempts,
                    row.lost,
                    row.lease,
                    row.input,
                    row.checkpoint,
                    job.graph.name,
                    stage.name,
                    job.spec,
                    stage.strict_lease,
                    stage.timeout,
                    trace=job.trace,
                )
            )
        return Claim(tasks, isolated_waiting=self.isolated_waiting, paused=self.paused, limited=self.limited)


async def claim(store: Store, catalogue: Catalogue, claims: Claims, request: ClaimRequest) -> Claim:
    """Lease up to `limit` tasks to a worker, the most urgent first, then those of the oldest job.

    In PostgreSQL that is usually one statement. If its answer is lost, the next attempt finds what it has leased. Where
    the database refuses a task or its job, each task is leased alone and the refused ones are left out. Raises
    `InvalidRequest`, `WorkerUnknown` and `WorkerRefused`.
    """
    if request.limit < 1:
        raise InvalidRequest("limit", f"{request.limit} is not a number of tasks", hint="claim at least one")
    try:
        return await _claim(store, catalogue, claims, request)
    except REFUSED as error:
        claims.log_refusal(error)
    return await _claim_one_by_one(store, catalogue, claims, request)


async def _claim_one_by_one(store: Store, catalogue: Catalogue, claims: Claims, request: ClaimRequest) -> Claim:
    pipelines = None if request.pipelines is None else sorted(request.pipelines)
    candidates = await store.read(
        lambda transaction: transaction.run(
            CLAIM_CANDIDATES, worker_id=request.worker_id, pipelines=pipelines, limit=MAX_CANDIDATES
        )
    )
    tasks: list[ClaimedTask] = []
    isolated_waiting = False
    for candidate in candidates:
        try:
            claimed = await _claim(store, catalogue, claims, replace(request, hints=(candidate,), limit=1))
        except REFUSED:
            continue
        tasks += claimed.tasks
        isolated_waiting = claimed.isolated_waiting
        if len(tasks) >= request.limit:
            break
    return Claim(tasks, isolated_waiting=isolated_waiting)


async def _claim(store: Store, catalogue: Catalogue, claims: Claims, request: ClaimRequest) -> Claim:
    last_answer: datetime | None = None

    async def claim_at_once(transaction: Transaction) -> _Leased | None:
        """Lease with one statement; None when the worker must be looked at closely."""
        nonlocal last_answer
        last_answer = claims.last_answer(request.worker_id)
        rows = await _lease(transaction, request, request.hints)
        return _with_known_jobs(catalogue, rows) if rows[0].fit else None

    async def claim_closely(transaction: Transaction) -> _Leased:
        return await _claim_closely(transaction, catalogue, request, last_answer)

    while True:
        leased = await store.write_alone(claim_at_once, claim_closely)
        if leased is None:
            last_answer = None
            leased = await store.write(claim_closely)
        if leased.at is not None:
            claims.note_answer(request.worker_id, leased.at)
        claims.note_paused(request.worker_id, paused=leased.paused)
        if any(row.job_id not in leased.jobs for row in leased.rows):
            leased = await store.write(partial(_load_jobs, catalogue=catalogue, leased=leased))
        if leased.parks:
            await park(store)
        # Where every task had to be postponed, later ones may be ready.
        if leased.rows or not leased.postponed:
            if listening():
                _emit_facts(leased)
            return leased.claim()


def _emit_facts(leased: _Leased) -> None:
    for row in leased.rows:
        graph = leased.jobs[row.job_id].graph
        emit(TaskClaimed(graph.name, graph.stages[row.stage].name, row.attempt, row.waited))
    waited = max((row.waited or 0.0 for row in leased.rows), default=0.0)
    for phase in leased.begun:
        emit(Transition("job", JobStatus.PENDING, phase, seconds=waited))


def _begun(rows: Iterable[_ClaimedRow]) -> tuple[str, ...]:
    return tuple({row.job_id: row.begun for row in rows if row.begun}.values())


async def recover_claims(store: Store, catalogue: Catalogue, worker_id: int, known: Collection[LeaseKey]) -> Claim:
    """Return the tasks leased to a worker that it does not know: the answers to its claims were lost."""

    async def flow(transaction: Transaction) -> _Leased:
        rows = await transaction.run(UNANSWERED, worker_id=worker_id, since=START_OF_TIME)
        unknown = [row for row in rows if (TaskKey(row.job_id, row.stage, row.part), row.token) not in known]
        return await _load_jobs(transaction, catalogue, _Leased(unknown))

    return (await store.write(flow)).claim()


async def _claim_closely(
    transaction: Transaction, catalogue: Catalogue, request: ClaimRequest, last_answer: datetime | None
) -> _Leased:
    """Lease after a check of the worker, which waits for its other claims.

    With `last_answer`, tasks that it was leased since then come first.
    """
    worker = await _check_worker(transaction, request)
    draining = worker.status == WorkerStatus.DRAINING
    rows: list[_ClaimedRow] = []
    if last_answer is not None:
        rows = await transaction.run(UNANSWERED, worker_id=request.worker_id, since=last_answer)
    if not rows and not draining and not worker.paused and not worker.runs_isolated:
        if worker.job_id is not None and not worker.running:
            isolated = TaskKey(worker.job_id, worker.stage, worker.part)
            rows = await _lease(transaction, request, [isolated], checked=True, isolated=True)
        if not any(row.job_id for row in rows):
            rows = await _lease(transaction, request, request.hints, checked=True)
    leased = replace(
        _with_known_jobs(catalogue, rows),
        isolated_waiting=bool(
            worker.job_id is not None
            and worker.running
            and not draining
            and not worker.paused
            and not worker.runs_isolated
        ),
        parks=bool(worker.parks),
        limited=bool(worker.limited),
        paused=bool(worker.paused),
    )
    if all(row.job_id in leased.jobs for row in leased.rows):
        return leased
    return await _load_jobs(transaction, catalogue, leased)


async def _check_worker(transaction: Transaction, request: ClaimRequest) -> _Worker:
    """Return a worker that may claim or drain; one that is offline comes back."""
    worker_id = request.worker_id
    found = await transaction.run(
        CLAIM_WORKER,
        worker_id=worker_id,
        pipelines=None if request.pipelines is None else sorted(request.pipelines),
        capabilities=None if request.capabilities is None else sorted(request.capabilities),
    )
    if not found:
        raise WorkerUnknown(worker_id)
    if not found[0].enabled:
        raise WorkerRefused(f"worker {worker_id} is disabled", hint="an operator disabled its name and may enable it")
    if found[0].status == WorkerStatus.OFFLINE and not await transaction.run(
        REPORT_WORKER, worker_id=worker_id, stuck=None, max_instances=request.max_instances
    ):
        raise WorkerUnknown(worker_id)
    return found[0]


async def _lease(
    transaction: Transaction,
    request: ClaimRequest,
    named: Sequence[TaskKey],
    *,
    checked: bool = False,
    isolated: bool = False,
) -> list[_ClaimedRow]:
    return await transaction.run(
        CLAIM,
        Batch(KEY_COLUMNS, named[: request.limit]),
        worker_id=request.worker_id,
        limit=0 if named else request.limit,
        pipelines=None if request.pipelines is None else sorted(request.pipelines),
        capabilities=None if request.capabilities is None else sorted(request.capabilities),
        grace=request.gpu_grace,
        stale=request.stale_after,
        checked=checked,
        isolated=isolated,
        alone=request.limit == 1,
    )


def _with_known_jobs(catalogue: Catalogue, rows: list[_ClaimedRow]) -> _Leased:
    """Return leased tasks with those jobs that are active, and whose graph this process has loaded."""
    leased = _Leased([row for row in rows if row.job_id], at=rows[0].at if rows else None, begun=_begun(rows))
    leased = replace(leased, parks=bool(rows and rows[0].parks), limited=bool(rows and rows[0].limited))
    incomplete = set()
    for row in leased.rows:
        declared = None if row.pipeline_id is None else catalogue.get(row.pipeline_id)
        if not declared or row.job_status not in ACTIVE_JOBS or not 0 <= row.stage < len(declared.graph.stages):
            incomplete.add(row.job_id)
        elif row.job_id not in leased.jobs or row.spec is not None:
            leased.jobs[row.job_id] = _Job(declared.graph, row.spec, row.trace)
    for job_id in incomplete:
        leased.jobs.pop(job_id, None)
    return leased


async def _load_jobs(transaction: Transaction, catalogue: Catalogue, leased: _Leased) -> _Leased:
    """Load the jobs of leased tasks; release tasks of inactive jobs, postpone those that no graph describes."""
    if not leased.rows:
        return leased
    found = await transaction.run(CLAIM_JOBS, job_ids=sorted({row.job_id for row in leased.rows}))
    declared = await catalogue.load(transaction, {job.pipeline_id for job in found})
    graphs = {job.id: declared[job.pipeline_id].graph for job in found if job.pipeline_id in declared}
    active = {job.id for job in found if job.status in ACTIVE_JOBS}
    rows, inactive, unreadable = [], [], []
    for row in leased.rows:
        if row.job_id not in graphs or not 0 <= row.stage < len(graphs[row.job_id].stages):
            unreadable.append((row.job_id, row.stage, row.part, row.token))
        elif row.job_id not in active:
            inactive.append((TaskKey(row.job_id, row.stage, row.part), row.token))
        else:
            rows.append(row)
    if unreadable:  # ready at once, they would be the first of every further claim
        await transaction.run(POSTPONE, Batch(LEASE_COLUMNS, unreadable), delay=POSTPONED, reason=UNREADABLE)
    if inactive:  # their jobs stopped while another claim had locked, but did not lease, the tasks
        await release_leases(transaction, inactive, actor=Actor.WORKER, reason="the job has stopped")
    jobs = {job.id: _Job(graphs[job.id], job.spec, job.trace) for job in found if job.id in graphs}
    begun = (*leased.begun, *(job.begun for job in found if job.begun))
    return replace(leased, rows=rows, jobs=jobs, postponed=leased.postponed or bool(unreadable), begun=begun)
