"""Replay, then live: one log, read once a process, for any number of subscribers.

A subscriber is first given what it has missed, from a snapshot or from a cursor, then told that this is over, and then
what happens, from the same cursor on. It gets everything of its scope once and in order. Who reads too slowly is told
so, with a cursor to go on from; nobody waits for anybody else, and nothing is dropped in silence.

```text
 log ──▶ reader (one) ──▶ buffer of each subscriber (bounded) ──▶ its iterator
  └───▶ catching up: a subscriber reads pages itself until it has reached the reader ──┘
```
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from reelstate.core.errors import StoreError

logger = logging.getLogger("reelstate.feed")

Item = TypeVar("Item")
Order = tuple[int, ...]
"""Where a cursor stands: of two, the larger is later."""

PAGE: Final = 500
BUFFER: Final = 1_000
"""Items that wait for a subscriber before it counts as too slow."""
LOOK_EVERY: Final = 0.5
"""Seconds between two looks at the log when no bell rings."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
STALE_AFTER: Final = 3.0
"""Seconds without an answer after which subscribers are told: a store may itself wait long for a database."""


class Entry(NamedTuple, Generic[Item]):
    """One item of a log, and the cursor after it."""

    cursor: str
    item: Item


class Log(Protocol[Item]):
    """An ordered log. What has been read up to a cursor stays as it was: nothing ever appears before one."""

    def first(self) -> str:
        """The cursor before everything."""
        ...

    async def head(self) -> str:
        """The cursor after everything that there is by now."""
        ...

    async def read(self, after: str, limit: int) -> Sequence[Entry[Item]]:
        """What comes after a cursor, in order."""
        ...

    def order(self, cursor: str) -> Order: ...

    async def wait(self, seconds: float) -> None:
        """Until there may be something new, or the time is over."""
        ...


class Kind(StrEnum):
    ITEM = "item"
    REPLAY_COMPLETE = "replay_complete"
    """Everything that was there before has been given; always said, once."""
    STALE = "stale"
    """The store is away: what is shown may be old."""
    FRESH = "fresh"
    """It is back, and what was missed follows."""
    OVERFLOW = "overflow"
    """This subscriber was too slow. It ends here; `cursor` is where to go on."""


@dataclass(frozen=True, slots=True)
class Message(Generic[Item]):
    kind: Kind
    cursor: str
    """Go on after it, and nothing is missed."""
    item: Item | None = None
    replay: bool = False


@dataclass(slots=True)
class Figures:
    """What a feed has done, for whoever exports it."""

    delivered: int = 0
    reconnects: int = 0
    overflows: int = 0
    replays: int = 0
    replay_seconds: float = 0.0
    subscribers: int = 0
    delivery_seconds: float = 0.0
    """From the time of each item, by the store's clock, to its subscriber; of those with `marks`, as the next two."""
    slowest_delivery: float = 0.0
    drift: int = 0
    """Versions that the log has skipped: if it is not 0, something is wrong."""
    dropped: int = 0
    """Messages that waited for subscribers who left."""

    def deliver(self, seconds: float) -> None:
        self.delivery_seconds += max(0.0, seconds)
        self.slowest_delivery = max(self.slowest_delivery, seconds)


@dataclass(frozen=True, slots=True)
class Marks(Generic[Item]):
    """What figures are made of: when an item was stored, and which version it is of what."""

    at: Callable[[Item], datetime]
    version: Callable[[Item], tuple[Hashable, int]]


Wanted = Callable[[Item], bool]


class Subscriber(Generic[Item]):
    """The buffer of one subscriber, filled by the reader and emptied by its iterator."""

    def __init__(self, wanted: Wanted[Item], cursor: str, order: Order, most: int) -> None:
        self.cursor = cursor
        self._wanted = wanted
        self._order = order
        self._most = most
        self._waiting: deque[Message[Item]] = deque()
        self._filled = asyncio.Event()
        self.overflowed = False

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def put(self, entry: Entry[Item], order: Order) -> bool:
        """Take an entry if it is of this subscriber's scope and new to it; false when there is no room for it."""
        if order <= self._order:
            return True
        if self._wanted(entry.item):
            if len(self._waiting) >= self._most:
                return False
            self._waiting.append(Message(Kind.ITEM, entry.cursor, entry.item))
            self._filled.set()
        self.cursor, self._order = entry.cursor, order
        return True

    def tell(self, kind: Kind) -> None:
        self._waiting.append(Message(kind, self.cursor))
        self._filled.set()

    def overflow(self) -> None:
        self.overflowed = True
        self.tell(Kind.OVERFLOW)

    async def next(self) -> Message[Item]:
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.popleft()


class Feed(Generic[Item]):
    """The subscribers of one log in this process. Its reader runs while there are any."""

    def __init__(
        self, log: Log[Item], *, buffer: int = BUFFER, pause: float = FIRST_PAUSE, marks: Marks[Item] | None = None
    ) -> None:
        self.log = log
        self._marks = marks
        self._versions: dict[Hashable, int] = {}
        self._buffer = buffer
        self._pause = pause
        self._position: str | None = None
        self._subscribers: set[Subscriber[Item]] = set()
        self._reader: asyncio.Task[None] | None = None
        self._stale = False
        self.figures = Figures()

    async def close(self) -> None:
        """End the reader; subscribers get nothing more."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None

    async def follow(
        self,
        after: str,
        wanted: Wanted[Item] = lambda _: True,
        *,
        replayed: Sequence[Item] = (),
        until: str | None = None,
    ) -> AsyncGenerator[Message[Item], None]:
        """What was replayed, what the log has after a cursor, and then what comes.

        What the log has up to `until` counts as replay; without it, everything that is there when this begins, or
        nothing where a snapshot (`replayed`) stands for it.
        """
        began = time.monotonic()
        for item in replayed:
            yield Message(Kind.ITEM, after, item, replay=True)
        cursor = after
        if until is not None:
            async for message in self._until(after, until, wanted):
                cursor = message.cursor
                if message.kind is Kind.ITEM:
                    yield message
        self.figures.replays += 1
        self.figures.replay_seconds += time.monotonic() - began
        yield Message(Kind.REPLAY_COMPLETE, cursor)
        async with contextlib.aclosing(self._live(cursor, wanted)) as messages:
            async for message in messages:
                yield message

    async def _until(self, after: str, until: str, wanted: Wanted[Item]) -> AsyncIterator[Message[Item]]:
        """What the log has between two cursors, and at last where that ended."""
        end = self.log.order(until)
        while self.log.order(after) < end:
            page = [entry for entry in await self._page(after) if self.log.order(entry.cursor) <= end]
            for entry in page:
                after = entry.cursor
                if wanted(entry.item):
                    yield Message(Kind.ITEM, after, entry.item, replay=True)
            if not page:
                break
        yield Message(Kind.REPLAY_COMPLETE, after)

    async def _page(self, after: str) -> Sequence[Entry[Item]]:
        """A page for one subscriber; while the store is away it waits like everybody else."""
        pause = self._pause
        while True:
            try:
                return await self.log.read(after, PAGE)
            except StoreError as error:
                logger.info("a subscriber waits for the store: %s", error)
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(LONGEST_PAUSE, 2 * pause)

    async def _live(self, after: str, wanted: Wanted[Item]) -> AsyncGenerator[Message[Item], None]:
        async for message in self._catch_up(after, wanted):
            after = message.cursor
            if message.kind is Kind.ITEM:
                yield message
        subscriber = Subscriber(wanted, after, self.log.order(after), self._buffer)
        self._join(subscriber)
        try:
            while True:
                message = await subscriber.next()
                if message.item is not None:
                    self._count(message.item)
                yield message
                if message.kind is Kind.OVERFLOW:
                    return
        finally:
            self._leave(subscriber)

    async def _catch_up(self, after: str, wanted: Wanted[Item]) -> AsyncIterator[Message[Item]]:
        """Read pages of one's own until the reader is not ahead any more; nothing is awaited after the last look."""
        while (position := self._position) is not None and self.log.order(after) < self.log.order(position):
            page = await self._page(after)
            if not page:
                after = position  # the reader has come so far, and there is nothing on the way
            for entry in page:
                after = entry.cursor
                if wanted(entry.item):
                    self._count(entry.item)
                    yield Message(Kind.ITEM, after, entry.item)
        yield Message(Kind.REPLAY_COMPLETE, after)

    def _join(self, subscriber: Subscriber[Item]) -> None:
        self._subscribers.add(subscriber)
        self.figures.subscribers = len(self._subscribers)
        if self._stale:
            subscriber.tell(Kind.STALE)
        if self._position is None or self.log.order(subscriber.cursor) < self.log.order(self._position):
            self._position = subscriber.cursor
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read_for_ever(), name="feed")

    def _leave(self, subscriber: Subscriber[Item]) -> None:
        self._subscribers.discard(subscriber)
        self.figures.subscribers = len(self._subscribers)
        self.figures.dropped += subscriber.waiting
        if not self._subscribers and self._reader is not None:
            self._reader.cancel()
            self._reader, self._position = None, None
            self._versions.clear()  # what comes while nobody reads is not missed

    async def _read_for_ever(self) -> None:
        pause = self._pause
        while True:
            try:
                if not await self._read_once():
                    await self.log.wait(LOOK_EVERY)
                pause = self._pause
            except StoreError as error:
                self._set_stale(error)
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(LONGEST_PAUSE, 2 * pause)

    async def _read_once(self) -> bool:
        """One page for everybody; whether there may be more at once."""
        if self._position is None:
            return False
        late = asyncio.get_running_loop().call_later(STALE_AFTER, self._set_stale, "the store does not answer")
        try:
            page = await self.log.read(self._position, PAGE)
        finally:
            late.cancel()
        self._set_fresh()
        for entry in page:
            self._deliver(entry)
        return len(page) == PAGE

    def _deliver(self, entry: Entry[Item]) -> None:
        order = self.log.order(entry.cursor)
        self._position = entry.cursor
        self._check_version(entry.item)
        for subscriber in list(self._subscribers):
            if not subscriber.put(entry, order):
                subscriber.overflow()
                self._subscribers.discard(subscriber)
                self.figures.overflows += 1

    def _count(self, item: Item) -> None:
        self.figures.delivered += 1
        if self._marks is not None:
            self.figures.deliver((datetime.now(UTC) - self._marks.at(item)).total_seconds())

    def _check_version(self, item: Item) -> None:
        """Versions follow each other; who comes late with an old cursor makes the reader read some again."""
        if self._marks is None:
            return
        key, version = self._marks.version(item)
        before = self._versions.get(key, version - 1)
        self.figures.drift += max(0, version - before - 1)
        self._versions[key] = max(before, version)

    def _set_stale(self, why: object) -> None:
        if not self._stale:
            logger.warning("subscribers see what may be old: %s", why)
            self._stale = True
            for subscriber in self._subscribers:
                subscriber.tell(Kind.STALE)

    def _set_fresh(self) -> None:
        if self._stale:
            logger.warning("subscribers are up to date again")
            self._stale = False
            self.figures.reconnects += 1
            for subscriber in self._subscribers:
                subscriber.tell(Kind.FRESH)
