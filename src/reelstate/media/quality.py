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


class QualityStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"


class ClaimState(StrEnum):
    """How a task stands with the workers, in six words."""

    UNCLAIMED = "Unclaimed"
    CLAIMED = "Claimed"
    EXPIRED = "Expired"
    COMPLETED = "Completed"
    FAILED = "Failed"
    RETRYING = "Retrying"


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


@dataclass(frozen=True, slots=True)
class Ladder:
    """What is to be made: rungs with whether they must be, rungs that are left out and why, segments of each chunk."""

    rungs: tuple[tuple[str, bool], ...]
    skipped: tuple[tuple[str, str], ...] = ()
    segments: tuple[int, ...] = ()


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
    made = [_quality(name, required, ladder.segments, tasks) for name, required in ladder.rungs]
    left_out = [
        Quality(quality=name, required=False, status=QualityStatus.SKIPPED, error_message=reason)
        for name, reason in ladder.skipped
    ]
    return made + left_out


def claim_state(task: Task, now: datetime) -> ClaimState:
    """The one word for a task; what was cancelled counts as failed, because nothing came of it."""
    match task.status:
        case TaskStatus.DONE | TaskStatus.SKIPPED:
            return ClaimState.COMPLETED
        case TaskStatus.CANCELLED:
            return ClaimState.FAILED
        case TaskStatus.RUNNING:
            held = task.lease_expires_at is not None and task.lease_expires_at > now
            return ClaimState.CLAIMED if held else ClaimState.EXPIRED
        case TaskStatus.ERROR if task.run_after is None:
            return ClaimState.FAILED
    return ClaimState.RETRYING if task.error is not None and task.attempt else ClaimState.UNCLAIMED


def _quality(name: str, required: bool, segments: Sequence[int], tasks: Sequence[Task]) -> Quality:
    finished = [task for task in tasks if _has(task, name)]
    total = sum(segments)
    done = sum(_segments(task, segments) for task in finished)
    status, error = _verdict(name, tasks, whole=bool(tasks) and len(finished) == len(segments))
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


def _verdict(name: str, tasks: Sequence[Task], *, whole: bool) -> tuple[QualityStatus, str | None]:
    for task in tasks:
        if reason := _failure(task, name):
            return QualityStatus.FAILED, f"chunk {task.part}: {reason}"
    if whole:
        return QualityStatus.COMPLETED, None
    begun = any(task.started_at is not None for task in tasks)
    return QualityStatus.IN_PROGRESS if begun else QualityStatus.PENDING, None


def _failure(task: Task, name: str) -> str | None:
    """Why a chunk has no such rung and never will, as far as this run of the job goes."""
    if task.status is TaskStatus.CANCELLED:
        return "cancelled"
    if task.status is TaskStatus.ERROR and task.run_after is None:
        return _words(task.error)
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
