"""claim: a worker takes ready tasks under lease. The rows it gets are its own until the lease runs out.

A task that has lost a worker before is a suspect: it is only given to a worker that runs nothing else, and while it
runs that worker gets nothing more, so that a killer takes no innocent neighbours along.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from reelstate.core.errors import InvalidRequest, WorkerRefused, WorkerUnknown
from reelstate.core.machine import ACTIVE_JOBS, Actor, WorkerStatus
from reelstate.core.model import Claim, ClaimedTask, TaskKey
from reelstate.services.catalogue import Catalogue
from reelstate.services.release import give_back
from reelstate.stores.store import Batch, Row, Store, Transaction

KEY_COLUMNS = ("job_id", "stage", "part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claiming:
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


@dataclass(frozen=True, slots=True)
class _Claimer:
    slots: int
    running: int
    runs_suspect: bool
    suspect: TaskKey | None
    """The first task that it could only run alone."""
    pipelines: list[str]
    capabilities: list[str]
    draining: bool


async def claim(store: Store, catalogue: Catalogue, claiming: Claiming) -> Claim:
    """Lease up to `limit` tasks to a worker, the most urgent first, then the oldest job's."""
    if claiming.limit < 1:
        raise InvalidRequest("limit", f"{claiming.limit} is not a number of tasks", hint="claim at least one")
    return await store.write(lambda transaction: _claim(transaction, catalogue, claiming))


async def _claim(transaction: Transaction, catalogue: Catalogue, claiming: Claiming) -> Claim:
    claimer = await _claimer(transaction, claiming)
    if claimer.draining or claimer.runs_suspect:
        return Claim([], suspects_waiting=False)
    suspect = claimer.suspect
    rows: list[Row] = []
    if suspect and not claimer.running:
        rows = await _lease(transaction, claiming, claimer, [suspect], suspect=True, alone=True)
    if not rows:
        alone = claimer.slots == 1 and claiming.limit == 1 and not claimer.running
        rows = await _lease(transaction, claiming, claimer, claiming.hints, suspect=False, alone=alone)
    return Claim(await _claimed(transaction, catalogue, rows), suspects_waiting=bool(suspect and claimer.running))


async def _claimer(transaction: Transaction, claiming: Claiming) -> _Claimer:
    worker_id = claiming.worker_id
    parameters = {"pipelines": _listed(claiming.pipelines), "capabilities": _listed(claiming.capabilities)}
    found = await transaction.run("claim_worker", worker_id=worker_id, **parameters)
    if not found:
        raise WorkerUnknown(worker_id)
    status, enabled, slots, running, runs_suspect, pipelines, capabilities, *suspect = found[0]
    if not enabled:
        raise WorkerRefused(f"worker {worker_id} is disabled", hint="an operator disabled its name and may enable it")
    if status == WorkerStatus.OFFLINE:
        await transaction.run("report_worker", worker_id=worker_id)
    first = None if suspect[0] is None else TaskKey(*suspect)
    draining = status == WorkerStatus.DRAINING
    return _Claimer(slots, running, bool(runs_suspect), first, pipelines, capabilities, draining=draining)


def _listed(names: Collection[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


async def _lease(
    transaction: Transaction,
    claiming: Claiming,
    claimer: _Claimer,
    named: Sequence[TaskKey],
    *,
    suspect: bool,
    alone: bool,
) -> list[Row]:
    return await transaction.run(
        "claim",
        Batch(KEY_COLUMNS, named[: claiming.limit]),
        worker_id=claiming.worker_id,
        limit=0 if named else claiming.limit,
        pipelines=claimer.pipelines,
        capabilities=claimer.capabilities,
        grace=claiming.gpu_grace,
        stale=claiming.stale_after,
        suspect=suspect,
        alone=alone,
    )


async def _claimed(transaction: Transaction, catalogue: Catalogue, rows: list[Row]) -> list[ClaimedTask]:
    """The leased rows as tasks, in the order they should be run, their jobs moved out of `pending`."""
    if not rows:
        return []
    job_ids = sorted({row[0] for row in rows})
    jobs = {row[0]: row[1:] for row in await transaction.run("claim_jobs", job_ids=job_ids)}
    rows = await _without_resting(
        transaction, rows, {job_id for job_id, job in jobs.items() if job[2] not in ACTIVE_JOBS}
    )
    declared = await catalogue.known(transaction, {pipeline_id for pipeline_id, _, _ in jobs.values()})
    tasks = []
    rows.sort(key=lambda row: (-row[8], row[0], row[1], row[2]))
    for job_id, stage, part, token, attempt, max_attempts, lost, lease, _priority, given, checkpoint in rows:
        pipeline_id, spec, _ = jobs[job_id]
        graph = declared[pipeline_id].graph
        key = TaskKey(job_id, stage, part)
        declared_stage = graph.stages[stage]
        rest = (graph.name, declared_stage.name, spec, declared_stage.strict_lease)
        tasks.append(ClaimedTask(key, token, attempt, max_attempts, lost, lease, given, checkpoint, *rest))
    return tasks


async def _without_resting(transaction: Transaction, rows: list[Row], resting: set[int]) -> list[Row]:
    """Give back tasks whose job came to rest while another claim held, but did not take, their rows."""
    if not resting:
        return rows
    back = [(TaskKey(*row[:3]), row[3]) for row in rows if row[0] in resting]
    await give_back(transaction, back, actor=Actor.WORKER, reason="the job is at rest")
    return [row for row in rows if row[0] not in resting]
