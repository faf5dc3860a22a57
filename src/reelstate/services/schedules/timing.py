"""When a schedule is due: cron expressions with their time zones, intervals, jitter, and which ticks to catch up.

Cron expressions follow Debian: a job at a fixed time runs once when the clock is set back, and right after the gap when
the clock is set forward; a job whose minute or hour begins with `*` runs by the clock on the wall.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from reelstate.core.errors import InvalidRequest
from reelstate.core.schedule import CatchUp

ALIASES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MAX_TIMING: Final = 200
"""Characters of a timing."""
MAX_ITEMS: Final = 60
"""Items of a list in one field."""
MAX_DIGITS: Final = 2
MIN_INTERVAL: Final = 1
MAX_INTERVAL: Final = 366 * 86_400
UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
BATCH: Final = 100
"""Ticks that one transaction runs."""
LATE_AFTER: Final = 60.0
"""Seconds after which a tick counts as missed where nothing is caught up."""
HINT: Final = "a cron expression such as `0 3 * * *`, @hourly, @daily, @weekly, @monthly, @yearly, or `every 15m`"

_CRON: Final = re.compile(r"[0-9A-Za-z*/,#\- ]+")
_INTERVAL: Final = re.compile(r"every ([0-9]{1,6}) ?([smhdw])", re.ASCII)
_ZONE: Final = re.compile(r"[A-Za-z0-9_+\-]+(/[A-Za-z0-9_+\-]+){0,2}")
_INSTANT: Final = timedelta(microseconds=1)
_SPANS: Final = (60.0, 3600.0, 86_400.0, 32 * 86_400.0, 400 * 86_400.0, 9 * 366 * 86_400.0, 30 * 366 * 86_400.0)
"""How far back to look for the tick before a time, in seconds: an expression may fire once in 28 years."""


class Ticks(Protocol):
    """The times of a timing, without its start and end."""

    def following(self, after: datetime) -> datetime | None:
        """Return the first tick after a time; None if there is none."""
        ...

    def preceding(self, until: datetime) -> datetime | None:
        """Return the last tick at or before a time; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Cron:
    """The ticks of a cron expression in a time zone."""

    expression: str
    zone: ZoneInfo

    def following(self, after: datetime) -> datetime | None:
        try:
            # Around a change of the clock an expression may give a time again that has passed.
            return next(tick for tick in self._from(after) if tick > after)
        except (StopIteration, OverflowError):
            return None

    def preceding(self, until: datetime) -> datetime | None:
        for span in _SPANS:
            found = None
            tick = self.following(until - timedelta(seconds=span))
            while tick is not None and tick <= until:
                found, tick = tick, self.following(tick)
            if found is not None:
                return found
        return None

    def _from(self, after: datetime) -> Iterator[datetime]:
        for tick in CronSim(self.expression, after.astimezone(self.zone)):
            yield tick.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Interval:
    """Ticks every so many seconds, counted from an anchor."""

    seconds: int
    anchor: datetime

    def following(self, after: datetime) -> datetime | None:
        try:
            return self._at(self._number(after) + 1)
        except OverflowError:
            return None

    def preceding(self, until: datetime) -> datetime | None:
        return self._at(self._number(until))

    def _number(self, time: datetime) -> int:
        return (time - self.anchor) // timedelta(seconds=self.seconds)

    def _at(self, number: int) -> datetime:
        return self.anchor + number * timedelta(seconds=self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do with the ticks that are due."""

    ticks: tuple[datetime, ...]
    """Those to run, oldest first."""
    missed: tuple[datetime, datetime] | None
    """The first and the last of those that are not run."""
    next_tick: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The ticks of a schedule between its start and its end."""

    name: str
    ticks: Ticks
    jitter: float
    starts_at: datetime | None
    ends_at: datetime | None

    @classmethod
    def parse(
        cls,
        name: str,
        timing: str,
        timezone: str,
        *,
        jitter: float = 0.0,
        starts_at: datetime | None = None,
        ends_at: datetime | None = None,
    ) -> Timing:
        """Check a timing. Raises `InvalidRequest`."""
        ticks = parse_ticks(timing, parse_zone(timezone), starts_at)
        return cls(name=name, ticks=ticks, jitter=jitter, starts_at=starts_at, ends_at=ends_at)

    def following(self, after: datetime) -> datetime | None:
        """Return the first tick after a time, within start and end."""
        if self.starts_at is not None and after < self.starts_at:
            after = self.starts_at - _INSTANT
        tick = self.ticks.following(after)
        return None if tick is None or (self.ends_at is not None and tick > self.ends_at) else tick

    def upcoming(self, first: datetime | None) -> Iterator[datetime]:
        """Yield a tick and those after it."""
        while first is not None:
            yield first
            first = self.following(first)

    def run_at(self, tick: datetime) -> datetime:
        """Return when the job of a tick is submitted: after its jitter, which is the same at every call.

        It is before the next tick.
        """
        if not self.jitter:
            return tick
        following = self.ticks.following(tick)
        room = self.jitter if following is None else min(self.jitter, (following - tick).total_seconds())
        digest = hashlib.sha256(f"{self.name} {tick.isoformat()}".encode()).digest()
        share = int.from_bytes(digest[:6]) / 2**48
        return tick + timedelta(milliseconds=int(room * share * 1000))

    def plan(self, next_tick: datetime, now: datetime, catch_up: CatchUp, window: float) -> Plan:
        """Choose among the ticks from `next_tick` on that are due. `next_tick` itself is due."""
        first: datetime | None
        if catch_up is CatchUp.LATEST:
            first = self._latest_due(next_tick, now)
        else:
            oldest = now - timedelta(seconds=window if catch_up is CatchUp.ALL else LATE_AFTER)
            first = next_tick if next_tick >= oldest else self.following(oldest - _INSTANT)
        ticks: list[datetime] = []
        for tick in islice(self.upcoming(first), BATCH):
            if self.run_at(tick) > now:
                break
            ticks.append(tick)
        return Plan(
            ticks=tuple(ticks),
            missed=self._missed(next_tick, first),
            next_tick=self.following(ticks[-1]) if ticks else first,
        )

    def _latest_due(self, next_tick: datetime, now: datetime) -> datetime:
        """Return the last tick that is due at a time; `next_tick` is one."""
        latest = self.ticks.preceding(now if self.ends_at is None else min(now, self.ends_at))
        while latest is not None and latest > next_tick:
            if self.run_at(latest) <= now:
                return latest
            latest = self.ticks.preceding(latest - _INSTANT)
        return next_tick

    def _missed(self, next_tick: datetime, first: datetime | None) -> tuple[datetime, datetime] | None:
        if first == next_tick:
            return None
        end = self.ends_at or next_tick if first is None else first - _INSTANT
        return next_tick, max(next_tick, self.ticks.preceding(end) or next_tick)


def parse_zone(name: str) -> ZoneInfo:
    """Return an IANA time zone. Raises `InvalidRequest`."""
    hint = "an IANA name such as Europe/Berlin or UTC"
    if len(name) > 64 or not _ZONE.fullmatch(name):  # noqa: PLR2004 - the longest name has half as many characters
        raise InvalidRequest("timezone", f"invalid time zone {name[:64]!r}", hint=hint)
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise InvalidRequest("timezone", f"unknown time zone {name!r}", hint=hint) from None


def parse_ticks(timing: str, zone: ZoneInfo, starts_at: datetime | None = None) -> Ticks:
    """Return the ticks of a cron expression, an alias or an interval. Raises `InvalidRequest`.

    Length, fields, lists and numbers are bounded before anything is expanded.
    """
    if len(timing) > MAX_TIMING:
        raise InvalidRequest("timing", f"has {len(timing):,} characters, at most {MAX_TIMING} are allowed", hint=HINT)
    text = " ".join(timing.split())
    if text.startswith("every"):
        return _parse_interval(text, starts_at)
    expression = ALIASES.get(text.lower(), text)
    fields = expression.split(" ")
    numbers = re.findall(r"[0-9]+", expression)
    if (
        not _CRON.fullmatch(expression)
        or len(fields) not in (5, 6)
        or any(field.count(",") >= MAX_ITEMS for field in fields)
        or any(len(number) > MAX_DIGITS for number in numbers)
    ):
        raise InvalidRequest("timing", f"invalid cron expression {text!r}", hint=HINT)
    ticks = Cron(expression, zone)
    try:
        CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC))
    except (CronSimError, AssertionError, ValueError) as error:
        fault = str(error) or "it can't be read"
        raise InvalidRequest("timing", f"invalid cron expression {text!r}: {fault}", hint=HINT) from None
    if ticks.following(datetime(2000, 1, 1, tzinfo=UTC)) is None:
        raise InvalidRequest("timing", f"the cron expression {text!r} is never due", hint=HINT)
    return ticks


def _parse_interval(text: str, starts_at: datetime | None) -> Interval:
    match = _INTERVAL.fullmatch(text)
    seconds = int(match[1]) * UNITS[match[2]] if match else 0
    if not MIN_INTERVAL <= seconds <= MAX_INTERVAL:
        raise InvalidRequest(
            "timing", f"invalid interval {text!r}", hint="`every` with a number and s, m, h, d or w: `every 15m`"
        )
    return Interval(seconds, starts_at or datetime.fromtimestamp(0, UTC))
