"""How long a store keeps trying while its database is away, and how it says so."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

logger = logging.getLogger("reelstate.store")

FIRST_DELAY, MAX_DELAY = 0.05, 2.0
REPEAT_INTERVAL = 10.0
"""Seconds between two lines of the log that say the same."""


class LogThrottle:
    """What has not been said for a while: a log that repeats itself every second hides the rest."""

    def __init__(self, seconds: float = REPEAT_INTERVAL) -> None:
        self._seconds = seconds
        self._told_at: dict[str, float] = {}

    def __call__(self, words: str) -> bool:
        """Whether it is time to say so (again)."""
        now = time.monotonic()
        if now < self._told_at.get(words, -self._seconds) + self._seconds:
            return False
        self._told_at = {said: at for said, at in self._told_at.items() if now < at + self._seconds} | {words: now}
        return True


@dataclass(slots=True)
class _Limit:
    seconds: float
    active: bool = True


_limit: ContextVar[_Limit | None] = ContextVar("patience", default=None)


@contextmanager
def timeout_of(seconds: float) -> Iterator[None]:
    """Calls in this block wait no longer than this for a database that is away.

    A task that is started in the block and outlives it has its usual patience again.
    """
    limit = _Limit(seconds)
    before = _limit.set(limit)
    try:
        yield
    finally:
        limit.active = False
        _limit.reset(before)


def timeout_left(seconds: float) -> float:
    """The usual patience of a store, or less where the caller has less."""
    limit = _limit.get()
    return seconds if limit is None or not limit.active else min(seconds, limit.seconds)


class RetryTimer:
    """Counts the pauses of one call: they double up to a limit, with jitter, until the patience is used up."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._pause = FIRST_DELAY
        self._is_news = LogThrottle()

    async def wait(self, cause: BaseException, doing: str) -> bool:
        """Log, pause and give True; give False at once when there is no patience left."""
        left = self._end - time.monotonic()
        if left <= 0:
            return False
        pause = min(left, self._pause * random.uniform(0.5, 1.0))
        if self._is_news(doing):
            words = " ".join(str(cause).split()) or type(cause).__name__
            end = "as long as it takes" if math.isinf(left) else f"for {left:.0f} s more"
            logger.warning("%s: %s; trying again %s", doing, words, end)
        await asyncio.sleep(pause)
        self._pause = min(MAX_DELAY, self._pause * 2)
        return True
