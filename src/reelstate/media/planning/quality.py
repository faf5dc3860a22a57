"""A job seen by its qualities: how far each rung of the ladder is, read from the tasks that encode its chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from reelstate.core.machine import TaskStatus
from reelstate.core.model import Json, Task

ENCODE = "encode"
"""The stage whose parts are the chunks."""
RUNG_FAILED = "RungFailed"
"""The type of the error of a chunk that failed at one rung; its message begins with the name of the rung."""


class QualityStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """One rung of the ladder, and how far it is."""

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
    """What is to be made: rungs with whether they must be, rungs that are left out and why, segments of each chunk."""

    rungs: tuple[tuple[str, bool], ...]
    skipped: tuple[tuple[str, str], ...] = ()
    segments: tuple[int, ...] = ()
    reused: tuple[str, ...] = ()
    """Rungs that the version `reused_from` has, and that are not made again."""
    reused_from: int | None = None


def ladder_of(results: Mapping[str, Json]) -> Ladder | None:
    """The ladder in the results of a job's stages; None before it is planned."""
    plan = results.get("plan")
    if not isinstance(plan, dict) or "rungs" not in plan:
        return None
    chunks = (results.get("fetch") or {}).get("chunks") or ()
    return Ladder(
        rungs=tuple((rung["name"], bool(rung.get("required", True))) for rung in plan["rungs"]),
        skipped=tuple((name, reason) for name, reason in plan.get("skipped") or ()),
        segments=tuple(len(chunk["segments"]) for chunk in chunks),
    )


def qualities(ladder: Ladder, tasks: Sequence[Task]) -> list[Quality]:
    """Every rung, those that are made first; `tasks` are those that encode chunks, a part for each."""
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
    status, error = _verdict(name, ladder, tasks, whole=bool(tasks) and len(finished) == len(segments))
    completed = status is QualityStatus.COMPLETED
    return Quality(
        quality=name,
        required=required,
        status=status,
        segments_total=total,
        segments_completed=done,
        progress_percent=100.0 if completed else _percent(done, total, _under_way(tasks, segments)),
        error_message=error,
        started_at=min(_instants(task.started_at for task in tasks), default=None),
        completed_at=max(_instants(task.finished_at for task in finished), default=None) if completed else None,
    )


def _verdict(name: str, ladder: Ladder, tasks: Sequence[Task], *, whole: bool) -> tuple[QualityStatus, str | None]:
    blamed = {task.part: rung for task in tasks if (rung := _failed_rung(task, ladder)) is not None}
    for task in tasks:
        if blamed.get(task.part, name) == name and (reason := _failure(task, name)):
            return QualityStatus.FAILED, f"chunk {task.part}: {reason}"
    if whole:
        return QualityStatus.COMPLETED, None
    if blamed:
        part, rung = min(blamed.items())
        working = any(task.status is TaskStatus.RUNNING for task in tasks)
        return QualityStatus.IN_PROGRESS if working else QualityStatus.PENDING, f"chunk {part}: {rung} failed in it"
    begun = any(task.started_at is not None for task in tasks)
    return QualityStatus.IN_PROGRESS if begun else QualityStatus.PENDING, None


def _failed_rung(task: Task, ladder: Ladder) -> str | None:
    """The one rung for which a chunk has failed for good; None where it failed for another reason, or not at all."""
    if task.status is not TaskStatus.ERROR or task.run_after is not None or not isinstance(task.error, dict):
        return None
    rung = _words(task.error).partition(":")[0]
    return rung if task.error.get("type") == RUNG_FAILED and rung in dict(ladder.rungs) else None


def _failure(task: Task, name: str) -> str | None:
    """Why a chunk has no such rung and never will, as far as this run of the job goes."""
    if task.status is TaskStatus.CANCELLED:
        return "cancelled"
    if task.status is TaskStatus.ERROR and task.run_after is None:
        return _words(task.error).removeprefix(f"{name}: ")
    if task.status is TaskStatus.DONE and not _has(task, name):
        return str(_result(task, "failed").get(name, "it was not made"))
    return None


def _has(task: Task, name: str) -> bool:
    return task.status is TaskStatus.DONE and name in _result(task, "rungs")


def _result(task: Task, field: str) -> Mapping[str, Json]:
    found = task.result.get(field) if isinstance(task.result, dict) else None
    return found if isinstance(found, dict) else {}


def _segments(task: Task, segments: Sequence[int]) -> int:
    return segments[task.part] if task.part < len(segments) else 0


def _under_way(tasks: Sequence[Task], segments: Sequence[int]) -> float:
    """Segments of chunks that run, as far as they are; not one of them counts as completed yet."""
    running = [task for task in tasks if task.status is TaskStatus.RUNNING]
    return sum(_segments(task, segments) * task.percent / 100.0 for task in running)


def _percent(done: int, total: int, under_way: float) -> float:
    return min(99.9, 100.0 * (done + under_way) / total) if total else 0.0


def _instants(times: Iterable[datetime | None]) -> list[datetime]:
    return [time for time in times if time is not None]


def _words(error: Json) -> str:
    return str(error.get("message", error)) if isinstance(error, dict) else str(error or "it failed")
