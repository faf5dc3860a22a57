"""How often somebody may ask: a bucket of tokens for each, filled at a steady rate."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Final

MAX_BUCKETS: Final = 10_000
"""Those that were not asked for the longest time are forgotten first, which leaves them full."""
BURST: Final = 2.0
"""Seconds' worth of requests that may come at once."""


class Buckets:
    """One bucket a name. A full one is the same as none."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._size = max(1.0, rate * BURST)
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, tokens: float = 1.0) -> float:
        """Take tokens out: 0 when they were there, else the seconds until they will be."""
        now = time.monotonic()
        level, at = self._levels.pop(name, (self._size, now))
        level = min(self._size, level + (now - at) * self._rate)
        wait = max(0.0, (tokens - level) / self._rate)
        self._levels[name] = (level if wait else level - tokens, now)
        if len(self._levels) > MAX_BUCKETS:
            self._levels.popitem(last=False)
        return wait

    def spill(self, name: str, tokens: float) -> None:
        """Take tokens that may not be there: a fine, paid by waiting."""
        now = time.monotonic()
        level, at = self._levels.pop(name, (self._size, now))
        level = min(self._size, level + (now - at) * self._rate)
        self._levels[name] = (max(0.0, level - tokens), now)
