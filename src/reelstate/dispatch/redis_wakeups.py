"""Wake-ups over Redis pub/sub on one channel. The subscription begins with the first listener and is renewed when lost.

Wake-ups sent in between are unknown, so a new subscription wakes every listener.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Collection

from redis.asyncio.client import PubSub

from reelstate.connections.backoff import retry_delays
from reelstate.connections.breaker import FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS
from reelstate.connections.redis import FAULTS, RedisClient, error_text
from reelstate.dispatch.dispatch import Wakeup
from reelstate.dispatch.wakeups import LocalWakeups
from reelstate.runtime.cancellation import cancel_and_wait

logger = logging.getLogger("reelstate.dispatch")

HINTS_LOST = "hints_lost"
PING_AFTER, DEAD_AFTER = 2.0, 6.0
"""Seconds without a message after which the connection is tested, and after which it counts as dead."""


class RedisWakeups:
    """Sends and receives the wake-ups of one process. `on_hints_lost` is called when another could not write hints."""

    def __init__(self, redis: RedisClient, local: LocalWakeups, on_hints_lost: Callable[[], None]) -> None:
        self.channel = f"{redis.settings.prefix}:wakeups"
        self._redis = redis
        self._local = local
        self._on_hints_lost = on_hints_lost
        self._sender = secrets.token_hex(4)
        self._receiving: asyncio.Task[None] | None = None

    def message(self, wakeups: Collection[Wakeup]) -> str:
        """Return the message to publish: the sender and the wake-ups."""
        return " ".join([self._sender, *sorted(wakeups)])

    async def report_lost_hints(self) -> None:
        """Tell other processes that hints can't be written: a full Redis still delivers messages."""
        with contextlib.suppress(*FAULTS):
            await self._redis.client.publish(self.channel, f"{self._sender} {HINTS_LOST}")

    def start(self) -> None:
        """Subscribe, unless that is done already."""
        if self._receiving is None:
            self._receiving = asyncio.get_running_loop().create_task(self._subscribe())

    async def close(self) -> None:
        if self._receiving is not None:
            await cancel_and_wait(self._receiving)

    async def _subscribe(self) -> None:
        delays, has_warned = retry_delays(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS), False
        while True:
            try:
                async with self._redis.client.pubsub() as pubsub:
                    await pubsub.subscribe(self.channel)
                    delays, has_warned = retry_delays(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS), False
                    self._local.notify(*Wakeup)
                    await self._receive(pubsub)
            except FAULTS as error:
                if not has_warned and self._redis.breaker.is_closed:  # else the client has logged it
                    logger.warning("no wake-ups, redis unreachable error=%s", error_text(error))
                    has_warned = True
                await asyncio.sleep(next(delays))

    async def _receive(self, pubsub: PubSub) -> None:
        received_at = time.monotonic()
        while True:
            message = await pubsub.get_message(timeout=PING_AFTER)
            if message is not None:
                received_at = time.monotonic()
                if message["type"] == "message":
                    self._on_message(str(message["data"]))
            elif time.monotonic() > received_at + DEAD_AFTER:
                raise TimeoutError("the connection is dead")
            else:
                await pubsub.ping()

    def _on_message(self, message: str) -> None:
        sender, *sent = message.split()
        if sender != self._sender:
            if HINTS_LOST in sent:
                self._on_hints_lost()
            self._local.notify(*(wakeup for wakeup in Wakeup if wakeup in sent))
