"""How many tasks to hold beyond those that run: enough to hide the way to the store, and a moment's work at most."""

from __future__ import annotations

SHORT = 0.2
"""Tasks that take longer on average are not fetched ahead."""
AHEAD = 0.25
"""Seconds of work that may wait here while another worker could have it."""
SMOOTHING = 0.05


class Pace:
    def __init__(self, concurrency: int, most: int) -> None:
        self._concurrency = concurrency
        self._most = most
        self._average: float | None = None

    def ran(self, seconds: float) -> None:
        """Take a run into the average."""
        if self._average is None:
            self._average = seconds
        else:
            self._average += SMOOTHING * (seconds - self._average)

    @property
    def ahead(self) -> int:
        """Tasks worth holding ready, by how long they have taken so far."""
        if self._average is None or self._average > SHORT:
            return 0
        return min(self._most, int(self._concurrency * AHEAD / max(self._average, 1e-6)))
