"""Hints in one sorted set per lane, in exactly the order in which the store hands out tasks."""

from __future__ import annotations

from typing import Any

from reelstate.connections.redis import Client
from reelstate.dispatch.hint_queue import Contents, HintQueue, key_of, member, score
from reelstate.dispatch.hints import Hint, ReadyTask

NO_POSITION = "none"
"""The ticket of a hint whose position is unknown."""


class SortedQueue(HintQueue):
    kind = "queue"

    async def contents(self) -> Contents:
        numbers = sorted(await self.lanes())

        async def call(client: Client) -> list[Any]:
            async with client.pipeline() as pipe:
                pipe.hgetall(self._positions)
                pipe.zrange(self._taken, 0, -1)
                for number in numbers:
                    pipe.zrange(f"{self._prefix}{number}", 0, -1)
                return await pipe.execute()

        positions, taken, *lanes = await self._redis.run(call)
        hints = [Hint(key_of(each), 0, positions.get(each, NO_POSITION)) for each in taken]
        for number, members in zip(numbers, lanes, strict=True):
            hints += [Hint(key_of(each), number, positions.get(each, NO_POSITION)) for each in members]
        return Contents(hints, set(map(key_of, positions)))

    def position(self, task: ReadyTask) -> str:
        return f"{task.number} {score(task)} "

    async def _sort(self, hints: list[Hint]) -> list[Hint]:
        lanes = sorted({hint.lane for hint in hints})

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                for lane in lanes:
                    pipe.zrange(f"{self._prefix}{lane}", 0, -1, withscores=True)
                return await pipe.execute()

        pages = await self._redis.run(call) if lanes else []
        scores = {(lane, text): each for lane, page in zip(lanes, pages, strict=True) for text, each in page}
        return sorted(hints, key=lambda hint: (scores.get((hint.lane, member(hint.key)), 0.0), hint.key))

    def _lane_keys(self, lane: int) -> list[str]:
        return [f"{self._prefix}{lane}"]
