"""One subscriber of a feed: its options, its messages and the bounded buffer in which they wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic

from reelstate.feed.log import Entry, Item, Order

BUFFER: Final = 1_000
"""Items in the buffer at which a subscriber counts as too slow."""

Wanted = Callable[[Item], bool]


class MessageKind(StrEnum):
    """What a message of a feed is."""

    ITEM = "item"
    PROGRESS = "progress"
    """The newest value of a key. It has no cursor, is not replayed, and values in between are left out."""
    REPLAY_COMPLETE = "replay_complete"
    """All items from before the subscription were sent. Every subscription has this message once."""
    BOOKMARK = "bookmark"
    """All items up to this cursor were sent, even if few or none were for this subscriber."""
    STALE = "stale"
    """The store is unreachable: what was sent may be outdated."""
    FRESH = "fresh"
    """The store is reachable again; the missed items follow."""
    RESET = "reset"
    """Items after the cursor were deleted, or the database was replaced: read the state again."""
    OVERFLOW = "overflow"
    """The subscriber was too slow and the subscription ends; subscribe again after `cursor`."""


SETTLED: Final = frozenset({MessageKind.REPLAY_COMPLETE, MessageKind.BOOKMARK, MessageKind.RESET})
"""Kinds after which all items up to the cursor were sent."""


@dataclass(frozen=True, slots=True)
class FeedMessage(Generic[Item]):
    """One message to a subscriber."""

    kind: MessageKind
    cursor: str
    """Subscribe after it to miss nothing; empty for progress."""
    item: Item | None = None
    replay: bool = False


@dataclass(frozen=True, slots=True)
class SubscriptionOptions(Generic[Item]):
    """What a subscriber receives."""

    topic: Hashable | None = None
    """None for everything."""
    wanted: Wanted[Item] = lambda _: True
    values: bool = False
    """Whether to send values, too."""
    settle: bool = False
    """Whether to send a bookmark whenever all readable items were sent."""


class Subscriber(Generic[Item]):
    """The buffer between the reader of a feed and the iterator of one subscriber. It holds the newest value per key."""

    def __init__(self, options: SubscriptionOptions[Item], cursor: str, order: Order, limit: int = BUFFER) -> None:
        self.options = options
        self.cursor = cursor
        self._sent_cursor = cursor
        self._order = order
        self._limit = limit
        self._waiting: deque[FeedMessage[Item]] = deque()
        self._values: dict[Hashable, Item] = {}
        self._filled = asyncio.Event()
        self._unsettled = False
        self._ended = False

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def put(self, entry: Entry[Item], order: Order) -> bool:
        """Buffer an entry that is new and wanted; return False when the buffer is full."""
        if order <= self._order:
            return True
        if self.options.wanted(entry.item):
            if len(self._waiting) >= self._limit:
                return False
            self._append(FeedMessage(MessageKind.ITEM, entry.cursor, entry.item))
            self._unsettled = True
        self.cursor, self._order = entry.cursor, order
        return True

    def show(self, key: Hashable, value: Item) -> None:
        """Buffer a value; it replaces a waiting one of the same key."""
        if self.options.wanted(value):
            self._values[key] = value
            self._filled.set()

    def forget(self, key: Hashable) -> None:
        """Drop a waiting value that became obsolete."""
        self._values.pop(key, None)

    def reach(self, cursor: str, order: Order) -> None:
        """Note that all entries up to a cursor were put."""
        if order > self._order:
            self.cursor, self._order = cursor, order

    def is_before(self, order: Order) -> bool:
        return self._order < order

    def end(self) -> None:
        """End the subscription after the waiting messages, and wake a waiting `next`."""
        self._ended = True
        self._filled.set()

    def reset(self, cursor: str, order: Order) -> None:
        """Continue from another cursor, and send that."""
        self.cursor, self._order = cursor, order
        self._values.clear()
        self.send(MessageKind.RESET)

    def settle(self) -> None:
        """Send a bookmark after new items, where the options ask for it."""
        if self._unsettled and self.options.settle:
            self.send(MessageKind.BOOKMARK)
        self._unsettled = False

    def bookmark(self) -> None:
        """Send a bookmark unless the last message has the same cursor."""
        if self._sent_cursor != self.cursor:
            self.send(MessageKind.BOOKMARK)

    def send(self, kind: MessageKind) -> None:
        self._append(FeedMessage(kind, self.cursor))

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

    def _append(self, message: FeedMessage[Item]) -> None:
        self._sent_cursor = message.cursor
        self._waiting.append(message)
        self._filled.set()
