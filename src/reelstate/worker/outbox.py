"""The outbox: what runs came to, on its way to the store. While one batch is on its way the next one grows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from reelstate.connections.timeouts import LogThrottle
from reelstate.core.errors import CorruptState, GuardRefused, InvalidRequest, ReelstateError, StoreError
from reelstate.core.model import Completion, Failure, Verdict
from reelstate.core.outcome import Ended
from reelstate.worker.link import Link

logger = logging.getLogger("reelstate.worker")

MOST = 500
PAUSE = 1.0
Delivered = Callable[[Ended, Verdict], None]
E = TypeVar("E", Completion, Failure)


class Outbox:
    """Nothing put in here is given up: while the store is away it waits, and the leases with it."""

    def __init__(self, link: Link, before: Callable[[list[Ended]], Awaitable[None]], delivered: Delivered) -> None:
        self._link = link
        self._before = before
        self._delivered = delivered
        self._waiting: list[Ended] = []
        self._filled = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._is_news = LogThrottle()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, ended: Ended) -> None:
        self._waiting.append(ended)
        self._empty.clear()
        self._filled.set()

    async def run(self) -> None:
        while True:
            await self._filled.wait()
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            await self._before(batch)
            await self._send([ended for ended in batch if isinstance(ended, Completion)], self._link.complete)
            await self._send([ended for ended in batch if isinstance(ended, Failure)], self._link.fail)
            if not self._waiting:
                self._filled.clear()
                self._empty.set()

    async def emptied(self) -> None:
        await self._empty.wait()

    async def _send(self, items: list[E], verb: Callable[[Sequence[E]], Awaitable[list[Verdict]]]) -> None:
        """Deliver a batch; one bad item must not hold up the others, so then each goes alone."""
        if not items:
            return
        while True:
            try:
                verdicts = await verb(items)
                break
            except (GuardRefused, CorruptState, InvalidRequest) as error:
                if len(items) == 1:
                    await self._refused(items[0], error)
                else:
                    for item in items:
                        await self._send([item], verb)
                return
            except StoreError as error:
                if self._is_news(str(error)):
                    logger.warning("%d results wait for the store: %s", len(items), error)
                await asyncio.sleep(PAUSE)
        for ended, verdict in zip(items, verdicts, strict=True):
            self._delivered(ended, verdict)

    async def _refused(self, item: Ended, error: ReelstateError) -> None:
        """What the store will never take is not tried for ever: a bad result fails; else the keeper decides later."""
        if isinstance(error, InvalidRequest):
            words = {"type": type(error).__name__, "message": f"what the handler returned can't be stored: {error}"}
            await self._send([Failure(key=item.key, token=item.token, error=words, retryable=False)], self._link.fail)
        else:
            logger.error("task %s: what it came to is refused by the store: %s", item.key, error)
            self._delivered(item, Verdict.LOST)
