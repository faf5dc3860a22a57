"""Rate limits: one token bucket per name."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Final

MAX_BUCKETS: Final = 10_000
"""The least recently used buckets are dropped first, which refills them."""
BURST: Final = 2.0
"""The size of a bucket, in seconds of its rate."""


class Buckets:
    """Token buckets by name. A missing bucket is full."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._size = max(1.0, rate * BURST)
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, tokens: float = 1.0) -> float:
        """Take tokens and return 0, or return the seconds until there are enough."""
        level, now = self._refill(name)
        wait = max(0.0, (tokens - level) / self._rate)
        self._levels[name] = (level if wait else level - tokens, now)
        if len(self._levels) > MAX_BUCKETS:
            self._levels.popitem(last=False)
        return wait

    def spill(self, name: str, tokens: float) -> None:
        """Take tokens as a penalty, down to an empty bucket."""
        level, now = self._refill(name)
        self._levels[name] = (max(0.0, level - tokens), now)

    def _refill(self, name: str) -> tuple[float, float]:
        """Remove a bucket, and return its level now and the time."""
        now = time.monotonic()
        level, at = self._levels.pop(name, (self._size, now))
        return min(self._size, level + (now - at) * self._rate), now
