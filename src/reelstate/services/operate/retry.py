"""retry: a job that rests runs again. What is done stays done, unless a stage (or parts of it) is named.

Running a stage again makes what came after it stale, so the stages downstream wait to be opened again; parts that the
new fan-out still has are run anew, parts it no longer has are skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import ACTIVE_JOBS, JobStatus, TaskStatus
from reelstate.services.catalogue import Catalogue
from reelstate.services.complete import recount
from reelstate.services.jobs import LockedJob
from reelstate.services.operate.operation import Operated, Operation, move, operate
from reelstate.services.orchestrate import advance, closed_stages, stage_counters
from reelstate.stores.store import Batch, Store, Transaction

ALL_PARTS = (0, 2**31 - 1)


@dataclass(frozen=True, slots=True)
class From:
    """Where to start again: a stage by name, and the first and last of its parts; `also` names more such ranges."""

    stage: str
    parts: tuple[int, int] = ALL_PARTS
    also: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        for first, last in self.ranges:
            if not 0 <= first <= last:
                raise InvalidRequest("parts", f"{first}-{last} is not a range", hint="the first part is 0; write 3-9")

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        return (self.parts, *self.also)


async def retry(store: Store, catalogue: Catalogue, operation: Operation, start: From | None = None) -> list[Operated]:
    """Run jobs again: what is unfinished, or everything from a stage on."""

    async def apply(transaction: Transaction, jobs: list[LockedJob]) -> None:
        if start is not None:
            for job in jobs:
                await _rewind(transaction, job, start, operation)
        await reopen(transaction, jobs, operation)
        await move(transaction, jobs, JobStatus.PENDING, operation)
        await advance(transaction, catalogue, {job.id: {} for job in jobs})

    already = ACTIVE_JOBS if start is None else ()
    return await operate(store, catalogue, operation, JobStatus.PENDING, apply, already=already)


async def reopen(transaction: Transaction, jobs: Sequence[LockedJob], operation: Operation) -> None:
    """Make the unfinished tasks of open stages ready, with the stage's attempts once more."""
    seen = await stage_counters(transaction, [job.id for job in jobs])
    rows = [
        (job.id, stage, job.declared.graph.stages[stage].attempts)
        for job in jobs
        for stage, (is_open, _) in seen[job.id].items()
        if is_open and stage not in closed_stages(job.declared, seen[job.id])
    ]
    if not rows:
        return
    words = {"actor": operation.actor, "reason": operation.reason}
    await transaction.run("retry_tasks", Batch(("job_id", "stage", "attempts"), rows), **words)
    await recount(transaction, [(job_id, stage, None) for job_id, stage, _ in rows])


async def _rewind(transaction: Transaction, job: LockedJob, start: From, operation: Operation) -> None:
    graph = job.declared.graph
    if start.stage not in graph.index:
        raise InvalidRequest("stage", f"there is no stage {start.stage!r}", hint=f"stages: {', '.join(graph.index)}")
    number = graph.index[start.stage]
    downstream = graph.downstream(number)
    running = await transaction.run("retry_running", job_id=job.id, stages=list(downstream))
    if running:
        names = ", ".join(graph.stages[stage].name for stage, _ in running)
        raise InvalidRequest("stage", f"tasks of {names} are running on what it made", hint="wait for them, or cancel")
    await _require_parts(transaction, job, number, start)
    for stage in reversed(downstream):
        await _run_again(transaction, job, stage, ALL_PARTS, TaskStatus.NEW, operation)
    for parts in start.ranges:
        await _run_again(transaction, job, number, parts, TaskStatus.READY, operation)


async def _require_parts(transaction: Transaction, job: LockedJob, stage: int, start: From) -> None:
    opened = (await stage_counters(transaction, [job.id]))[job.id]
    if stage not in opened:
        return
    total = opened[stage][1].total
    for first, _ in start.ranges:
        if first > 0 and first >= total:
            raise InvalidRequest(
                "parts", f"stage {start.stage!r} has {total} parts, none from {first} on", hint="the first part is 0"
            )


async def _run_again(
    transaction: Transaction,
    job: LockedJob,
    stage: int,
    parts: tuple[int, int],
    target: TaskStatus,
    operation: Operation,
) -> None:
    await transaction.run(
        "retry_parts",
        job_id=job.id,
        stage=stage,
        first=parts[0],
        last=parts[1],
        target=target,
        attempts=job.declared.graph.stages[stage].attempts,
        actor=operation.actor,
        reason=operation.reason,
    )
    # A stage that waits to be opened again goes on waiting, though it be the one that was named.
    await recount(transaction, [(job.id, stage, False if target is TaskStatus.NEW else None)])
