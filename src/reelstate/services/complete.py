"""complete: record the results of tasks, count them in their stages, and open what follows.

All of it happens in the transaction that checks the tokens: a late or repeated report neither counts twice nor undoes
anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from reelstate.core.aggregate import Counters
from reelstate.core.document import LIMITS, DocumentLimits, encode
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Completion, TaskKey, Verdict
from reelstate.dispatch.dispatch import Wakeup
from reelstate.services.catalogue import Catalogue
from reelstate.services.orchestrate import OpenedStages, advance
from reelstate.services.verdict import LEASE_COLUMNS, LeaseKey, lease_keys, verdicts
from reelstate.stores.store import Batch, NoRow, Row, Statement, Store, Transaction
from reelstate.telemetry.facts import JobEnded, StageEnded, TracedJob, Transition

RESULT_COLUMNS = (*LEASE_COLUMNS, "result")
COUNT_COLUMNS = ("job_id", "stage", "done", "skipped", "failed")


class _CompletedTask(NamedTuple):
    job_id: int
    stage: int
    part: int
    token: int
    status: str


class _Completed(NamedTuple):
    """What a completion has come to: a row of one `kind`.

    `all` has the number of accepted tasks (`total`) and the jobs that completed with them (`completed`), each with its
    phase, the seconds in it and since its creation, and its trace. `stage` has the counters of a stage that has closed,
    `left` the job of a sole task that is not completed yet, and `task` an accepted task, where not all were.
    """

    kind: str
    job_id: int
    stage: int
    part: int
    token: int
    total: int
    done: int
    skipped: int
    failed: int
    sole: bool
    completed: list[tuple[str, float, float, int, int, str | None]] | None


class _CompletedJob(NamedTuple):
    phase: str
    in_state: float
    age: float
    job_id: int
    pipeline_id: int
    trace: str | None


class _CountedStage(NamedTuple):
    job_id: int
    stage: int
    total: int
    done: int
    skipped: int
    failed: int
    sole: bool
    """It is the only stage of its pipeline."""


COMPLETE = Statement("complete", _Completed)
COMPLETE_LATE = Statement("complete_late", _CompletedTask)
COMPLETE_JOBS = Statement("complete_jobs", _CompletedJob)
COUNT_TASKS = Statement("complete_stages", _CountedStage)
RECOUNT = Statement("complete_recount", NoRow)


@dataclass(slots=True)
class ClosedStages:
    """The stages of one job that have just closed."""

    stages: OpenedStages = field(default_factory=dict)
    completes_job: bool = False
    """The only stage of the job has closed without a failure, and its result lists nothing as missing."""


async def complete(
    store: Store, catalogue: Catalogue, items: Sequence[Completion], limits: DocumentLimits = LIMITS
) -> tuple[list[Verdict], set[Wakeup]]:
    """Record results; return a verdict per item in the order given, and the wake-ups for what followed.

    A result is accepted while its task is `running` under the same token, even after the lease has expired.
    """
    if not items:
        return [], set()
    leases = lease_keys(items)
    targets: dict[LeaseKey, tuple[TaskStatus]] = {}
    rows: dict[TaskStatus, list[Row]] = {TaskStatus.DONE: [], TaskStatus.SKIPPED: []}
    for item in sorted(items, key=attrgetter("key", "token")):
        status = TaskStatus.SKIPPED if item.skipped else TaskStatus.DONE
        result = None if item.result is None else encode(f"result of {item.key}", item.result, limits.result)
        rows[status].append((*item.key, item.token, result))
        targets[item.key, item.token] = (status,)
    degraded = sorted({item.key.job_id for item in items if _lists_losses(item)})

    async def flow(transaction: Transaction) -> tuple[list[Verdict], set[Wakeup]]:
        accepted: list[LeaseKey] = []
        closed: dict[int, ClosedStages] = {}
        completed = 0
        for status, given in rows.items():
            if given:
                completed += await _complete(transaction, catalogue, status, given, degraded, accepted, closed)
        for job_id in closed.keys() & degraded:
            closed[job_id].completes_job = False
        left = sorted(job_id for job_id, job in closed.items() if job.completes_job)
        if left:
            _note_completed(transaction, catalogue, await transaction.run(COMPLETE_JOBS, job_ids=left))
        wakeups = {Wakeup.JOB_INACTIVE} if completed or left else set()
        if len(closed) > len(left):
            others = {job_id: job.stages for job_id, job in closed.items() if not job.completes_job}
            wakeups |= await advance(transaction, catalogue, others)
        return await verdicts(transaction, leases, accepted, targets.__getitem__), wakeups

    return await store.write(flow)


async def _complete(
    transaction: Transaction,
    catalogue: Catalogue,
    status: TaskStatus,
    given: list[Row],
    degraded: list[int],
    accepted: list[LeaseKey],
    closed: dict[int, ClosedStages],
) -> int:
    """Move tasks to a status; add the accepted ones and the stages that closed. Return the number of completed jobs.

    The jobs of `degraded` are left open.
    """
    moved = 0
    completed: Sequence[_CompletedJob] = ()
    for row in await transaction.run(COMPLETE, Batch(RESULT_COLUMNS, given), status=status, degraded=degraded):
        if row.kind == "all":
            moved, completed = row.total, [_CompletedJob(*job) for job in row.completed or ()]
        elif row.kind == "task":
            accepted.append((TaskKey(row.job_id, row.stage, row.part), row.token))
        elif row.kind == "stage":
            _close(closed, row)
        else:
            closed[row.job_id] = ClosedStages(completes_job=True)
    transaction.note(Transition("task", TaskStatus.RUNNING, status, moved))
    _note_completed(transaction, catalogue, completed)
    if moved == len(given):
        accepted += [(TaskKey(*row[:3]), row[3]) for row in given]
        return len(completed)
    late = await transaction.run(COMPLETE_LATE, Batch(RESULT_COLUMNS, given), status=status)
    accepted += [(TaskKey(row.job_id, row.stage, row.part), row.token) for row in late]
    transaction.note(Transition("task", TaskStatus.RUNNING, status, len(late)))
    closed |= await count_tasks(transaction, Counter((row.job_id, row.stage, row.status) for row in late))
    return len(completed)


def _lists_losses(item: Completion) -> bool:
    """Whether a result lists what is missing: `orchestrate` completes its job, which shows the list."""
    return isinstance(item.result, dict) and isinstance(item.result.get("degraded"), list)


def _note_completed(transaction: Transaction, catalogue: Catalogue, jobs: Iterable[_CompletedJob]) -> None:
    """Note jobs of one stage that have completed."""
    for job in jobs:
        transaction.note(Transition("job", job.phase, JobStatus.COMPLETED, seconds=job.in_state))
        declared = catalogue.get(job.pipeline_id) if job.trace is not None else None
        if job.trace is None or declared is None:
            transaction.note(JobEnded(JobStatus.COMPLETED, job.age))
            continue
        traced = TracedJob(job.job_id, job.trace, declared.graph.name)
        stage = declared.graph.stages[0]
        transaction.note(JobEnded(JobStatus.COMPLETED, job.age, traced))
        transaction.note(StageEnded(traced, 0, stage.name, stage.phase, 1, 0, job.age))


async def count_tasks(transaction: Transaction, ended: Counter[tuple[int, int, str]]) -> dict[int, ClosedStages]:
    """Add ended tasks, by (job, stage, status), to the counters of their stages; return those that closed, by job."""
    if not ended:
        return {}
    rows = [
        (*stage, *(ended[*stage, status] for status in (TaskStatus.DONE, TaskStatus.SKIPPED, TaskStatus.ERROR)))
        for stage in sorted({(job_id, stage) for job_id, stage, _ in ended})
    ]
    closed: dict[int, ClosedStages] = {}
    for counted in await transaction.run(COUNT_TASKS, Batch(COUNT_COLUMNS, rows)):
        if counted.done + counted.skipped + counted.failed == counted.total:
            _close(closed, counted)
    return closed


def _close(closed: dict[int, ClosedStages], stage: _CountedStage | _Completed) -> None:
    job = closed.setdefault(stage.job_id, ClosedStages())
    job.completes_job = bool(stage.sole) and not stage.failed
    job.stages[stage.stage] = (
        True,
        Counters(total=stage.total, done=stage.done, skipped=stage.skipped, failed=stage.failed),
    )


async def recount(transaction: Transaction, stages: Iterable[tuple[int, int, bool | None]]) -> None:
    """Recompute the counters of stages (job, stage, open) from their tasks; an `open` of None is left as it is."""
    await transaction.run(RECOUNT, Batch(("job_id", "stage", "open"), list(stages)))
