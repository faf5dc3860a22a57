"""The outbox: outcomes of runs on their way to the store. While one batch is being sent the next one collects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from reelstate.connections.timeouts import LogThrottle
from reelstate.core.errors import CorruptState, GuardRefused, InvalidRequest, ReelstateError, StoreError
from reelstate.core.model import Completion, Failure, Verdict
from reelstate.core.outcome import RunOutcome
from reelstate.worker.leases import lease_fields
from reelstate.worker.link import Link

logger = logging.getLogger("reelstate.worker")

MAX_BATCH = 500
OutcomeT = TypeVar("OutcomeT", Completion, Failure)


class Outbox:
    """Delivers every outcome: while the store is unreachable they wait here, and their leases are renewed."""

    def __init__(
        self,
        link: Link,
        before_send: Callable[[list[RunOutcome]], Awaitable[None]],
        on_delivered: Callable[[RunOutcome, Verdict], None],
        *,
        retry_delay: float = 1.0,
    ) -> None:
        self._link = link
        self._before_send = before_send
        self._on_delivered = on_delivered
        self._retry_delay = retry_delay
        self._waiting: list[RunOutcome] = []
        self._filled = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._should_log = LogThrottle()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, outcome: RunOutcome) -> None:
        self._waiting.append(outcome)
        self._empty.clear()
        self._filled.set()

    async def run(self) -> None:
        """Deliver outcomes until cancelled."""
        while True:
            await self._filled.wait()
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            await self._before_send(batch)
            await self._send([outcome for outcome in batch if isinstance(outcome, Completion)], self._link.complete)
            await self._send([outcome for outcome in batch if isinstance(outcome, Failure)], self._link.fail)
            if not self._waiting:
                self._filled.clear()
                self._empty.set()

    async def wait_empty(self) -> None:
        await self._empty.wait()

    async def _send(
        self, items: list[OutcomeT], verb: Callable[[Sequence[OutcomeT]], Awaitable[list[Verdict]]]
    ) -> None:
        """Deliver a batch; if the store refuses it, deliver each item alone, so that one bad item holds up no other."""
        if not items:
            return
        while True:
            try:
                verdicts = await verb(items)
                break
            except (GuardRefused, CorruptState, InvalidRequest) as error:
                if len(items) == 1:
                    await self._on_refused(items[0], error)
                else:
                    for item in items:
                        await self._send([item], verb)
                return
            except StoreError as error:
                if self._should_log(str(error)):
                    logger.warning("results not delivered count=%d error=%s", len(items), error)
                await asyncio.sleep(self._retry_delay)
        for outcome, verdict in zip(items, verdicts, strict=True):
            self._on_delivered(outcome, verdict)

    async def _on_refused(self, item: RunOutcome, error: ReelstateError) -> None:
        """Fail a task whose result is invalid; drop any other that the store refuses, for the keeper to reclaim."""
        if isinstance(error, InvalidRequest):
            described = {"type": type(error).__name__, "message": f"the handler's result can't be stored: {error}"}
            failure = Failure(key=item.key, token=item.token, error=described, retryable=False)
            await self._send([failure], self._link.fail)
        else:
            logger.error("result refused by the store %s error=%s", lease_fields((item.key, item.token)), error)
            self._on_delivered(item, Verdict.LOST)
