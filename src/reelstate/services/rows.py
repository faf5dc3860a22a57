"""The rows of jobs, stages, tasks, workers and events, and the records that are built from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar, cast

from reelstate.core.aggregate import Counters, StageProgress, percent, stage_status
from reelstate.core.machine import JobStatus, TaskStatus, UnknownStatus, WorkerStatus
from reelstate.core.model import Event, Job, JobDetail, Json, Stage, Task, Worker
from reelstate.services.catalogue import Declared
from reelstate.stores.store import row_type

T = TypeVar("T")


def fields_of(record: type[Any], *derived: str) -> list[str]:
    """Return the names of the fields of a record, without those that no column holds."""
    return [field.name for field in dataclasses.fields(record) if field.name not in derived]


JobRow = row_type("JobRow", *fields_of(Job, "archived"))
TaskRow = row_type("TaskRow", *fields_of(Task, "stage_name"))
WorkerRow = row_type("WorkerRow", *fields_of(Worker, "tasks"))


class StageRow(NamedTuple):
    """The counters of a stage; the defaults are those of a stage that was never opened."""

    stage: int
    open: bool = False
    total: int = 0
    done: int = 0
    skipped: int = 0
    failed: int = 0
    opened_at: datetime | None = None
    running: int = 0
    running_percent: float = 0.0
    isolated: int = 0


class EventRow(NamedTuple):
    xid: str
    id: int
    entity: str
    job_id: int | None
    stage: int
    """-1 for an event of a job or a worker."""
    part: int
    """-1 for an event of anything but a task."""
    worker_id: int | None
    version: int
    origin: str | None
    target: str
    actor: str
    reason: str | None
    token: int | None
    data: Json
    at: datetime
    worker: str | None
    user_id: str | None
    """The owner of the job; None where the statement does not look it up."""


def record_of(record: Callable[..., T], row: Any, **values: Any) -> T:
    """Build a dataclass from the columns that are named like its fields; `values` win over columns."""
    names = fields_of(cast("type[Any]", record))
    return record(**{name: values[name] if name in values else getattr(row, name) for name in names})


def job_of(row: Any) -> Job:
    """Build a job from a row with the columns of `JobRow`; it may have more."""
    statuses = {"status": known_status(JobStatus, row.status), "phase": known_status(JobStatus, row.phase)}
    return record_of(Job, row, archived=False, **statuses)


def task_of(row: Any, declared: Declared | None) -> Task:
    return record_of(
        Task,
        row,
        status=known_status(TaskStatus, row.status),
        stage_name=stage_name(declared, row.stage),
        isolated=bool(row.isolated),
        lease_expired=bool(row.lease_expired),
    )


def stage_name(declared: Declared | None, number: int) -> str:
    """Return the name of a stage; `#number` where the pipeline is missing or has no such stage."""
    if declared is None or not 0 <= number < len(declared.graph.stages):
        return f"#{number}"
    return declared.graph.stages[number].name


def worker_of(row: Any, tasks: Sequence[str] = ()) -> Worker:
    return record_of(
        Worker,
        row,
        capabilities=frozenset(row.capabilities),
        pipelines=frozenset(row.pipelines),
        status=known_status(WorkerStatus, row.status),
        enabled=bool(row.enabled),
        tasks=tuple(tasks),
    )


def jobs_with_stages(rows: Iterable[EventRow]) -> set[int]:
    """Return the jobs of those events that name a stage."""
    return {row.job_id for row in rows if row.job_id is not None and row.stage >= 0}


def event_of(row: EventRow, epoch: str, stages: Mapping[int, Sequence[str]]) -> Event:
    """Build an event; `stages` are the names of the stages of each job."""
    return Event(
        cursor=f"{epoch}.{row.xid}.{row.id}",
        entity=row.entity,
        job_id=row.job_id,
        stage=None if row.stage < 0 else _name_at(stages.get(row.job_id or 0, ()), row.stage),
        stage_number=None if row.stage < 0 else row.stage,
        part=None if row.part < 0 else row.part,
        worker_id=row.worker_id,
        worker=row.worker,
        version=row.version,
        origin=row.origin,
        target=row.target,
        actor=row.actor,
        reason=row.reason,
        token=row.token,
        data=row.data,
        at=row.at,
    )


def _name_at(names: Sequence[str], number: int) -> str:
    return names[number] if number < len(names) else str(number)


def detail_of(
    job: Job,
    declared: Declared | None,
    opened: dict[int, StageRow],
    results: dict[int, Json],
    unserved: Mapping[int, tuple[str, ...]],
) -> JobDetail:
    """Build a job with its stages. `opened`, `results` and `unserved` needs are by the number of the stage.

    A job whose pipeline is missing or unreadable has no stages.
    """
    if declared is None:
        return JobDetail(job=job, stages=(), plan={}, outputs={}, progress=0.0)
    graph = declared.graph
    stages = tuple(
        _stage_of(job, declared, opened.get(number, StageRow(number)), unserved.get(number, ()))
        for number in range(len(graph.stages))
    )
    plan = {graph.stages[number].name: result for number, result in results.items()}
    outputs = {graph.stages[number].name: results[number] for number in graph.leaves if number in results}
    done = 100.0 if job.status is JobStatus.COMPLETED else percent(list(_progress(stages, opened)))
    return JobDetail(job=job, stages=stages, plan=plan, outputs=outputs, progress=done)


def _stage_of(job: Job, declared: Declared, row: StageRow, waits_for: tuple[str, ...]) -> Stage:
    spec = declared.graph.stages[row.stage]
    counters = Counters(total=row.total, done=row.done, skipped=row.skipped, failed=row.failed) if row.open else None
    return record_of(
        Stage,
        row,
        job_id=job.id,
        name=spec.name,
        phase=spec.phase,
        status=stage_status(counters, job=job.status, required=spec.required, running=row.running),
        required=spec.required,
        weight=spec.weight,
        needs=tuple(sorted(spec.needs)),
        after=spec.after,
        each=spec.each,
        waits_for=waits_for,
    )


def _progress(stages: Iterable[Stage], opened: Collection[int]) -> Iterable[StageProgress]:
    for stage in stages:
        yield StageProgress(
            weight=stage.weight,
            total=stage.total if stage.stage in opened else None,
            finished=stage.done + stage.skipped + (0 if stage.required else stage.failed),
            running_percent=stage.running_percent,
        )


def known_status(statuses: Callable[[str], T], name: str) -> T:
    """Return the status of a name; an `UnknownStatus` where this version does not know it."""
    try:
        return statuses(name)
    except ValueError:
        return cast("T", UnknownStatus(name))
