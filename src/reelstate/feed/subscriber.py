"""One subscriber: what it is told, and the bounded buffer in which that waits for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic

from reelstate.feed.log import Entry, Item, Order

BUFFER: Final = 1_000
"""Items that wait for a subscriber before it counts as too slow."""

Wanted = Callable[[Item], bool]


class MessageKind(StrEnum):
    ITEM = "item"
    PROGRESS = "progress"
    """A value as it is now. It has no cursor: those in between were left out, and it is not replayed."""
    REPLAY_COMPLETE = "replay_complete"
    """Everything that was there before has been given; always said, once."""
    BOOKMARK = "bookmark"
    """Nothing was missed up to this cursor, though little or nothing of it was for this subscriber."""
    STALE = "stale"
    """The store is away: what is shown may be old."""
    FRESH = "fresh"
    """It is back, and what was missed follows."""
    RESET = "reset"
    """What followed the cursor is not kept any more, or the database is another: look anew at what is shown."""
    OVERFLOW = "overflow"
    """This subscriber was too slow. It ends here; `cursor` is where to go on."""


SETTLED: Final = frozenset({MessageKind.REPLAY_COMPLETE, MessageKind.BOOKMARK, MessageKind.RESET})
"""After these, everything up to the cursor has been given."""


@dataclass(frozen=True, slots=True)
class FeedMessage(Generic[Item]):
    kind: MessageKind
    cursor: str
    """Go on after it, and nothing is missed; empty for progress."""
    item: Item | None = None
    replay: bool = False


@dataclass(frozen=True, slots=True)
class SubscriptionOptions(Generic[Item]):
    """What somebody subscribes to."""

    topic: Hashable | None = None
    """None: everything."""
    wanted: Wanted[Item] = lambda _: True
    values: bool = False
    """Whether to give values, too."""
    settle: bool = False
    """Whether to set a bookmark whenever everything that can be read by now was given."""


class Subscriber(Generic[Item]):
    """Filled by the reader of a feed and emptied by an iterator. Values wait apart, only the newest of each."""

    def __init__(self, terms: SubscriptionOptions[Item], cursor: str, order: Order, most: int = BUFFER) -> None:
        self.terms = terms
        self.cursor = cursor
        self._told = cursor
        self._order = order
        self._most = most
        self._waiting: deque[FeedMessage[Item]] = deque()
        self._values: dict[Hashable, Item] = {}
        self._filled = asyncio.Event()
        self._unsettled = False
        self._ended = False

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def put(self, entry: Entry[Item], order: Order) -> bool:
        """Take an entry if it is of this subscriber's scope and new to it; false when there is no room for it."""
        if order <= self._order:
            return True
        if self.terms.wanted(entry.item):
            if len(self._waiting) >= self._most:
                return False
            self._say(FeedMessage(MessageKind.ITEM, entry.cursor, entry.item))
            self._unsettled = True
        self.cursor, self._order = entry.cursor, order
        return True

    def show(self, key: Hashable, value: Item) -> None:
        if self.terms.wanted(value):
            self._values[key] = value
            self._filled.set()

    def forget(self, key: Hashable) -> None:
        """A value that waits is worth nothing any more."""
        self._values.pop(key, None)

    def reach(self, cursor: str, order: Order) -> None:
        """Everything up to a cursor has been put."""
        if order > self._order:
            self.cursor, self._order = cursor, order

    def is_before(self, order: Order) -> bool:
        return self._order < order

    def end(self) -> None:
        """End the subscription after what waits; whoever waits in `next` is woken."""
        self._ended = True
        self._filled.set()

    def reset(self, cursor: str, order: Order) -> None:
        """Go on from another place, and say so."""
        self.cursor, self._order = cursor, order
        self._values.clear()
        self.tell(MessageKind.RESET)

    def settle(self) -> None:
        if self._unsettled and self.terms.settle:
            self.tell(MessageKind.BOOKMARK)
        self._unsettled = False

    def bookmark(self) -> None:
        if self._told != self.cursor:
            self.tell(MessageKind.BOOKMARK)

    def tell(self, kind: MessageKind) -> None:
        self._say(FeedMessage(kind, self.cursor))

    async def next(self) -> FeedMessage[Item] | None:
        """Return the next message, or None after the last one of a subscription that has ended."""
        while not self._waiting and not self._values:
            if self._ended:
                return None
            self._filled.clear()
            await self._filled.wait()
        if self._waiting:
            return self._waiting.popleft()
        return FeedMessage(MessageKind.PROGRESS, "", self._values.pop(next(iter(self._values))))

    def _say(self, message: FeedMessage[Item]) -> None:
        self._told = message.cursor
        self._waiting.append(message)
        self._filled.set()
