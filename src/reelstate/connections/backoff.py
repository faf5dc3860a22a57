"""The delays between retries of everything that reconnects: stores, wake-ups and Redis."""

from __future__ import annotations

import random
from collections.abc import Iterator


def retry_delays(first_seconds: float, max_seconds: float) -> Iterator[float]:
    """Yield the seconds to wait before each retry: doubled each time up to a limit.

    Jitter takes off up to half of each delay, so that many clients do not retry in step.
    """
    seconds = first_seconds
    while True:
        yield seconds * random.uniform(0.5, 1.0)
        seconds = min(max_seconds, seconds * 2)
