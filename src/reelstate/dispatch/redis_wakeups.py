"""Bells over Redis's pub/sub: one channel, subscribed to as soon as somebody listens, and again whenever it was lost.

What was rung meanwhile is unknown, so a new subscription rings all bells.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Collection

from redis.asyncio.client import PubSub

from reelstate.connections.breaker import pauses
from reelstate.connections.redis import FAULTS, RedisClient, words_of
from reelstate.dispatch.dispatch import Wakeup
from reelstate.dispatch.wakeups import LocalWakeups
from reelstate.runtime.cancellation import cancel_and_wait

logger = logging.getLogger("reelstate.dispatch")

AWAY = "away"
ASK_AFTER, DEAF_AFTER = 2.0, 6.0
"""Seconds of silence after which the line is tried, and after which it counts as dead."""


class RedisWakeups:
    def __init__(self, link: RedisClient, doorbell: LocalWakeups, on_away: Callable[[], None]) -> None:
        self.channel = f"{link.terms.prefix}:wakeups"
        self._link = link
        self._doorbell = doorbell
        self._on_away = on_away
        self._name = secrets.token_hex(4)
        self._listening: asyncio.Task[None] | None = None

    def words(self, bells: Collection[Wakeup]) -> str:
        """What is published: who rings, and which bells."""
        return " ".join([self._name, *sorted(bells)])

    async def warn(self) -> None:
        """Tell the others that hints can't be written: a Redis that is full still carries messages."""
        with contextlib.suppress(*FAULTS):
            await self._link.client.publish(self.channel, f"{self._name} {AWAY}")

    def begin(self) -> None:
        """Listen, unless that is done already."""
        if self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def close(self) -> None:
        if self._listening is not None:
            await cancel_and_wait(self._listening)

    async def _listen(self) -> None:
        rests, told = pauses(), False
        while True:
            try:
                async with self._link.client.pubsub() as pubsub:
                    await pubsub.subscribe(self.channel)
                    rests, told = pauses(), False
                    self._doorbell.notify(*Wakeup)
                    await self._hear(pubsub)
            except FAULTS as error:
                if not told and self._link.breaker.closed:  # else the link has told of it
                    logger.warning("no wake-ups while Redis is away: %s", words_of(error))
                    told = True
                await asyncio.sleep(next(rests))

    async def _hear(self, pubsub: PubSub) -> None:
        heard = time.monotonic()
        while True:
            message = await pubsub.get_message(timeout=ASK_AFTER)
            if message is not None:
                heard = time.monotonic()
                if message["type"] == "message":
                    self._ring(str(message["data"]))
            elif time.monotonic() > heard + DEAF_AFTER:
                raise TimeoutError("the line is dead")
            else:
                await pubsub.ping()

    def _ring(self, words: str) -> None:
        name, *rung = words.split()
        if name != self._name:
            if AWAY in rung:
                self._on_away()
            self._doorbell.notify(*(bell for bell in Wakeup if bell in rung))
