"""Replay, then live: one log, read once per process, for any number of subscribers.

A subscriber first receives what it has missed, from a snapshot or from a cursor, then `replay_complete`, then new items
from the same cursor on. It receives every item of its topic once and in order. A subscriber that reads too slowly is
disconnected with a cursor to resume from. Subscribers do not wait for each other.

```text
 log ──▶ reader (one) ──▶ buffer of each subscriber (bounded) ──▶ its iterator
  └───▶ catching up: a subscriber reads pages itself until it has reached the reader ──┘
 values ──▶ reader ──▶ the newest of each key, for subscribers with `values`
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
from reelstate.feed.log import CursorGone, Entry, Item, Log, LogPage, Values
from reelstate.feed.subscriber import BUFFER, FeedMessage, MessageKind, Subscriber, SubscriptionOptions
from reelstate.runtime.cancellation import cancel_and_wait
from reelstate.telemetry.facts import FeedDelivered, FeedEvent, FeedReplayed, emit, listening

logger = logging.getLogger("reelstate.feed")

PAGE: Final = 500
VALUES_INTERVAL: Final = 0.25
"""Seconds between two reads of values at least."""
VALUES_SHARE: Final = 10
"""Reading values takes at most one part in `VALUES_SHARE` of the reader's time."""
FIRST_DELAY, MAX_DELAY = 1.0, 60.0


@dataclass(frozen=True, slots=True)
class FeedTimings:
    """How often a feed reads, in seconds."""

    poll: float = 0.5
    """Between two reads of the log without a wake-up."""
    min_poll: float = 0.05
    """Between two reads at least, and after a wake-up until its entries are readable."""
    bookmark: float = 15.0
    """Between two bookmarks of a subscriber that gets nothing else."""
    stale_after: float = 3.0
    """Without an answer until subscribers get `stale`: a store may itself wait long for a database."""


@dataclass(slots=True)
class Figures:
    """The counters of a feed, for metrics."""

    delivered: int = 0
    reconnects: int = 0
    overflows: int = 0
    replays: int = 0
    replay_seconds: float = 0.0
    subscribers: int = 0
    delivery_seconds: float = 0.0
    """Seconds from the time of each item, by the clock of the store, to its subscriber; needs `marks`."""
    slowest_delivery: float = 0.0
    drift: int = 0
    """Versions that the log has skipped; anything but 0 is a bug."""
    dropped: int = 0
    """Messages that waited for subscribers when they left."""

    def deliver(self, seconds: float) -> None:
        self.delivery_seconds += max(0.0, seconds)
        self.slowest_delivery = max(self.slowest_delivery, seconds)


@dataclass(frozen=True, slots=True)
class Marks(Generic[Item]):
    """Functions of an item for the figures: when it was stored, and its key and version."""

    at: Callable[[Item], datetime]
    version: Callable[[Item], tuple[Hashable, int]] | None = None


class Feed(Generic[Item]):
    """The subscribers of one log in this process. Its reader runs while there are subscribers."""

    def __init__(
        self,
        log: Log[Item],
        *,
        buffer: int = BUFFER,
        delay: float = FIRST_DELAY,
        marks: Marks[Item] | None = None,
        values: Values[Item] | None = None,
    ) -> None:
        self.log = log
        self.timings = FeedTimings()
        self._marks = marks
        self._versions: dict[Hashable, int] = {}
        self._buffer = buffer
        self._delay = delay
        self._position: str | None = None
        self._topics: dict[Hashable | None, set[Subscriber[Item]]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._stale = False
        self._closed = False
        self._value_polls = None if values is None else ValuePolls(values)
        self.figures = Figures()

    async def close(self) -> None:
        """End the reader and every subscription."""
        self._closed = True
        for subscriber in self._subscribers():
            subscriber.end()
        if self._reader is not None:
            await cancel_and_wait(self._reader)
            self._reader = None
        self.log.stop_listening()

    async def follow(
        self,
        after: str,
        options: SubscriptionOptions[Item] | None = None,
        *,
        replayed: Sequence[Item] = (),
        until: str | None = None,
    ) -> AsyncGenerator[FeedMessage[Item], None]:
        """Yield the items of a snapshot (`replayed`), the entries after a cursor, and then new ones.

        Entries up to `until` count as replay; without it, the snapshot is the whole replay.
        """
        options = options or SubscriptionOptions()
        began = time.monotonic()
        for item in replayed:
            yield FeedMessage(MessageKind.ITEM, after, item, replay=True)
        cursor = after
        if until is not None:
            async for message in self._replay(after, until, options):
                cursor = message.cursor
                if message.kind is not MessageKind.REPLAY_COMPLETE:
                    yield message
        self.figures.replays += 1
        self.figures.replay_seconds += time.monotonic() - began
        emit(FeedReplayed(time.monotonic() - began))
        yield FeedMessage(MessageKind.REPLAY_COMPLETE, cursor)
        async with contextlib.aclosing(self._live(cursor, options)) as messages:
            async for message in messages:
                yield message

    @contextlib.asynccontextmanager
    async def joined(self, after: str, options: SubscriptionOptions[Item]) -> AsyncIterator[Subscriber[Item]]:
        """Add a subscriber that receives what the reader reads from now on, after a cursor."""
        subscriber = Subscriber(options, after, self.log.order(after), self._buffer)
        self._join(subscriber)
        try:
            yield subscriber
        finally:
            self._leave(subscriber)

    async def _replay(
        self, after: str, until: str, options: SubscriptionOptions[Item]
    ) -> AsyncIterator[FeedMessage[Item]]:
        """Yield the entries between two cursors, then `replay_complete` with the last cursor."""
        end = self.log.order(until)
        more = True
        while more and self.log.order(after) < end:
            try:
                entries, reached, more = await self._read_page(after, options)
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
                if options.wanted(entry.item):
                    yield FeedMessage(MessageKind.ITEM, entry.cursor, entry.item, replay=True)
            after = min(reached, until, key=self.log.order)
            if _needs_bookmark(entries, options, more=more):
                yield FeedMessage(MessageKind.BOOKMARK, after, replay=True)
        yield FeedMessage(MessageKind.REPLAY_COMPLETE, after)

    async def _read_page(self, after: str, options: SubscriptionOptions[Item]) -> LogPage[Item]:
        """Read a page for one subscriber; retry while the store is unreachable."""
        delay = self._delay
        while True:
            try:
                return await self.log.read(after, PAGE, None if options.topic is None else (options.topic,))
            except StoreError as error:
                logger.info("subscriber waits for the store: %s", error)
                await asyncio.sleep(delay * random.uniform(0.5, 1.0))
                delay = min(MAX_DELAY, 2 * delay)

    async def _live(self, after: str, options: SubscriptionOptions[Item]) -> AsyncGenerator[FeedMessage[Item], None]:
        async for missed in self._catch_up(after, options):
            after = missed.cursor
            if missed.kind is not MessageKind.REPLAY_COMPLETE:
                yield missed
        async with self.joined(after, options) as subscriber:
            while (message := await subscriber.next()) is not None:
                if message.kind is MessageKind.ITEM and message.item is not None:
                    self._count(message.item)
                yield message
                if message.kind is MessageKind.OVERFLOW:
                    return

    async def _catch_up(self, after: str, options: SubscriptionOptions[Item]) -> AsyncIterator[FeedMessage[Item]]:
        """Read pages until the reader is not ahead any more. Nothing is awaited after the last comparison."""
        while (position := self._position) is not None and self.log.order(after) < self.log.order(position):
            try:
                entries, reached, more = await self._read_page(after, options)
            except CursorGone as gone:
                after = await self._resume(gone)
                yield FeedMessage(MessageKind.RESET, after)
                continue
            for entry in entries:
                after = entry.cursor
                if options.wanted(entry.item):
                    self._count(entry.item)
                    yield FeedMessage(MessageKind.ITEM, after, entry.item)
            # The reader has got to `position`: where nothing is left, nothing lies between.
            after = reached if entries or more else max(reached, position, key=self.log.order)
            if (entries and options.settle) or _needs_bookmark(entries, options, more=more):
                yield FeedMessage(MessageKind.BOOKMARK, after)
        yield FeedMessage(MessageKind.REPLAY_COMPLETE, after)

    def _subscribers(self) -> Iterator[Subscriber[Item]]:
        for subscribers in self._topics.values():
            yield from subscribers

    def _audience(self, entry: Entry[Item]) -> list[Subscriber[Item]]:
        return [each for topic in (None, *entry.topics) for each in self._topics.get(topic, ())]

    def _join(self, subscriber: Subscriber[Item]) -> None:
        self._topics.setdefault(subscriber.options.topic, set()).add(subscriber)
        self.figures.subscribers += 1
        if self._closed:
            subscriber.end()
            return
        if self._stale:
            subscriber.send(MessageKind.STALE)
        if self._position is None or self.log.order(subscriber.cursor) < self.log.order(self._position):
            self._position = subscriber.cursor
        if self._value_polls is not None and subscriber.options.values:
            self._value_polls.show(subscriber)
        if self._reader is None or self._reader.done():
            self.log.start_listening()
            self._reader = asyncio.create_task(self._read_forever(), name="feed")

    def _leave(self, subscriber: Subscriber[Item]) -> None:
        self._remove(subscriber)
        self.figures.subscribers -= 1
        self.figures.dropped += subscriber.waiting
        emit(FeedEvent("dropped", subscriber.waiting))
        if not self.figures.subscribers and self._reader is not None:
            self._reader.cancel()
            self._reader, self._position = None, None
            self.log.stop_listening()
            self._versions.clear()  # versions that are stored meanwhile do not count as skipped
            if self._value_polls is not None:
                self._value_polls.keep_topics()

    def _remove(self, subscriber: Subscriber[Item]) -> None:
        topic = subscriber.options.topic
        found = self._topics.get(topic, set())
        found.discard(subscriber)
        if not found:
            self._topics.pop(topic, None)

    async def _read_forever(self) -> None:
        delay = self._delay
        polls = LogPolls(self.timings)
        while True:
            try:
                with self._stale_when_late():
                    more = await self._read_once()
                    if self._value_polls is not None:
                        await self._value_polls.read(self._topics, self._audience)
                delay = self._delay
                if not more:
                    self._send_bookmarks(everyone=polls.bookmark_is_due())
                    await polls.next(self.log)
            except Exception as error:  # noqa: BLE001 - no error may end the reader: its subscribers would wait forever
                self._set_stale(error)
                await asyncio.sleep(delay * random.uniform(0.5, 1.0))
                delay = min(MAX_DELAY, 2 * delay)

    async def _read_once(self) -> bool:
        """Read and deliver one page; return whether there may be more."""
        if self._position is None:
            return False
        topics = self._wanted_topics()
        try:
            entries, reached, more = await self.log.read(self._position, PAGE, topics)
        except CursorGone as gone:
            await self._reset(gone)
            return True
        self._set_fresh()
        if topics is not None and not topics.issuperset(self._topics):
            return True  # a subscriber has joined meanwhile whose topic was not read
        for entry in entries:
            self._deliver(entry)
        self._position, order = reached, self.log.order(reached)
        for subscriber in self._subscribers():
            subscriber.reach(reached, order)
        return more

    def _wanted_topics(self) -> frozenset[Hashable] | None:
        return None if None in self._topics else frozenset(self._topics)

    def _deliver(self, entry: Entry[Item]) -> None:
        order = self.log.order(entry.cursor)
        self._position = entry.cursor
        self._check_version(entry.item)
        ended = None if self._value_polls is None else self._value_polls.drop_ended(entry.item)
        for subscriber in self._audience(entry):
            subscriber.forget(ended)
            if not subscriber.put(entry, order):
                subscriber.send(MessageKind.OVERFLOW)
                self._remove(subscriber)
                self.figures.overflows += 1
                emit(FeedEvent("overflow"))

    def _send_bookmarks(self, *, everyone: bool) -> None:
        """Send a bookmark to subscribers with new items that asked for it, or to everyone."""
        for subscriber in self._subscribers():
            subscriber.settle()
            if everyone:
                subscriber.bookmark()

    async def _resume(self, gone: CursorGone) -> str:
        return await self.log.head() if gone.resume is None else gone.resume

    async def _reset(self, gone: CursorGone) -> None:
        """Move every subscriber that would miss entries to the cursor after which the log is complete."""
        cursor = await self._resume(gone)
        order = self.log.order(cursor)
        level = logging.WARNING if gone.resume is None else logging.INFO
        logger.log(level, "feed reset: entries were deleted after=%s resume=%s", gone, cursor)
        self._position = cursor
        self._versions.clear()
        for subscriber in self._subscribers():
            if gone.resume is None or subscriber.is_before(order):
                subscriber.reset(cursor, order)

    def _count(self, item: Item) -> None:
        self.figures.delivered += 1
        if self._marks is not None:
            seconds = (datetime.now(UTC) - self._marks.at(item)).total_seconds()
            self.figures.deliver(seconds)
            if listening():
                emit(FeedDelivered(seconds))

    def _check_version(self, item: Item) -> None:
        """Count skipped versions. A subscriber with an old cursor makes the reader read some again."""
        if self._marks is None or self._marks.version is None:
            return
        key, version = self._marks.version(item)
        before = self._versions.get(key, version - 1)
        if version > before + 1:
            self.figures.drift += version - before - 1
            emit(FeedEvent("drift", version - before - 1))
        self._versions[key] = max(before, version)

    @contextlib.contextmanager
    def _stale_when_late(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        late = loop.call_later(self.timings.stale_after, self._set_stale, "no answer from the store")
        try:
            yield
        finally:
            late.cancel()

    def _set_stale(self, why: object) -> None:
        if not self._stale:
            logger.warning("feed stale: %s", why)
            self._stale = True
            for subscriber in self._subscribers():
                subscriber.send(MessageKind.STALE)

    def _set_fresh(self) -> None:
        if self._stale:
            logger.warning("feed fresh again")
            self._stale = False
            self.figures.reconnects += 1
            emit(FeedEvent("reconnected"))
            for subscriber in self._subscribers():
                subscriber.send(MessageKind.FRESH)


def _needs_bookmark(entries: Sequence[Entry[Item]], options: SubscriptionOptions[Item], *, more: bool) -> bool:
    """Return whether to report the position of a search that has found nothing yet."""
    return more and not entries and not options.settle


class LogPolls:
    """When to read a log again: at a wake-up, shortly after one, and at intervals."""

    def __init__(self, timings: FeedTimings) -> None:
        self._timings = timings
        self._timeout = timings.poll
        self._last = 0.0
        self._bookmarked = time.monotonic()

    async def next(self, log: Log[Item]) -> None:
        woken = await log.wait(self._timeout)
        self._timeout = self._timings.min_poll if woken else self._timings.poll
        await asyncio.sleep(max(0.0, self._last + self._timings.min_poll - time.monotonic()))
        self._last = time.monotonic()

    def bookmark_is_due(self) -> bool:
        due = time.monotonic() >= self._bookmarked + self._timings.bookmark
        self._bookmarked = time.monotonic() if due else self._bookmarked
        return due


class ValuePolls(Generic[Item]):
    """The values as last read, so that only changed ones are sent."""

    def __init__(self, values: Values[Item]) -> None:
        self._values = values
        self._seen: dict[Hashable, Entry[Item]] = {}
        self._topics: frozenset[Hashable] | None = frozenset()
        self._next = 0.0

    def drop_ended(self, item: Item) -> Hashable | None:
        """Drop the value that an item makes obsolete, and return its key."""
        key = self._values.ended_key(item)
        self._seen.pop(key, None)
        return key

    def show(self, subscriber: Subscriber[Item]) -> None:
        """Send the known values to a new subscriber."""
        topic = subscriber.options.topic
        for key, entry in self._seen.items():
            if topic is None or topic in entry.topics:
                subscriber.show(key, entry.item)

    async def read(
        self,
        topics: dict[Hashable | None, set[Subscriber[Item]]],
        audience: Callable[[Entry[Item]], list[Subscriber[Item]]],
    ) -> None:
        """Read the values that subscribers follow, if it is time, and send those that changed."""
        began = time.monotonic()
        if began < self._next:
            return
        watched = self._watched_topics(topics)
        full = not _covers(self._topics, watched)
        self.keep_topics(watched)
        if watched == frozenset():
            return
        entries = await self._values.read(watched, full=full)
        self._next = began + max(VALUES_INTERVAL, VALUES_SHARE * (time.monotonic() - began))
        for entry in entries:
            key = self._values.key(entry.item)
            known = self._seen.get(key)
            if known is None or known.item != entry.item:
                self._seen[key] = entry
                for subscriber in audience(entry):
                    if subscriber.options.values:
                        subscriber.show(key, entry.item)

    def _watched_topics(self, topics: dict[Hashable | None, set[Subscriber[Item]]]) -> frozenset[Hashable] | None:
        """Return the topics whose values a subscriber follows."""
        watched = {topic for topic, each in topics.items() if any(subscriber.options.values for subscriber in each)}
        return None if None in watched else frozenset(watched)

    def keep_topics(self, watched: frozenset[Hashable] | None = frozenset()) -> None:
        """Forget the values of other topics: their changes are not read."""
        if watched is not None and watched != self._topics:
            self._seen = {key: entry for key, entry in self._seen.items() if not watched.isdisjoint(entry.topics)}
        self._topics = watched


def _covers(known: frozenset[Hashable] | None, wanted: frozenset[Hashable] | None) -> bool:
    return known is None or (wanted is not None and known >= wanted)
