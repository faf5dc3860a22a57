"""Cancel background tasks and wait until they have ended, even if a library swallows the cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

CANCEL_AGAIN_AFTER = 0.5
"""Seconds after which a task that was cancelled and still runs is cancelled again."""


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks and return when all have ended. Exceptions that they raise are ignored.

    A client library that fails while it cleans up replaces the cancellation by its own error. A loop that handles such
    errors then continues, so the cancellation is repeated until the task has ended.
    """
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN_AFTER)
    await asyncio.gather(*tasks, return_exceptions=True)
