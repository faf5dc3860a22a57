"""retry: run stopped jobs again. Finished tasks stay finished, unless a stage (or parts of it) is named.

Running a stage again makes the results of the stages after it stale, so these wait to be opened again. Parts that the
new fan-out still has run again, the others are skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from reelstate.core.errors import InvalidRequest, ReelstateError
from reelstate.core.machine import ACTIVE_JOBS, JobStatus, TaskStatus
from reelstate.services.catalogue import Catalogue
from reelstate.services.complete import recount
from reelstate.services.jobs import LockedJob
from reelstate.services.operate.operation import Operated, Operation, move, operate
from reelstate.services.orchestrate import OpenedStages, advance, closed_stages, stage_counters
from reelstate.stores.store import Batch, Statement, Store, Transaction

ALL_PARTS = (0, 2**31 - 1)


class ReopenedRow(NamedTuple):
    job_id: int
    stage: int
    status: str


class RunningRow(NamedTuple):
    job_id: int
    stage: int


class PartRow(NamedTuple):
    part: int


RETRY_TASKS = Statement("retry_tasks", ReopenedRow)
RETRY_RUNNING = Statement("retry_running", RunningRow)
RETRY_PARTS = Statement("retry_parts", PartRow)


@dataclass(frozen=True, slots=True)
class From:
    """Where a retry starts: a stage by name, and the first and last of its parts; `also` holds more such ranges."""

    stage: str
    parts: tuple[int, int] = ALL_PARTS
    also: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        for first, last in self.ranges:
            if not 0 <= first <= last:
                raise InvalidRequest("parts", f"invalid range {first}-{last}", hint="the first part is 0; write 3-9")

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        return (self.parts, *self.also)


async def retry(store: Store, catalogue: Catalogue, operation: Operation, start: From | None = None) -> list[Operated]:
    """Run the unfinished tasks of jobs again, or everything from a stage on."""

    async def apply(transaction: Transaction, jobs: list[LockedJob]) -> None:
        if start is not None:
            for job in jobs:
                await _rewind(transaction, job, start, operation)
        await reopen(transaction, jobs, operation)
        await move(transaction, jobs, JobStatus.PENDING, operation)
        await advance(transaction, catalogue, {job.id: {} for job in jobs})

    if start is None:
        return await operate(store, catalogue, operation, JobStatus.PENDING, apply, already=ACTIVE_JOBS)
    objections = partial(_objections, start=start)
    return await operate(store, catalogue, operation, JobStatus.PENDING, apply, already=(), objections=objections)


async def reopen(transaction: Transaction, jobs: Sequence[LockedJob], operation: Operation) -> None:
    """Make the unfinished tasks of open stages ready, with the stage's attempts on top."""
    seen = await stage_counters(transaction, [job.id for job in jobs])
    rows = [
        (job.id, stage, job.declared.graph.stages[stage].attempts)
        for job in jobs
        for stage, (is_open, _) in seen[job.id].items()
        if is_open and stage not in closed_stages(job.declared, seen[job.id])
    ]
    if not rows:
        return
    batch = Batch(("job_id", "stage", "attempts"), rows)
    await transaction.run(RETRY_TASKS, batch, actor=operation.actor, reason=operation.reason)
    await recount(transaction, [(job_id, stage, None) for job_id, stage, _ in rows])


async def _objections(transaction: Transaction, jobs: Sequence[LockedJob], start: From) -> dict[int, ReelstateError]:
    """Return why jobs can't run again from there: no such stage or part, not opened, or its results are in use."""
    able = [job for job in jobs if start.stage in job.declared.graph.index]
    running = await _running_downstream(transaction, able, start)
    opened = await stage_counters(transaction, [job.id for job in able])
    found: dict[int, InvalidRequest | None]
    found = {job.id: _missing_parts(job, start, opened[job.id]) for job in able}
    found |= {job.id: _unknown_stage(job, start) for job in jobs if job.id not in found}
    found |= {job_id: _in_use(names) for job_id, names in running.items()}
    return {job_id: error for job_id, error in found.items() if error}


async def _running_downstream(transaction: Transaction, jobs: Sequence[LockedJob], start: From) -> dict[int, list[str]]:
    """Return the names of the later stages with running tasks, by job."""
    graphs = {job.id: job.declared.graph for job in jobs}
    rows = [(job_id, stage) for job_id, graph in graphs.items() for stage in graph.downstream(graph.index[start.stage])]
    names: dict[int, list[str]] = {}
    for row in await transaction.run(RETRY_RUNNING, Batch(RunningRow._fields, rows)) if rows else ():
        names.setdefault(row.job_id, []).append(graphs[row.job_id].stages[row.stage].name)
    return names


def _unknown_stage(job: LockedJob, start: From) -> InvalidRequest:
    graph = job.declared.graph
    message = f"pipeline {graph.name!r} has no stage {start.stage!r}"
    return InvalidRequest("stage", message, hint=f"stages: {', '.join(graph.index)}")


def _in_use(names: Sequence[str]) -> InvalidRequest:
    message = f"running tasks of {', '.join(names)} use its results"
    return InvalidRequest("stage", message, hint="wait for them, or cancel")


def _missing_parts(job: LockedJob, start: From, opened: OpenedStages) -> InvalidRequest | None:
    stage = job.declared.graph.index[start.stage]
    if stage not in opened:
        return _not_opened(start) if job.active else None
    total = opened[stage][1].total
    missing = [first for first, _ in start.ranges if first > 0 and first >= total]
    if not missing:
        return None
    message = f"stage {start.stage!r} has {total} parts, none from {missing[0]} on"
    return InvalidRequest("parts", message, hint="the first part is 0")


def _not_opened(start: From) -> InvalidRequest:
    message = f"stage {start.stage!r} was not opened yet"
    return InvalidRequest("stage", message, hint="the job is active and will run it")


async def _rewind(transaction: Transaction, job: LockedJob, start: From, operation: Operation) -> None:
    number = job.declared.graph.index[start.stage]
    for stage in reversed(job.declared.graph.downstream(number)):
        await _run_again(transaction, job, stage, ALL_PARTS, TaskStatus.NEW, operation)
    for parts in start.ranges:
        await _run_again(transaction, job, number, parts, TaskStatus.READY, operation)


async def _run_again(
    transaction: Transaction,
    job: LockedJob,
    stage: int,
    parts: tuple[int, int],
    target: TaskStatus,
    operation: Operation,
) -> None:
    await transaction.run(
        RETRY_PARTS,
        job_id=job.id,
        stage=stage,
        first=parts[0],
        last=parts[1],
        target=target,
        attempts=job.declared.graph.stages[stage].attempts,
        actor=operation.actor,
        reason=operation.reason,
    )
    # A stage that waits to be opened again keeps waiting, even the named one.
    await recount(transaction, [(job.id, stage, False if target is TaskStatus.NEW else None)])
