"""Arithmetic of retries, leases and priorities. The current time and the dice are always arguments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from reelstate.core.errors import InvalidRequest

PRIORITIES = {"low": 2, "normal": 5, "high": 8, "critical": 10}
LOWEST_PRIORITY, HIGHEST_PRIORITY = 0, 10


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a failed task rests: `base` seconds, doubled after every further attempt, at most `cap`."""

    base: float = 10.0
    cap: float = 300.0

    def ceiling(self, attempt: int) -> float:
        """The longest rest after this attempt (1 is the first)."""
        doublings = min(max(attempt, 1) - 1, 62)
        return min(self.cap, self.base * 2.0**doublings)

    def delay(self, attempt: int, dice: float) -> float:
        """Full jitter: `dice` in [0, 1) spreads the retries of many tasks that failed together."""
        return self.ceiling(attempt) * dice


def priority_number(priority: int | str) -> int:
    """The number behind a priority: 0–10, or one of the names low, normal, high, critical."""
    number = PRIORITIES.get(priority) if isinstance(priority, str) else priority
    if not isinstance(number, int) or isinstance(number, bool) or not LOWEST_PRIORITY <= number <= HIGHEST_PRIORITY:
        raise InvalidRequest(
            "priority",
            f"{priority!r} is not a priority",
            hint="use a whole number from 0 to 10 (10 is the most urgent), or low, normal, high, critical",
        )
    return number


def lease_expiry(
    now: datetime,
    claimed_at: datetime,
    progress_at: datetime,
    *,
    lease: float,
    stall_after: float | None = None,
    timeout: float | None = None,
) -> datetime:
    """When a lease renewed now runs out: the soonest of lease, stall and timeout.

    Stalls and timeouts are therefore expiries like any other, found by the same sweep.
    """
    limits = [now + timedelta(seconds=lease)]
    if stall_after is not None:
        limits.append(progress_at + timedelta(seconds=stall_after))
    if timeout is not None:
        limits.append(claimed_at + timedelta(seconds=timeout))
    return min(limits)


def attempts_after_retry(attempt: int, stage_attempts: int) -> int:
    """An operator's retry never lowers what was counted: it allows the stage's attempts once more."""
    return attempt + stage_attempts
