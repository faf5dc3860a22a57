"""Decide how many tasks to hold beyond those that run: enough to hide the latency of a claim, and little more.

Only tasks of stages that have proved short are prefetched: `FIRST_WINDOW` at first, twice as many after each claim of
short tasks. Tasks that may be long stay in the store, where every worker can claim them.
"""

from __future__ import annotations

from collections.abc import Collection

SHORT_SECONDS = 0.2
"""Tasks of a stage that take longer on average are not prefetched."""
PREFETCH_SECONDS = 0.25
"""Seconds of work that may wait in this worker while another one could run it."""
SMOOTHING = 0.05
FIRST_WINDOW = 10

Stage = tuple[str, str]
"""The names of a pipeline and of one of its stages."""


class Pace:
    """Averages the durations of runs by stage and derives the number of tasks to prefetch."""

    def __init__(self, concurrency: int, max_prefetch: int) -> None:
        self._concurrency = concurrency
        self._max_prefetch = max_prefetch
        self._averages: dict[Stage, float] = {}
        self._window = 0
        self._slowest = SHORT_SECONDS

    def record_run(self, stage: Stage, seconds: float) -> None:
        """Add the duration of a run to the average of its stage."""
        average = self._averages.get(stage, seconds)
        self._averages[stage] = average + SMOOTHING * (seconds - average)

    def is_short(self, stage: Stage) -> bool:
        """Return whether runs of a stage are known to be short."""
        return self._averages.get(stage, SHORT_SECONDS) < SHORT_SECONDS

    def record_claim(self, stages: Collection[Stage]) -> None:
        """Grow the window after a claim of short tasks only; close it after a claim with any other task."""
        if not stages:
            return
        if all(map(self.is_short, stages)):
            self._window = min(self._max_prefetch, max(FIRST_WINDOW, 2 * self._window))
            self._slowest = max(self._averages[stage] for stage in stages)
        else:
            self._window = 0

    @property
    def prefetch(self) -> int:
        """Tasks to hold beyond those that run."""
        return min(self._window, int(self._concurrency * PREFETCH_SECONDS / max(self._slowest, 1e-6)))
