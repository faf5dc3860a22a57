"""Replay, then live: one log, read once a process, for any number of subscribers.

A subscriber is first given what it has missed, from a snapshot or from a cursor, then told that this is over, and then
what happens, from the same cursor on. It gets everything of its scope once and in order. Who reads too slowly is told
so, with a cursor to go on from; nobody waits for anybody else, and nothing is dropped in silence.

```text
 log ──▶ reader (one) ──▶ buffer of each subscriber (bounded) ──▶ its iterator
  └───▶ catching up: a subscriber reads pages itself until it has reached the reader ──┘
 values ──▶ reader ──▶ the newest of each, for those who want them
```
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Generic

from reelstate.core.errors import StoreError
from reelstate.feed.log import CursorGone, Entry, Item, Log, Stretch, Values
from reelstate.feed.subscriber import BUFFER, FeedMessage, MessageKind, Subscriber, SubscriptionOptions
from reelstate.runtime.cancellation import cancel_and_wait

logger = logging.getLogger("reelstate.feed")

PAGE: Final = 500
LOOK_EVERY: Final = 0.5
"""Seconds between two looks at the log when no bell rings."""
LOOK_AGAIN: Final = 0.05
"""The shortest time between two looks, and the time after a bell in which what it told of may become readable."""
BOOKMARK_EVERY: Final = 15.0
GLANCE_EVERY: Final = 0.25
"""The shortest time between two looks at values."""
GLANCE_SHARE: Final = 10
"""Looking at values takes at most one part in so many of the reader's time."""
FIRST_DELAY, MAX_DELAY = 1.0, 60.0
STALE_AFTER: Final = 3.0
"""Seconds without an answer after which subscribers are told: a store may itself wait long for a database."""


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
    version: Callable[[Item], tuple[Hashable, int]] | None = None


class Feed(Generic[Item]):
    """The subscribers of one log in this process. Its reader runs while there are any."""

    def __init__(
        self,
        log: Log[Item],
        *,
        buffer: int = BUFFER,
        pause: float = FIRST_DELAY,
        marks: Marks[Item] | None = None,
        values: Values[Item] | None = None,
    ) -> None:
        self.log = log
        self._marks = marks
        self._versions: dict[Hashable, int] = {}
        self._buffer = buffer
        self._pause = pause
        self._position: str | None = None
        self._topics: dict[Hashable | None, set[Subscriber[Item]]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._stale = False
        self._closed = False
        self._glances = None if values is None else ValuePolls(values)
        self.figures = Figures()

    async def close(self) -> None:
        """End the reader and every subscription."""
        self._closed = True
        for subscriber in self._subscribers():
            subscriber.end()
        if self._reader is not None:
            await cancel_and_wait(self._reader)
            self._reader = None
        self.log.rest()

    async def follow(
        self,
        after: str,
        terms: SubscriptionOptions[Item] | None = None,
        *,
        replayed: Sequence[Item] = (),
        until: str | None = None,
    ) -> AsyncGenerator[FeedMessage[Item], None]:
        """What was replayed, what the log has after a cursor, and then what comes.

        What the log has up to `until` counts as replay; without it, a snapshot (`replayed`) stands for all of that.
        """
        terms = terms or SubscriptionOptions()
        began = time.monotonic()
        for item in replayed:
            yield FeedMessage(MessageKind.ITEM, after, item, replay=True)
        cursor = after
        if until is not None:
            async for message in self._until(after, until, terms):
                cursor = message.cursor
                if message.kind is not MessageKind.REPLAY_COMPLETE:
                    yield message
        self.figures.replays += 1
        self.figures.replay_seconds += time.monotonic() - began
        yield FeedMessage(MessageKind.REPLAY_COMPLETE, cursor)
        async with contextlib.aclosing(self._live(cursor, terms)) as messages:
            async for message in messages:
                yield message

    @contextlib.asynccontextmanager
    async def joined(self, after: str, terms: SubscriptionOptions[Item]) -> AsyncIterator[Subscriber[Item]]:
        """A subscriber from the reader's place on: what it has before, from a cursor on, is skipped."""
        subscriber = Subscriber(terms, after, self.log.order(after), self._buffer)
        self._join(subscriber)
        try:
            yield subscriber
        finally:
            self._leave(subscriber)

    async def _until(
        self, after: str, until: str, terms: SubscriptionOptions[Item]
    ) -> AsyncIterator[FeedMessage[Item]]:
        """What the log has between two cursors, and at last where that ended."""
        end = self.log.order(until)
        more = True
        while more and self.log.order(after) < end:
            try:
                entries, reached, more = await self._page(after, terms)
            except CursorGone as gone:
                after = await self._resume(gone)
                yield FeedMessage(MessageKind.RESET, after)
                if gone.resume is None:
                    break
                continue
            beyond = self.log.order(reached) > end
            for entry in entries:
                if beyond and self.log.order(entry.cursor) > end:
                    break
                if terms.wanted(entry.item):
                    yield FeedMessage(MessageKind.ITEM, entry.cursor, entry.item, replay=True)
            after = min(reached, until, key=self.log.order)
            if _is_on_the_way(entries, terms, more=more):
                yield FeedMessage(MessageKind.BOOKMARK, after, replay=True)
        yield FeedMessage(MessageKind.REPLAY_COMPLETE, after)

    async def _page(self, after: str, terms: SubscriptionOptions[Item]) -> Stretch[Item]:
        """A page for one subscriber; while the store is away it waits like everybody else."""
        pause = self._pause
        while True:
            try:
                return await self.log.read(after, PAGE, None if terms.topic is None else (terms.topic,))
            except StoreError as error:
                logger.info("a subscriber waits for the store: %s", error)
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(MAX_DELAY, 2 * pause)

    async def _live(self, after: str, terms: SubscriptionOptions[Item]) -> AsyncGenerator[FeedMessage[Item], None]:
        async for missed in self._catch_up(after, terms):
            after = missed.cursor
            if missed.kind is not MessageKind.REPLAY_COMPLETE:
                yield missed
        async with self.joined(after, terms) as subscriber:
            while (message := await subscriber.next()) is not None:
                if message.kind is MessageKind.ITEM and message.item is not None:
                    self._count(message.item)
                yield message
                if message.kind is MessageKind.OVERFLOW:
                    return

    async def _catch_up(self, after: str, terms: SubscriptionOptions[Item]) -> AsyncIterator[FeedMessage[Item]]:
        """Read pages of one's own until the reader is not ahead any more; nothing is awaited after the last look."""
        while (position := self._position) is not None and self.log.order(after) < self.log.order(position):
            try:
                entries, reached, more = await self._page(after, terms)
            except CursorGone as gone:
                after = await self._resume(gone)
                yield FeedMessage(MessageKind.RESET, after)
                continue
            for entry in entries:
                after = entry.cursor
                if terms.wanted(entry.item):
                    self._count(entry.item)
                    yield FeedMessage(MessageKind.ITEM, after, entry.item)
            # The reader has come so far, and if nothing is left there is nothing on the way.
            after = reached if entries or more else max(reached, position, key=self.log.order)
            if (entries and terms.settle) or _is_on_the_way(entries, terms, more=more):
                yield FeedMessage(MessageKind.BOOKMARK, after)
        yield FeedMessage(MessageKind.REPLAY_COMPLETE, after)

    def _subscribers(self) -> Iterator[Subscriber[Item]]:
        for subscribers in self._topics.values():
            yield from subscribers

    def _audience(self, entry: Entry[Item]) -> list[Subscriber[Item]]:
        return [each for topic in (None, *entry.topics) for each in self._topics.get(topic, ())]

    def _join(self, subscriber: Subscriber[Item]) -> None:
        self._topics.setdefault(subscriber.terms.topic, set()).add(subscriber)
        self.figures.subscribers += 1
        if self._closed:
            subscriber.end()
            return
        if self._stale:
            subscriber.tell(MessageKind.STALE)
        if self._position is None or self.log.order(subscriber.cursor) < self.log.order(self._position):
            self._position = subscriber.cursor
        if self._glances is not None and subscriber.terms.values:
            self._glances.show(subscriber)
        if self._reader is None or self._reader.done():
            self.log.begin()
            self._reader = asyncio.create_task(self._read_for_ever(), name="feed")

    def _leave(self, subscriber: Subscriber[Item]) -> None:
        self._remove(subscriber)
        self.figures.subscribers -= 1
        self.figures.dropped += subscriber.waiting
        if not self.figures.subscribers and self._reader is not None:
            self._reader.cancel()
            self._reader, self._position = None, None
            self.log.rest()
            self._versions.clear()  # what comes while nobody reads is not missed
            if self._glances is not None:
                self._glances.keep()

    def _remove(self, subscriber: Subscriber[Item]) -> None:
        topic = subscriber.terms.topic
        found = self._topics.get(topic, set())
        found.discard(subscriber)
        if not found:
            self._topics.pop(topic, None)

    async def _read_for_ever(self) -> None:
        pause = self._pause
        looks = LogPolls()
        while True:
            try:
                with self._telling_when_late():
                    more = await self._read_once()
                    if self._glances is not None:
                        await self._glances.look(self._topics, self._audience)
                pause = self._pause
                if not more:
                    self._bookmark(looks.bookmark_is_due())
                    await looks.next(self.log)
            except Exception as error:  # noqa: BLE001 - whatever it was: nobody is left to wait for ever
                self._set_stale(error)
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(MAX_DELAY, 2 * pause)

    async def _read_once(self) -> bool:
        """One page for everybody; whether there may be more at once."""
        if self._position is None:
            return False
        topics = self._wanted()
        try:
            entries, reached, more = await self.log.read(self._position, PAGE, topics)
        except CursorGone as gone:
            await self._reset(gone)
            return True
        self._set_fresh()
        if topics is not None and not topics.issuperset(self._topics):
            return True  # somebody has come meanwhile for whom this was not read
        for entry in entries:
            self._deliver(entry)
        self._position, order = reached, self.log.order(reached)
        for subscriber in self._subscribers():
            subscriber.reach(reached, order)
        return more

    def _wanted(self) -> frozenset[Hashable] | None:
        return None if None in self._topics else frozenset(self._topics)

    def _deliver(self, entry: Entry[Item]) -> None:
        order = self.log.order(entry.cursor)
        self._position = entry.cursor
        self._check_version(entry.item)
        ended = None if self._glances is None else self._glances.ended(entry.item)
        for subscriber in self._audience(entry):
            subscriber.forget(ended)
            if not subscriber.put(entry, order):
                subscriber.tell(MessageKind.OVERFLOW)
                self._remove(subscriber)
                self.figures.overflows += 1

    def _bookmark(self, everybody: bool) -> None:
        """Tell those who want to know that this is all for now, and now and then everybody how far they are."""
        for subscriber in self._subscribers():
            subscriber.settle()
            if everybody:
                subscriber.bookmark()

    async def _resume(self, gone: CursorGone) -> str:
        return await self.log.head() if gone.resume is None else gone.resume

    async def _reset(self, gone: CursorGone) -> None:
        """Move every subscriber that misses something to where the log is complete."""
        cursor = await self._resume(gone)
        order = self.log.order(cursor)
        level = logging.WARNING if gone.resume is None else logging.INFO
        logger.log(level, "feed reset: the log does not hold what followed %s, subscribers resume at %s", gone, cursor)
        self._position = cursor
        self._versions.clear()
        for subscriber in self._subscribers():
            if gone.resume is None or subscriber.is_before(order):
                subscriber.reset(cursor, order)

    def _count(self, item: Item) -> None:
        self.figures.delivered += 1
        if self._marks is not None:
            self.figures.deliver((datetime.now(UTC) - self._marks.at(item)).total_seconds())

    def _check_version(self, item: Item) -> None:
        """Versions follow each other; who comes late with an old cursor makes the reader read some again."""
        if self._marks is None or self._marks.version is None:
            return
        key, version = self._marks.version(item)
        before = self._versions.get(key, version - 1)
        self.figures.drift += max(0, version - before - 1)
        self._versions[key] = max(before, version)

    @contextlib.contextmanager
    def _telling_when_late(self) -> Iterator[None]:
        late = asyncio.get_running_loop().call_later(STALE_AFTER, self._set_stale, "the store does not answer")
        try:
            yield
        finally:
            late.cancel()

    def _set_stale(self, why: object) -> None:
        if not self._stale:
            logger.warning("subscribers see what may be old: %s", why)
            self._stale = True
            for subscriber in self._subscribers():
                subscriber.tell(MessageKind.STALE)

    def _set_fresh(self) -> None:
        if self._stale:
            logger.warning("subscribers are up to date again")
            self._stale = False
            self.figures.reconnects += 1
            for subscriber in self._subscribers():
                subscriber.tell(MessageKind.FRESH)


def _is_on_the_way(entries: Sequence[Entry[Item]], terms: SubscriptionOptions[Item], *, more: bool) -> bool:
    """Whether to say how far a look has come that goes on, and has found nothing yet."""
    return more and not entries and not terms.settle


class LogPolls:
    """When to look at a log again: at a bell, soon after one, and now and then."""

    def __init__(self) -> None:
        self._timeout = LOOK_EVERY
        self._last = 0.0
        self._bookmarked = time.monotonic()

    async def next(self, log: Log[Item]) -> None:
        rung = await log.wait(self._timeout)
        self._timeout = LOOK_AGAIN if rung else LOOK_EVERY
        await asyncio.sleep(max(0.0, self._last + LOOK_AGAIN - time.monotonic()))
        self._last = time.monotonic()

    def bookmark_is_due(self) -> bool:
        due = time.monotonic() >= self._bookmarked + BOOKMARK_EVERY
        self._bookmarked = time.monotonic() if due else self._bookmarked
        return due


class ValuePolls(Generic[Item]):
    """Values as they were last seen, so that only changed ones are shown."""

    def __init__(self, values: Values[Item]) -> None:
        self._values = values
        self._seen: dict[Hashable, Entry[Item]] = {}
        self._topics: frozenset[Hashable] | None = frozenset()
        self._next = 0.0

    def ended(self, item: Item) -> Hashable | None:
        key = self._values.ended(item)
        self._seen.pop(key, None)
        return key

    def show(self, subscriber: Subscriber[Item]) -> None:
        """What is known by now, to one who has just come."""
        topic = subscriber.terms.topic
        for key, entry in self._seen.items():
            if topic is None or topic in entry.topics:
                subscriber.show(key, entry.item)

    async def look(
        self,
        topics: dict[Hashable | None, set[Subscriber[Item]]],
        audience: Callable[[Entry[Item]], list[Subscriber[Item]]],
    ) -> None:
        began = time.monotonic()
        if began < self._next:
            return
        watched = self._watched(topics)
        anew = not _covers(self._topics, watched)
        self.keep(watched)
        if watched == frozenset():
            return
        entries = await self._values.read(watched, anew=anew)
        self._next = began + max(GLANCE_EVERY, GLANCE_SHARE * (time.monotonic() - began))
        for entry in entries:
            key = self._values.key(entry.item)
            known = self._seen.get(key)
            if known is None or known.item != entry.item:
                self._seen[key] = entry
                for subscriber in audience(entry):
                    if subscriber.terms.values:
                        subscriber.show(key, entry.item)

    def _watched(self, topics: dict[Hashable | None, set[Subscriber[Item]]]) -> frozenset[Hashable] | None:
        """The topics whose values somebody wants."""
        watched = {topic for topic, each in topics.items() if any(subscriber.terms.values for subscriber in each)}
        return None if None in watched else frozenset(watched)

    def keep(self, watched: frozenset[Hashable] | None = frozenset()) -> None:
        """Forget what is of other topics: nobody tells when that changes."""
        if watched is not None and watched != self._topics:
            self._seen = {key: entry for key, entry in self._seen.items() if not watched.isdisjoint(entry.topics)}
        self._topics = watched


def _covers(known: frozenset[Hashable] | None, wanted: frozenset[Hashable] | None) -> bool:
    return known is None or (wanted is not None and known >= wanted)
