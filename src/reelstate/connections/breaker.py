"""The circuit breaker: after a few failures in a row no call is made until a trial succeeds.

```text
 closed ── several failures in a row ──▶ open ◀── the trial failed: a longer delay ──┐
    ▲                                     └── the delay is over ──▶ half-open ───────┤
    └───────────────────────── the trial succeeded ───────────────────────────────────┘
```
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic

from reelstate.connections.backoff import retry_delays

FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.25, 5.0


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class CircuitHealth:
    """A breaker as health checks and metrics show it."""

    state: Circuit
    seconds: float
    """How long it has been in this state."""
    failures: int
    """In a row, up to now."""
    opened: int
    """How often it has opened."""
    last_error: str


class Breaker:
    """Opens after `threshold` failures in a row. `on_change` is called with each new state."""

    def __init__(self, threshold: int = 3, *, on_change: Callable[[Circuit], None] = lambda _: None) -> None:
        self.state = Circuit.CLOSED
        self.on_change = on_change
        self._threshold = threshold
        self._failures = 0
        self._opened = 0
        self._delays = retry_delays(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS)
        self._since = monotonic()
        self._last_error = ""

    @property
    def is_closed(self) -> bool:
        return self.state is Circuit.CLOSED

    def next_delay(self) -> float:
        """Return the seconds to wait before the next trial."""
        return next(self._delays)

    def record_failure(self, error: str) -> None:
        self._failures += 1
        self._last_error = error
        if self.state is Circuit.HALF_OPEN:
            self._move(Circuit.OPEN)
        elif self.is_closed and self._failures >= self._threshold:
            self._opened += 1
            self._move(Circuit.OPEN)

    def open_now(self, error: str) -> None:
        """Open after a single failure that is proof enough."""
        self._failures = max(self._failures, self._threshold - 1)
        self.record_failure(error)

    def record_success(self) -> None:
        """Close after a successful trial. While open, the success is that of a call made before, and is ignored."""
        if self.state is not Circuit.OPEN:
            self._failures = 0
            if self.state is Circuit.HALF_OPEN:
                self._delays = retry_delays(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS)
                self._move(Circuit.CLOSED)

    def begin_trial(self) -> None:
        """Move from open to half-open."""
        if self.state is Circuit.OPEN:
            self._move(Circuit.HALF_OPEN)

    def health(self) -> CircuitHealth:
        return CircuitHealth(self.state, monotonic() - self._since, self._failures, self._opened, self._last_error)

    def _move(self, state: Circuit) -> None:
        self.state, self._since = state, monotonic()
        self.on_change(state)
