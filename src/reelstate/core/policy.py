"""Arithmetic of retries and priorities. The dice are always an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from reelstate.core.errors import InvalidRequest

PriorityName: TypeAlias = Literal["low", "normal", "high", "critical"]
PRIORITIES: dict[str, int] = {"low": 2, "normal": 5, "high": 8, "critical": 10}
LOWEST_PRIORITY, HIGHEST_PRIORITY = 0, 10
BACKSTOP_MARGIN = 15.0
"""Seconds by which the store's limit of a run exceeds its stage's: the worker ends the run and reports that first."""


def backstop(limit: float | None) -> float | None:
    """When the keeper takes a task back whose worker should have ended it after `limit` seconds."""
    return None if limit is None else limit + BACKSTOP_MARGIN


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
