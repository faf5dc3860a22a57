"""How many tasks to hold beyond those that run: enough to hide the way to the store, and a moment's work at most.

Only tasks of stages that have proved short are fetched ahead, a few at first and twice as many each time that goes
well; a task that might be long waits in the store, where any worker can have it.
"""

from __future__ import annotations

from collections.abc import Collection

SHORT = 0.2
"""Seconds; tasks of a stage that take longer on average are not fetched ahead."""
AHEAD = 0.25
"""Seconds of work that may wait here while another worker could have it."""
SMOOTHING = 0.05
FIRST = 10

Stage = tuple[str, str]
"""A stage by the names of its pipeline and its own."""


class Pace:
    def __init__(self, concurrency: int, most: int) -> None:
        self._concurrency = concurrency
        self._most = most
        self._averages: dict[Stage, float] = {}
        self._window = 0
        self._slowest = SHORT

    def ran(self, stage: Stage, seconds: float) -> None:
        """Take a run into the average of its stage."""
        average = self._averages.get(stage, seconds)
        self._averages[stage] = average + SMOOTHING * (seconds - average)

    def short(self, stage: Stage) -> bool:
        return self._averages.get(stage, SHORT) < SHORT

    def claimed(self, stages: Collection[Stage]) -> None:
        """What the last claim gave says what the next may fetch ahead."""
        if not stages:
            return
        if all(map(self.short, stages)):
            self._window = min(self._most, max(FIRST, 2 * self._window))
            self._slowest = max(self._averages[stage] for stage in stages)
        else:
            self._window = 0

    @property
    def ahead(self) -> int:
        """Tasks to hold ready beyond those that run."""
        return min(self._window, int(self._concurrency * AHEAD / max(self._slowest, 1e-6)))
