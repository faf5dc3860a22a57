"""The progress of each rung of a job, derived from the tasks that encode its chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from reelstate.core.machine import TaskStatus
from reelstate.core.model import Json, Task
from reelstate.media.planning.grid import MAX_SEGMENTS
from reelstate.media.records import Between, MalformedRecord, record_of

ENCODE = "encode"
"""The stage with one part for each chunk."""
RUNG_FAILED = "RungFailed"
"""The type of error of a chunk in which one rung failed; the message begins with the name of the rung."""


class QualityStatus(StrEnum):
    """The status of one rung."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The progress of one rung."""

    quality: str
    required: bool
    status: QualityStatus
    segments_total: int = 0
    segments_completed: int = 0
    progress_percent: float = 0.0
    error_message: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    reused_from: int | None = None
    """The earlier version whose files this one uses."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """The rungs of a job with whether each is required, skipped rungs with the reason, and segments per chunk."""

    rungs: tuple[tuple[str, bool], ...]
    skipped: tuple[tuple[str, str], ...] = ()
    segments: tuple[int, ...] = ()
    reused: tuple[str, ...] = ()
    """Rungs that are taken from the version `reused_from`."""
    reused_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rung:
    name: str
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The part of a plan that a ladder needs."""

    rungs: tuple[_Rung, ...]
    skipped: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunk:
    segments: Annotated[tuple[object, ...], Between(0, MAX_SEGMENTS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fetched:
    """The part of the result of `fetch` that a ladder needs."""

    chunks: Annotated[tuple[_Chunk, ...], Between(0, MAX_SEGMENTS)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Encoded:
    """The part of the result of `encode` that a quality needs: names of rungs, and reasons."""

    rungs: Mapping[str, object] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


def read_ladder(results: Mapping[str, Json]) -> Ladder | None:
    """Return the ladder in the results of a job's stages; None before it is planned, or if it is no transcode."""
    try:
        plan = record_of(_Plan, results.get("plan"))
        fetched = record_of(_Fetched, results.get("fetch") or {})
    except MalformedRecord:
        return None
    return Ladder(
        rungs=tuple((rung.name, rung.required) for rung in plan.rungs),
        skipped=plan.skipped,
        segments=tuple(len(chunk.segments) for chunk in fetched.chunks),
    )


def list_qualities(ladder: Ladder, tasks: Sequence[Task]) -> list[Quality]:
    """Return the progress of every rung, made ones first; `tasks` are those of the stage `encode`."""
    made = [_quality(name, required, ladder, tasks) for name, required in ladder.rungs]
    left_out = [
        Quality(quality=name, required=False, status=QualityStatus.SKIPPED, error_message=reason)
        for name, reason in ladder.skipped
        if name not in ladder.reused
    ]
    return [*made, *(_reused(name, ladder) for name in ladder.reused), *left_out]


def _reused(name: str, ladder: Ladder) -> Quality:
    total = sum(ladder.segments)
    return Quality(
        quality=name,
        required=False,
        status=QualityStatus.COMPLETED,
        segments_total=total,
        segments_completed=total,
        progress_percent=100.0,
        reused_from=ladder.reused_from,
    )


def _quality(name: str, required: bool, ladder: Ladder, tasks: Sequence[Task]) -> Quality:
    segments = ladder.segments
    finished = [task for task in tasks if _has(task, name)]
    total = sum(segments)
    done = sum(_segments(task, segments) for task in finished)
    status, error = _status(name, ladder, tasks, whole=bool(tasks) and len(finished) == len(segments))
    completed = status is QualityStatus.COMPLETED
    return Quality(
        quality=name,
        required=required,
        status=status,
        segments_total=total,
        segments_completed=done,
        progress_percent=100.0 if completed else _percent(done, total, _segments_in_progress(tasks, segments)),
        error_message=error,
        started_at=min(_present(task.started_at for task in tasks), default=None),
        completed_at=max(_present(task.finished_at for task in finished), default=None) if completed else None,
    )


def _status(name: str, ladder: Ladder, tasks: Sequence[Task], *, whole: bool) -> tuple[QualityStatus, str | None]:
    failed_rungs = {task.part: rung for task in tasks if (rung := _failed_rung(task, ladder)) is not None}
    for task in tasks:
        if failed_rungs.get(task.part, name) == name and (reason := _failure(task, name)):
            return QualityStatus.FAILED, f"chunk {task.part}: {reason}"
    if whole:
        return QualityStatus.COMPLETED, None
    if failed_rungs:
        part, rung = min(failed_rungs.items())
        working = any(task.status is TaskStatus.RUNNING for task in tasks)
        return QualityStatus.IN_PROGRESS if working else QualityStatus.PENDING, f"chunk {part}: {rung} failed"
    begun = any(task.started_at is not None for task in tasks)
    return QualityStatus.IN_PROGRESS if begun else QualityStatus.PENDING, None


def _failed_rung(task: Task, ladder: Ladder) -> str | None:
    """Return the rung that a chunk finally failed at; None if it failed for another reason, or did not fail."""
    if task.status is not TaskStatus.ERROR or task.run_after is not None or not isinstance(task.error, dict):
        return None
    rung = _message(task.error).partition(":")[0]
    return rung if task.error.get("type") == RUNG_FAILED and rung in dict(ladder.rungs) else None


def _failure(task: Task, name: str) -> str | None:
    """Return why a chunk will not get a rung, or None if it has it or may still get it."""
    if task.status is TaskStatus.CANCELLED:
        return "cancelled"
    if task.status is TaskStatus.ERROR and task.run_after is None:
        return _message(task.error).removeprefix(f"{name}: ")
    if task.status is TaskStatus.DONE and not _has(task, name):
        return _encoded(task).failed.get(name, "it was not made")
    return None


def _has(task: Task, name: str) -> bool:
    return task.status is TaskStatus.DONE and name in _encoded(task).rungs


def _encoded(task: Task) -> _Encoded:
    try:
        return record_of(_Encoded, task.result)
    except MalformedRecord:
        return _Encoded()


def _segments(task: Task, segments: Sequence[int]) -> int:
    return segments[task.part] if task.part < len(segments) else 0


def _segments_in_progress(tasks: Sequence[Task], segments: Sequence[int]) -> float:
    """Return the segments that running chunks have reached; none of them counts as completed."""
    running = [task for task in tasks if task.status is TaskStatus.RUNNING]
    return sum(_segments(task, segments) * task.percent / 100.0 for task in running)


def _percent(done: int, total: int, in_progress: float) -> float:
    return min(99.9, 100.0 * (done + in_progress) / total) if total else 0.0


def _present(times: Iterable[datetime | None]) -> list[datetime]:
    return [time for time in times if time is not None]


def _message(error: Json) -> str:
    return str(error.get("message", error)) if isinstance(error, dict) else str(error or "it failed")
