"""Time from the first handler start to the last row finished, for workers that run handlers."""

import time
from dataclasses import dataclass


@dataclass
class Stopwatch:
    """Counts handler calls; the first one starts the clock."""

    expected: int
    handled: int = 0
    started: float = 0.0

    def handle(self) -> bool:
        """Count one handler call; true at the last one expected."""
        if self.handled == 0:
            self.started = time.perf_counter()
        self.handled += 1
        return self.handled == self.expected

    def rate(self) -> float:
        """Return the jobs per second so far; refuse a drain that missed or repeated a job."""
        elapsed = time.perf_counter() - self.started
        if self.handled != self.expected:
            message = f"handled {self.handled} jobs, expected {self.expected}"
            raise RuntimeError(message)
        return self.expected / elapsed


def batches(count: int, size: int) -> list[range]:
    """The numbers 0 to count - 1 in runs of at most `size`."""
    return [range(first, min(first + size, count)) for first in range(0, count, size)]
