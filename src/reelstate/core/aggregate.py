"""Many statuses as one, and many tasks' progress as one number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from reelstate.core.machine import FINISHED_JOBS, STOPPED_JOBS, JobStatus, TaskStatus

URGENCY = (
    TaskStatus.ERROR,
    TaskStatus.CANCELLED,
    TaskStatus.RUNNING,
    TaskStatus.READY,
    TaskStatus.NEW,
    TaskStatus.DONE,
    TaskStatus.SKIPPED,
)
"""Lowest first: what a person must know of a group before anything else about it."""


def lowest(statuses: Iterable[TaskStatus]) -> TaskStatus:
    """The status that stands for all of them. Nothing at all is `new`."""
    return min(statuses, key=URGENCY.index, default=TaskStatus.NEW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """A stage's tasks by what became of them; the rest are waiting or running."""

    total: int
    done: int = 0
    skipped: int = 0
    failed: int = 0

    @property
    def closed(self) -> bool:
        return self.done + self.skipped + self.failed == self.total


def stage_status(
    counters: Counters | None, *, job: JobStatus = JobStatus.PROCESSING, required: bool = True, running: int = 0
) -> TaskStatus:
    """A stage's status in the words of tasks. `None` is a stage that has not been opened."""
    match counters:
        case Counters(failed=failed) if failed and required:
            return TaskStatus.ERROR
        case Counters(closed=True, total=total, skipped=skipped) if skipped == total:
            return TaskStatus.SKIPPED
        case Counters(closed=True):
            return TaskStatus.DONE
        case _ if job in FINISHED_JOBS:
            return TaskStatus.CANCELLED
        case Counters() if running:
            return TaskStatus.RUNNING
        case Counters() if job not in STOPPED_JOBS:
            return TaskStatus.READY
        case _:
            return TaskStatus.NEW


@dataclass(frozen=True, slots=True, kw_only=True)
class StageProgress:
    weight: float
    total: int | None
    """None until the stage is opened."""
    finished: int
    running_percent: float
    """The sum of the percentages of its running tasks."""


def percent(stages: Sequence[StageProgress]) -> float:
    """A job's progress: each stage counts by its weight, each task of a stage alike."""
    whole = sum(stage.weight for stage in stages)
    if not whole:
        return 0.0
    return min(100.0, sum(stage.weight * _stage_percent(stage) for stage in stages) / whole)


def _stage_percent(stage: StageProgress) -> float:
    if stage.total is None:
        return 0.0
    if stage.total == 0:
        return 100.0
    return (100.0 * stage.finished + stage.running_percent) / stage.total


def remaining_time(percent_done: float, started_at: datetime, now: datetime) -> timedelta | None:
    """How much longer at the pace so far; None while there is no pace to speak of."""
    if percent_done <= 0 or now <= started_at:
        return None
    elapsed = now - started_at
    return elapsed * ((100.0 - min(percent_done, 100.0)) / percent_done)
