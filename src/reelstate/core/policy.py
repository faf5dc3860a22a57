"""Compute retry delays and priorities. Random numbers are arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from reelstate.core.errors import InvalidRequest

PriorityName: TypeAlias = Literal["low", "normal", "high", "critical"]
PRIORITIES: dict[str, int] = {"low": 2, "normal": 5, "high": 8, "critical": 10}
LOWEST_PRIORITY, HIGHEST_PRIORITY = 0, 10
BACKSTOP_MARGIN = 15.0
"""Seconds by which the keeper's timeout of a run exceeds the worker's, so that the worker reports first."""


def backstop(limit: float | None) -> float | None:
    """Return after how many seconds the keeper reclaims a task that its worker should stop after `limit`."""
    return None if limit is None else limit + BACKSTOP_MARGIN


@dataclass(frozen=True, slots=True)
class Backoff:
    """The delay of a retry: `base` seconds, doubled after each attempt, at most `cap`, with full jitter."""

    base: float = 10.0
    cap: float = 300.0

    def ceiling(self, attempt: int) -> float:
        """Return the longest delay after an attempt; the first is 1."""
        doublings = min(max(attempt, 1) - 1, 62)
        return min(self.cap, self.base * 2.0**doublings)

    def delay(self, attempt: int, dice: float) -> float:
        """Return the delay after an attempt; `dice` in [0, 1) spreads tasks that failed together."""
        return self.ceiling(attempt) * dice


def priority_number(priority: int | str) -> int:
    """Return the number of a priority: 0 to 10, or low, normal, high, critical."""
    number = PRIORITIES.get(priority) if isinstance(priority, str) else priority
    if not isinstance(number, int) or isinstance(number, bool) or not LOWEST_PRIORITY <= number <= HIGHEST_PRIORITY:
        raise InvalidRequest(
            "priority",
            f"invalid value {priority!r}",
            hint="expected 0 to 10 (10 is the most urgent), or low, normal, high, critical",
        )
    return number
