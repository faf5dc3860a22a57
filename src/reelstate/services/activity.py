"""activity: the jobs that finished and the waits of tasks, by minute, read from the log of events as it grows.

A process reads each event once. A reader that falls behind by more than `MAX_EVENTS` skips the events between, so that
the cost of a read has a bound; the figures are then incomplete from that time on backwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from reelstate.feed.head import OBSERVE_HEAD
from reelstate.stores.store import Statement, Store, Transaction

MINUTES: Final = 60
"""Minutes that are shown, the present one included."""
MAX_EVENTS: Final = 20_000
"""Events that one read looks at."""
BOUNDS: Final = tuple(
    float(bound)
    for bound in (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400)
)
"""Upper bounds of the classes of waits, in seconds; the last class has none."""
MEDIAN: Final = 0.5
HIGH: Final = 0.95


class ActivityRow(NamedTuple):
    """What happened to the jobs of one user in one minute, with the claims of one class of waits."""

    minute: int
    """Since 1970."""
    user_id: str
    wait: int
    """The class: how many of `BOUNDS` the wait reaches."""
    claims: int
    completed: int
    failed: int
    attempts_done: int
    attempts_failed: int


class _Position(NamedTuple):
    xid: str
    id: int


class _Read(NamedTuple):
    rows: list[ActivityRow]
    epoch: str
    position: _Position
    skipped: bool


START: Final = _Position("0", 0)
ACTIVITY = Statement("activity", ActivityRow)
ACTIVITY_START = Statement("activity_start", _Position)


@dataclass(frozen=True, slots=True)
class Activity:
    """The last hour by minute; the last minute is the present one. Waits are in seconds, None where none is known."""

    minutes: list[int]
    """Minutes since 1970."""
    completed: list[int]
    failed: list[int]
    attempts_done: list[int]
    attempts_failed: list[int]
    wait_median: list[float | None]
    wait_high: list[float | None]
    """The 95th percentile."""
    complete: bool
    """Whether no event was skipped in this hour."""


@dataclass(slots=True)
class _Minute:
    completed: int = 0
    failed: int = 0
    attempts_done: int = 0
    attempts_failed: int = 0
    waits: Counter[int] = field(default_factory=Counter)

    def add(self, row: ActivityRow) -> None:
        self.completed += row.completed
        self.failed += row.failed
        self.attempts_done += row.attempts_done
        self.attempts_failed += row.attempts_failed
        if row.claims:
            self.waits[row.wait] += row.claims


_NOTHING: Final = _Minute()


class ActivityLog:
    """The activity of the last hour, in memory: of everybody, and of each user."""

    def __init__(self) -> None:
        self._position = START
        self._epoch = ""
        self._incomplete_until = 0
        self._minutes: dict[int, dict[str | None, _Minute]] = {}

    async def refresh(self, store: Store) -> None:
        """Count the events since the last call. One call at a time."""
        position, epoch = self._position, self._epoch

        async def flow(transaction: Transaction) -> _Read:
            (head,) = await transaction.run(OBSERVE_HEAD)
            start = position if head.epoch == epoch else START  # another database, or the first read
            behind = {"after_xid": start.xid, "after_id": start.id}
            skipped = await transaction.run(ACTIVITY_START, window=MAX_EVENTS, **behind)
            after = skipped[0] if skipped else start
            until = {"until_xid": head.xid, "until_id": head.id}
            rows = await transaction.run(ACTIVITY, bounds=list(BOUNDS), after_xid=after.xid, after_id=after.id, **until)
            return _Read(rows, head.epoch, _Position(head.xid, head.id), bool(skipped))

        self._add(await store.survey(flow))

    def hour(self, now: datetime, user_id: str | None = None) -> Activity:
        """Return the hour up to a time: of everybody, or of one user."""
        last = int(now.timestamp() // 60)
        minutes = list(range(last - MINUTES + 1, last + 1))
        for old in [minute for minute in self._minutes if minute < minutes[0]]:
            del self._minutes[old]
        found = [self._minutes.get(minute, {}).get(user_id, _NOTHING) for minute in minutes]
        return Activity(
            minutes=minutes,
            completed=[each.completed for each in found],
            failed=[each.failed for each in found],
            attempts_done=[each.attempts_done for each in found],
            attempts_failed=[each.attempts_failed for each in found],
            wait_median=[quantile(each.waits, MEDIAN) for each in found],
            wait_high=[quantile(each.waits, HIGH) for each in found],
            complete=self._incomplete_until < minutes[0],
        )

    def _add(self, read: _Read) -> None:
        if read.epoch != self._epoch:
            self._epoch, self._minutes, self._incomplete_until = read.epoch, {}, 0
        self._position = read.position
        if read.skipped and read.rows:
            self._incomplete_until = min(row.minute for row in read.rows)
        newest = max((row.minute for row in read.rows), default=0)
        for row in read.rows:
            if row.minute > newest - MINUTES:
                users = self._minutes.setdefault(row.minute, {})
                for user in (None, row.user_id):
                    users.setdefault(user, _Minute()).add(row)


def quantile(waits: Counter[int], share: float) -> float | None:
    """Return a quantile of classes of waits, by linear interpolation inside its class; None without waits."""
    total = waits.total()
    if not total:
        return None
    rank, passed = share * total, 0
    for low, high, count in _classes(waits):
        if passed + count >= rank:
            return round(low + (high - low) * (rank - passed) / count, 3)
        passed += count
    return float(BOUNDS[-1])


def _classes(waits: Counter[int]) -> Iterator[tuple[float, float, int]]:
    """Yield the bounds and the number of each class that has waits, in their order."""
    edges = (0.0, *BOUNDS, float(BOUNDS[-1]))
    for number in sorted(waits):
        if waits[number]:
            yield edges[number], edges[number + 1], waits[number]
