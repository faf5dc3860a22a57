"""Aggregate the statuses of tasks into one, and their progress into one number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from reelstate.core.machine import ANY_PHASE, FINISHED_JOBS, STOPPED_JOBS, JobStatus, TaskStatus

URGENCY = (
    TaskStatus.ERROR,
    TaskStatus.CANCELLED,
    TaskStatus.RUNNING,
    TaskStatus.READY,
    TaskStatus.NEW,
    TaskStatus.DONE,
    TaskStatus.SKIPPED,
)
"""Lowest first: the status to show for a group of tasks."""


def lowest(statuses: Iterable[TaskStatus]) -> TaskStatus:
    """Return the lowest status; `new` for no tasks."""
    return min(statuses, key=URGENCY.index, default=TaskStatus.NEW)


JOB_URGENCY = (
    JobStatus.QUARANTINED,
    JobStatus.FAILED,
    JobStatus.CANCELLED,
    ANY_PHASE,
    JobStatus.PENDING,
    JobStatus.COMPLETED,
)
"""Lowest first: the status to show for a group of jobs; one in a phase is `running`."""


def lowest_job(statuses: Iterable[str]) -> str:
    """Return the lowest status of jobs; `completed` for no jobs."""
    return str(min(statuses, key=JOB_URGENCY.index, default=JobStatus.COMPLETED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """The finished tasks of a stage by outcome; the others wait or run."""

    total: int
    done: int = 0
    skipped: int = 0
    failed: int = 0

    @property
    def closed(self) -> bool:
        """Whether every task is finished."""
        return self.done + self.skipped + self.failed == self.total


def stage_status(
    counters: Counters | None, *, job: JobStatus = JobStatus.PROCESSING, required: bool = True, running: int = 0
) -> TaskStatus:
    """Return the status of a stage as a task status. The counters of an unopened stage are None."""
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
    """The progress of a stage, for that of its job."""

    weight: float
    total: int | None
    """None until the stage is opened."""
    finished: int
    running_percent: float
    """The sum of the percentages of its running tasks."""


def percent(stages: Sequence[StageProgress]) -> float:
    """Return the progress of a job in percent: stages count by weight, the tasks of a stage equally."""
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
    """Estimate the remaining time from the progress so far; None before there is any."""
    if percent_done <= 0 or now <= started_at:
        return None
    elapsed = now - started_at
    return elapsed * ((100.0 - min(percent_done, 100.0)) / percent_done)
