"""How long a call retries while its database or server is unreachable, and how often that is logged."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from reelstate.connections.backoff import retry_delays

logger = logging.getLogger("reelstate.store")

FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.05, 2.0
REPEAT_SECONDS = 10.0
"""Between two log lines with the same text."""


class LogThrottle:
    """Tells whether a text should be logged: the same text only once in `seconds`."""

    def __init__(self, seconds: float = REPEAT_SECONDS) -> None:
        self._seconds = seconds
        self._logged_at: dict[str, float] = {}

    def __call__(self, text: str) -> bool:
        """Return whether to log this text now."""
        now = time.monotonic()
        if now < self._logged_at.get(text, -self._seconds) + self._seconds:
            return False
        self._logged_at = {known: at for known, at in self._logged_at.items() if now < at + self._seconds}
        self._logged_at[text] = now
        return True


@dataclass(slots=True)
class _Limit:
    seconds: float
    active: bool = True


_limit: ContextVar[_Limit | None] = ContextVar("timeout", default=None)


@contextmanager
def timeout_of(seconds: float) -> Iterator[None]:
    """Limit how long calls in this block retry while the database is unreachable.

    A task that is started in the block and outlives it gets the timeout of the store again.
    """
    limit = _Limit(seconds)
    before = _limit.set(limit)
    try:
        yield
    finally:
        limit.active = False
        _limit.reset(before)


def timeout_left(seconds: float) -> float:
    """Return the timeout of a store, or the caller's limit where that is shorter."""
    limit = _limit.get()
    return seconds if limit is None or not limit.active else min(seconds, limit.seconds)


class RetryTimer:
    """Delays the retries of one call until its timeout is over, or its task is cancelled."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._cancellations = _cancellations()
        self._delays = retry_delays(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS)
        self._should_log = LogThrottle()

    async def wait(self, cause: BaseException, event: str) -> bool:
        """Log `event` and its cause, wait for the next delay and return True; return False once the time is over.

        Raises `CancelledError` if the task was cancelled since the call began: psycopg reports a statement that is
        cancelled on a broken connection as the failure of that connection.
        """
        if _cancellations() > self._cancellations:
            raise asyncio.CancelledError
        left = self._end - time.monotonic()
        if left <= 0:
            return False
        if self._should_log(event):
            error = " ".join(str(cause).split()) or type(cause).__name__
            logger.warning("%s error=%s retry_seconds=%.0f", event, error, left)
        await asyncio.sleep(min(left, next(self._delays)))
        return True


def _cancellations() -> int:
    """Return how many requests to cancel the current task are pending."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
