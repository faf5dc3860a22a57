"""Hints in three streams per lane: high, normal and low priority.

Workers are one consumer group. Each hint is delivered at least once; another consumer takes over what is not claimed in
time. Within a priority level the order is first in, first out.
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

    def __init__(self, redis: RedisClient) -> None:
        super().__init__(redis)
        self._consumer = f"{os.getpid()}-{secrets.token_hex(4)}"

    async def take(self, lanes: Sequence[int], limit: int) -> TakenHints:
        return await super().take(random.sample(lanes, len(lanes)), limit)  # so that no lane waits behind another

    async def contents(self) -> Contents:
        streams = [(number, level) for number in sorted(await self.lanes()) for level in LEVELS]

        async def call(client: Client) -> list[Any]:
            async with client.pipeline() as pipe:
                pipe.hkeys(self._positions)
                for number, level in streams:
                    pipe.xrange(f"{self._prefix}{number}:{level}")
                return await pipe.execute()

        positioned, *found = await self._redis.run(call)
        hints = [
            Hint(key_of(fields["task"]), number, f"{number}:{level} {entry}")
            for (number, level), entries in zip(streams, found, strict=True)
            for entry, fields in entries
        ]
        return Contents(hints, set(map(key_of, positioned)))

    def position(self, task: ReadyTask) -> str:
        return f"{task.number}:{level(task.priority)} "

    async def _sort(self, hints: list[Hint]) -> list[Hint]:
        return sorted(hints, key=_delivery_order)

    def _lane_keys(self, lane: int) -> list[str]:
        return [f"{self._prefix}{lane}:{level}" for level in LEVELS]

    def _extra_arguments(self) -> list[str]:
        return [self._consumer]


def _delivery_order(hint: Hint) -> tuple[int, list[int]]:
    stream, _, number = hint.ticket.partition(" ")
    return LEVELS.index(stream.partition(":")[2]), [int(each) for each in number.split("-")]
