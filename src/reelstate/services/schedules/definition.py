"""The definition of a schedule: its row, and the checks of its values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar

from reelstate.core.document import DocumentLimits, encode, plain_text
from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Json, Submission
from reelstate.core.policy import priority_number
from reelstate.core.schedule import CatchUp, Overlap, RunOutcome, RunSource, Schedule, ScheduleRun
from reelstate.services.rows import fields_of, record_of
from reelstate.services.schedules.timing import Timing
from reelstate.services.submit import USER_LIMIT
from reelstate.stores.store import row_type

MAX_NAME: Final = 100
MAX_NOTE: Final = 1000
DAY: Final = 86_400.0
MAX_WINDOW: Final = 365 * DAY
MIN_WINDOW: Final = 10.0
MAX_JITTER: Final = 7 * DAY
DEFAULTS: Final[Mapping[str, Any]] = {
    "spec": {},
    "priority": 5,
    "user_id": "",
    "timezone": "UTC",
    "overlap": Overlap.SKIP,
    "catch_up": CatchUp.LATEST,
    "catch_up_window": DAY,
    "jitter": 0.0,
    "starts_at": None,
    "ends_at": None,
}
_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}")
Choice = TypeVar("Choice", bound=StrEnum)
_COLUMNS: Final = ("id", *fields_of(Schedule, "last"))
ScheduleRow = row_type("ScheduleRow", *_COLUMNS)
DueRow = row_type("DueRow", *_COLUMNS, "at")


class RunRow(NamedTuple):
    schedule_id: int
    key: str
    tick: datetime
    source: str
    outcome: str
    job_id: int | None
    job_status: str | None
    reason: str | None
    at: datetime


def check_name(name: str) -> str:
    """Return the name of a schedule. Raises `InvalidRequest`."""
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            "name",
            f"invalid name {name[:MAX_NAME]!r}",
            hint=f"letters, digits and . _ -, at most {MAX_NAME}, and a letter or a digit first",
        )
    return name


def check_definition(given: Mapping[str, Any], limits: DocumentLimits) -> dict[str, Any]:
    """Return the checked columns of a schedule, without its next tick. Raises `InvalidRequest`."""
    starts_at, ends_at = check_time("starts_at", given["starts_at"]), check_time("ends_at", given["ends_at"])
    if starts_at is not None and ends_at is not None and ends_at < starts_at:
        raise InvalidRequest("ends_at", "is before starts_at", hint="leave one of them out")
    return {
        "pipeline": plain_text("pipeline", given["pipeline"], USER_LIMIT),
        "spec": encode("spec", given["spec"], limits.spec),
        "priority": priority_number(given["priority"]),
        "timing": plain_text("timing", " ".join(given["timing"].split()), 10 * limits.spec),
        "timezone": given["timezone"],
        "overlap": check_choice(Overlap, "overlap", given["overlap"]),
        "catch_up": check_choice(CatchUp, "catch_up", given["catch_up"]),
        "catch_up_window": _check_seconds("catch_up_window", given["catch_up_window"], MIN_WINDOW, MAX_WINDOW),
        "jitter": _check_seconds("jitter", given["jitter"], 0.0, MAX_JITTER),
        "starts_at": starts_at,
        "ends_at": ends_at,
    }


def timing_of(name: str, columns: Mapping[str, Any]) -> Timing:
    """Return the ticks of a schedule. Raises `InvalidRequest`."""
    return Timing.parse(
        name,
        columns["timing"],
        columns["timezone"],
        jitter=columns["jitter"],
        starts_at=columns["starts_at"],
        ends_at=columns["ends_at"],
    )


def next_of(timing: Timing, after: datetime) -> dict[str, datetime | None]:
    """Return the columns with the first tick after a time."""
    tick = timing.following(after)
    return {"next_tick": tick, "next_run_at": None if tick is None else timing.run_at(tick)}


def submission_of(columns: Mapping[str, Any], spec: Json) -> Submission:
    """Return what a schedule submits. The key of each tick is added later."""
    return Submission(pipeline=columns["pipeline"], spec=spec, priority=columns["priority"], user_id=columns["user_id"])


def tick_text(tick: datetime) -> str:
    """Return the time of a tick as it is in keys: `2026-03-29T01:30:00Z`."""
    return tick.astimezone(UTC).isoformat().replace("+00:00", "Z")


def schedule_of(row: Any, last: RunRow | None = None) -> Schedule:
    return record_of(
        Schedule,
        row,
        overlap=Overlap(row.overlap),
        catch_up=CatchUp(row.catch_up),
        paused=bool(row.paused),
        last=None if last is None else run_of(last),
    )


def run_of(row: RunRow) -> ScheduleRun:
    return record_of(ScheduleRun, row, source=RunSource(row.source), outcome=RunOutcome(row.outcome))


def check_choice(kind: type[Choice], field: str, value: str) -> Choice:
    """Return the member of an enumeration. Raises `InvalidRequest`."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidRequest(field, f"invalid value {value!r}", hint=f"one of {known}") from None


def check_time(field: str, time: datetime | None) -> datetime | None:
    """Return a time in whole seconds of UTC. Raises `InvalidRequest` without a time zone."""
    if time is None:
        return None
    if time.tzinfo is None:
        raise InvalidRequest(field, "has no time zone", hint="use an aware datetime, such as datetime.now(UTC)")
    try:
        return time.astimezone(UTC).replace(microsecond=0)
    except OverflowError:
        raise InvalidRequest(field, "is out of range", hint="use a time in this century") from None


def _check_seconds(field: str, value: float, least: float, most: float) -> float:
    if isinstance(value, bool) or not least <= value <= most:
        raise InvalidRequest(field, f"invalid duration {value!r}", hint=f"seconds from {least:g} to {most:g}")
    return float(value)
