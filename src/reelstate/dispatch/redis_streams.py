"""Hints in Streams, three a lane: high, normal and low. Workers are one consumer group; each hint is delivered at least
once, and what a consumer did not claim in time is taken over by the next. Within a level, what came first goes first.
"""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Sequence
from typing import Any

from reelstate.connections.redis import Client, RedisClient
from reelstate.dispatch.hint_queue import Contents, HintQueue, TakenHints, key_of, level
from reelstate.dispatch.hints import Hint, ReadyTask

LEVELS = ("high", "normal", "low")


class StreamsQueue(HintQueue):
    kind = "streams"

    def __init__(self, link: RedisClient) -> None:
        super().__init__(link)
        self._consumer = f"{os.getpid()}-{secrets.token_hex(4)}"

    async def take(self, lanes: Sequence[int], count: int) -> TakenHints:
        return await super().take(random.sample(lanes, len(lanes)), count)  # so that no lane waits behind another

    async def contents(self) -> Contents:
        streams = [(number, level) for number in sorted(await self.lanes()) for level in LEVELS]

        async def call(client: Client) -> list[Any]:
            async with client.pipeline() as pipe:
                pipe.hkeys(self._places)
                for number, level in streams:
                    pipe.xrange(f"{self._prefix}{number}:{level}")
                return await pipe.execute()

        placed, *found = await self._link.do(call)
        hints = [
            Hint(key_of(fields["task"]), number, f"{number}:{level} {entry}")
            for (number, level), entries in zip(streams, found, strict=True)
            for entry, fields in entries
        ]
        return Contents(hints, set(map(key_of, placed)))

    def place(self, waiting: ReadyTask) -> str:
        return f"{waiting.number}:{level(waiting.priority)} "

    async def _in_order(self, hints: list[Hint]) -> list[Hint]:
        return sorted(hints, key=_delivery)

    def _keys_of(self, lane: int) -> list[str]:
        return [f"{self._prefix}{lane}:{level}" for level in LEVELS]

    def _more(self) -> list[str]:
        return [self._consumer]


def _delivery(hint: Hint) -> tuple[int, list[int]]:
    stream, _, number = hint.ticket.partition(" ")
    return LEVELS.index(stream.partition(":")[2]), [int(each) for each in number.split("-")]
