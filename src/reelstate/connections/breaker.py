"""The circuit breaker: after a few failures in a row nobody asks any more, until a trial has gone well.

```text
 closed ── so many failures in a row ──▶ open ◀── the trial failed: a longer pause ──┐
    ▲                                     └── its pause is over ──▶ half-open ───────┤
    └───────────────────────── the trial went well ───────────────────────────────────┘
```
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic

FIRST_DELAY, MAX_DELAY = 0.25, 5.0


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class CircuitHealth:
    """A breaker as health checks and metrics show it."""

    state: Circuit
    seconds: float
    """How long it has been so."""
    failures: int
    """In a row, up to now."""
    opened: int
    """How often it has opened."""
    last_error: str


class Breaker:
    def __init__(self, threshold: int = 3, *, on_change: Callable[[Circuit], None] = lambda _: None) -> None:
        self.state = Circuit.CLOSED
        self.on_change = on_change
        self._threshold = threshold
        self._failures = 0
        self._trials = 0
        self._opened = 0
        self._since = monotonic()
        self._last_error = ""

    @property
    def closed(self) -> bool:
        return self.state is Circuit.CLOSED

    @property
    def pause(self) -> float:
        """Seconds before the next trial: twice as many each time, with jitter so that a fleet does not march."""
        return _pause(self._trials)

    def failed(self, words: str) -> None:
        self._failures += 1
        self._last_error = words
        if self.state is Circuit.HALF_OPEN:
            self._trials += 1
            self._move(Circuit.OPEN)
        elif self.closed and self._failures >= self._threshold:
            self._opened += 1
            self._move(Circuit.OPEN)

    def fail_at_once(self, words: str) -> None:
        """Open after a failure that says enough by itself."""
        self._failures = max(self._failures, self._threshold - 1)
        self.failed(words)

    def succeeded(self) -> None:
        """Something went well; what was asked before the circuit opened says nothing of now."""
        if self.state is not Circuit.OPEN:
            self._failures = self._trials = 0
            if self.state is Circuit.HALF_OPEN:
                self._move(Circuit.CLOSED)

    def trial(self) -> None:
        """The pause is over: one may try."""
        if self.state is Circuit.OPEN:
            self._move(Circuit.HALF_OPEN)

    def health(self) -> CircuitHealth:
        return CircuitHealth(self.state, monotonic() - self._since, self._failures, self._opened, self._last_error)

    def _move(self, state: Circuit) -> None:
        self.state, self._since = state, monotonic()
        self.on_change(state)


def pauses() -> Iterator[float]:
    """The pauses between tries of one who has no breaker."""
    return map(_pause, itertools.count())


def _pause(number: int) -> float:
    longest = FIRST_DELAY * 2.0 ** min(number, 10)
    return min(MAX_DELAY, longest) * random.uniform(0.5, 1.0)
