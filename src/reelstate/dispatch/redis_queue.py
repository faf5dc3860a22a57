"""Hints in sorted sets, one a lane: exactly the order in which the store would give the tasks out."""

from __future__ import annotations

from typing import Any

from reelstate.connections.redis import Client
from reelstate.dispatch.hint_queue import Contents, HintQueue, key_of, member, score
from reelstate.dispatch.hints import Hint, ReadyTask

NO_PLACE = "none"
"""The ticket of a hint whose place is not known any more."""


class SortedQueue(HintQueue):
    kind = "queue"

    async def contents(self) -> Contents:
        numbers = sorted(await self.lanes())

        async def call(client: Client) -> list[Any]:
            async with client.pipeline() as pipe:
                pipe.hgetall(self._places)
                pipe.zrange(self._handed, 0, -1)
                for number in numbers:
                    pipe.zrange(f"{self._prefix}{number}", 0, -1)
                return await pipe.execute()

        places, handed, *lanes = await self._link.do(call)
        hints = [Hint(key_of(each), 0, places.get(each, NO_PLACE)) for each in handed]
        for number, members in zip(numbers, lanes, strict=True):
            hints += [Hint(key_of(each), number, places.get(each, NO_PLACE)) for each in members]
        return Contents(hints, set(map(key_of, places)))

    def place(self, waiting: ReadyTask) -> str:
        return f"{waiting.number} {score(waiting)} "

    async def _in_order(self, hints: list[Hint]) -> list[Hint]:
        lanes = sorted({hint.lane for hint in hints})

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                for lane in lanes:
                    pipe.zrange(f"{self._prefix}{lane}", 0, -1, withscores=True)
                return await pipe.execute()

        pages = await self._link.do(call) if lanes else []
        scores = {(lane, text): each for lane, page in zip(lanes, pages, strict=True) for text, each in page}
        return sorted(hints, key=lambda hint: (scores.get((hint.lane, member(hint.key)), 0.0), hint.key))

    def _keys_of(self, lane: int) -> list[str]:
        return [f"{self._prefix}{lane}"]
