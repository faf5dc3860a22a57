"""Rows of the store as the records that cross every layer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from reelstate.core.aggregate import Counters, StageProgress, percent, stage_status
from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import Event, Job, JobDetail, Json, Stage, Task, Worker
from reelstate.services.catalogue import Declared
from reelstate.stores.store import Row

T = TypeVar("T")


def job_of(row: Row) -> Job:
    """A row in the order of the record's fields."""
    values = dict(zip(Job.__dataclass_fields__, row, strict=True))
    return Job(**{**values, "status": known_status(JobStatus, values["status"]), "phase": JobStatus(values["phase"])})


def task_of(row: Row, declared: Declared) -> Task:
    names = [name for name in Task.__dataclass_fields__ if name != "stage_name"]
    values = dict(zip(names, row, strict=True))
    return Task(
        **{
            **values,
            "status": known_status(TaskStatus, values["status"]),
            "stage_name": declared.graph.stages[row[1]].name,
        }
    )


def worker_of(row: Row) -> Worker:
    values = dict(zip(Worker.__dataclass_fields__, row, strict=True))
    sets = {name: frozenset(values[name]) for name in ("capabilities", "pipelines")}
    return Worker(
        **{
            **values,
            **sets,
            "status": known_status(WorkerStatus, values["status"]),
            "enabled": bool(values["enabled"]),
        }
    )


def event_of(row: Row, epoch: str) -> Event:
    """A row of the record, its place in front."""
    xid, number, entity, job_id, stage, part, worker_id, *rest = row
    version, origin, target, actor, reason, token, data, at = rest
    return Event(
        cursor=f"{epoch}.{xid}.{number}",
        entity=entity,
        job_id=job_id,
        stage=None if stage < 0 else stage,
        part=None if part < 0 else part,
        worker_id=worker_id,
        version=version,
        origin=origin,
        target=target,
        actor=actor,
        reason=reason,
        token=token,
        data=data,
        at=at,
    )


def detail_of(job: Job, declared: Declared, opened: dict[int, Row], results: dict[int, Json]) -> JobDetail:
    """A job with its stages: the rows of those that are open, and what they came to, by their numbers."""
    graph = declared.graph
    stages = tuple(_stage(job, declared, number, opened.get(number)) for number in range(len(graph.stages)))
    plan = {graph.stages[number].name: result for number, result in results.items()}
    outputs = {graph.stages[number].name: results[number] for number in graph.leaves if number in results}
    done = 100.0 if job.status is JobStatus.COMPLETED else percent(list(_progress(stages, opened)))
    return JobDetail(job=job, stages=stages, plan=plan, outputs=outputs, progress=done)


def _stage(job: Job, declared: Declared, number: int, row: Row | None) -> Stage:
    spec = declared.graph.stages[number]
    _, is_open, total, done, skipped, failed, opened_at, running, running_percent = row or (
        number, False, 0, 0, 0, 0, None, 0, 0.0
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
        total=total,
        done=done,
        skipped=skipped,
        failed=failed,
        running=running,
        running_percent=running_percent,
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
    """A status this code knows; a newer one makes the row unreadable for it, which must be said clearly."""
    try:
        return statuses(word)
    except ValueError:
        raise InvalidRequest(
            "status",
            f"{word!r} is not a status this version knows",
            hint="upgrade Reelstate, or run `reel doctor`",
        ) from None
