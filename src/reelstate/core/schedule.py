"""Schedules: the records of schedules and their runs, and the policies for overlapping and missed ticks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypedDict

from reelstate.core.policy import PriorityName

Json = Any


class Overlap(StrEnum):
    """What happens to a tick while a job of an earlier tick is active."""

    SKIP = "skip"
    """It makes no job."""
    QUEUE_ONE = "queue_one"
    """It waits until no job is active; a tick after it is skipped."""
    QUEUE_ALL = "queue_all"
    """It waits, and so do those after it."""
    CANCEL_OTHER = "cancel_other"
    """The active jobs are cancelled."""
    ALLOW = "allow"
    """Its job runs beside the others."""


class CatchUp(StrEnum):
    """Which ticks are run that were due while no keeper ran."""

    LATEST = "latest"
    """The latest one."""
    ALL = "all"
    """All within the window."""
    NONE = "none"
    """None: a tick is run within a minute, or not at all."""


class RunSource(StrEnum):
    """What a run comes from."""

    TICK = "tick"
    TRIGGER = "trigger"
    BACKFILL = "backfill"


class RunOutcome(StrEnum):
    """What became of a tick. The status of its job is a field of its own."""

    SUBMITTED = "submitted"
    QUEUED = "queued"
    SKIPPED = "skipped"
    MISSED = "missed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRun:
    """A tick, a trigger or a tick of a backfill, and what became of it."""

    tick: datetime
    """The time that it stands for; of missed ticks, the first."""
    source: RunSource
    outcome: RunOutcome
    job_id: int | None
    job_status: str | None
    """The status of its job; None without one, or if the job is in the archive."""
    reason: str | None
    """Why no job was made, or made late."""
    at: datetime
    """When it was decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule: what it submits, when, and what happens to overlapping and missed ticks."""

    name: str
    pipeline: str
    spec: Json
    priority: int
    user_id: str
    timing: str
    """A cron expression, an alias such as @daily, or an interval such as `every 15m`."""
    timezone: str
    overlap: Overlap
    catch_up: CatchUp
    catch_up_window: float
    """Seconds; of the policy `all`."""
    jitter: float
    """A job is submitted up to so many seconds after its tick, and before the next one."""
    paused: bool
    note: str
    """Why it was paused."""
    starts_at: datetime | None
    ends_at: datetime | None
    next_tick: datetime | None
    """The next tick; None if there is none, or if the schedule is paused."""
    next_run_at: datetime | None
    """When its job is submitted: the next tick and its jitter."""
    version: int
    actor: str
    created_at: datetime
    changed_at: datetime
    last: ScheduleRun | None = None
    """The newest run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDetail:
    """A schedule with its next ten ticks and its last ten runs, newest first."""

    schedule: Schedule
    upcoming: tuple[datetime, ...]
    runs: tuple[ScheduleRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """The ticks of a backfill: those that make a job, and those that have made one before."""

    dry_run: bool
    ticks: tuple[datetime, ...]
    done: tuple[datetime, ...]
    """Ticks that have a job already, or wait for one; a backfill leaves them alone."""
    job_ids: tuple[int, ...] = ()
    """The new jobs; those of queued ticks are submitted later."""


class ScheduleOptions(TypedDict, total=False):
    """Options of a schedule; see the fields of `Schedule`."""

    spec: Json
    priority: int | PriorityName
    user_id: str
    timezone: str
    overlap: Overlap | str
    catch_up: CatchUp | str
    catch_up_window: float
    jitter: float
    starts_at: datetime | None
    ends_at: datetime | None


class ScheduleChanges(TypedDict, total=False):
    """What `update` changes. What is left out stays; None removes a start or an end."""

    pipeline: str
    timing: str
    spec: Json
    priority: int | PriorityName
    timezone: str
    overlap: Overlap | str
    catch_up: CatchUp | str
    catch_up_window: float
    jitter: float
    starts_at: datetime | None
    ends_at: datetime | None
