"""Rows of the store as the records that cross every layer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from reelstate.core.aggregate import Counters, StageProgress, percent, stage_status
from reelstate.core.machine import JobStatus, TaskStatus, UnknownStatus, WorkerStatus
from reelstate.core.model import Event, Job, JobDetail, Json, Stage, Task, Worker
from reelstate.services.catalogue import Declared
from reelstate.stores.store import Row

T = TypeVar("T")


def job_of(row: Row) -> Job:
    """A row in the order of the record's fields."""
    values = dict(zip(Job.__dataclass_fields__, row, strict=True))
    return Job(
        **{
            **values,
            "status": known_status(JobStatus, values["status"]),
            "phase": known_status(JobStatus, values["phase"]),
        }
    )


def task_of(row: Row, declared: Declared | None) -> Task:
    names = [name for name in Task.__dataclass_fields__ if name != "stage_name"]
    values = dict(zip(names, row, strict=True))
    return Task(
        **{
            **values,
            "status": known_status(TaskStatus, values["status"]),
            "stage_name": stage_name(declared, row[1]),
            "isolated": bool(values["isolated"]),
            "lease_expired": bool(values["lease_expired"]),
        }
    )


def stage_name(declared: Declared | None, number: int) -> str:
    """The name of a stage; its number where the pipeline does not tell."""
    if declared is None or not 0 <= number < len(declared.graph.stages):
        return f"#{number}"
    return declared.graph.stages[number].name


def worker_of(row: Row, tasks: Sequence[str] = ()) -> Worker:
    names = [name for name in Worker.__dataclass_fields__ if name != "tasks"]
    values = dict(zip(names, row, strict=True))
    sets = {name: frozenset(values[name]) for name in ("capabilities", "pipelines")}
    return Worker(
        **{
            **values,
            **sets,
            "status": known_status(WorkerStatus, values["status"]),
            "enabled": bool(values["enabled"]),
            "tasks": tuple(tasks),
        }
    )


def jobs_with_stages(rows: Iterable[Row]) -> set[int]:
    """The jobs of those rows of the record that name a stage."""
    return {row[3] for row in rows if row[3] is not None and row[4] >= 0}


def event_of(row: Row, epoch: str, stages: Mapping[int, Sequence[str]]) -> Event:
    """A row of the record, its place in front; `stages` are the names of stages, by their job."""
    xid, number, entity, job_id, stage, part, worker_id, *rest = row
    version, origin, target, actor, reason, token, data, at, worker = rest
    return Event(
        cursor=f"{epoch}.{xid}.{number}",
        entity=entity,
        job_id=job_id,
        stage=None if stage < 0 else _name_at(stages.get(job_id, ()), stage),
        stage_number=None if stage < 0 else stage,
        part=None if part < 0 else part,
        worker_id=worker_id,
        worker=worker,
        version=version,
        origin=origin,
        target=target,
        actor=actor,
        reason=reason,
        token=token,
        data=data,
        at=at,
    )


def _name_at(names: Sequence[str], number: int) -> str:
    return names[number] if number < len(names) else str(number)


def detail_of(
    job: Job,
    declared: Declared | None,
    opened: dict[int, Row],
    results: dict[int, Json],
    unserved: Mapping[int, tuple[str, ...]],
) -> JobDetail:
    """A job with its stages: the rows of those that are open, and what they came to, by their numbers.

    Of a job whose pipeline is missing or unreadable no stages are known.
    """
    if declared is None:
        return JobDetail(job=job, stages=(), plan={}, outputs={}, progress=0.0)
    graph = declared.graph
    stages = tuple(
        _stage(job, declared, number, opened.get(number), unserved.get(number, ()))
        for number in range(len(graph.stages))
    )
    plan = {graph.stages[number].name: result for number, result in results.items()}
    outputs = {graph.stages[number].name: results[number] for number in graph.leaves if number in results}
    done = 100.0 if job.status is JobStatus.COMPLETED else percent(list(_progress(stages, opened)))
    return JobDetail(job=job, stages=stages, plan=plan, outputs=outputs, progress=done)


def _stage(job: Job, declared: Declared, number: int, row: Row | None, waits_for: tuple[str, ...]) -> Stage:
    spec = declared.graph.stages[number]
    _, is_open, total, done, skipped, failed, opened_at, running, running_percent, isolated = row or (
        number, False, 0, 0, 0, 0, None, 0, 0.0, 0
    )  # fmt: skip
    counters = Counters(total=total, done=done, skipped=skipped, failed=failed) if is_open else None
    return Stage(
        job_id=job.id,
        stage=number,
        name=spec.name,
        phase=spec.phase,
        status=stage_status(counters, job=job.status, required=spec.required, running=running),
        required=spec.required,
        weight=spec.weight,
        needs=tuple(sorted(spec.needs)),
        waits_for=waits_for,
        total=total,
        done=done,
        skipped=skipped,
        failed=failed,
        running=running,
        running_percent=running_percent,
        isolated=isolated,
        opened_at=opened_at,
    )


def _progress(stages: Iterable[Stage], opened: Collection[int]) -> Iterable[StageProgress]:
    for stage in stages:
        yield StageProgress(
            weight=stage.weight,
            total=stage.total if stage.stage in opened else None,
            finished=stage.done + stage.skipped + (0 if stage.required else stage.failed),
            running_percent=stage.running_percent,
        )


def known_status(statuses: Callable[[str], T], word: str) -> T:
    """Return the status of a name; an `UnknownStatus` in its place where this version does not know it."""
    try:
        return statuses(word)
    except ValueError:
        return cast("T", UnknownStatus(word))
