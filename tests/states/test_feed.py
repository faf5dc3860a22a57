"""Whatever subscribers do (read slowly, come late, leave, return, want little), each gets its own, once, in order."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from reelstate.core.errors import StoreUnavailable
from reelstate.feed.feed import Feed
from reelstate.feed.log import Entry, LogPage, Order, Topics, page_after
from reelstate.feed.subscriber import FeedMessage, MessageKind, SubscriptionOptions
from tests.waiting import let_others_run, until

Wanted = Callable[[int], bool]


class Numbers:
    """A log of numbers that can become unreachable."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.unreachable = False
        self.reads = 0
        self._changed = asyncio.Event()

    def add(self, number: int) -> None:
        self.items.append(number)
        self._changed.set()

    def first(self) -> str:
        return "0"

    async def head(self) -> str:
        return str(len(self.items))

    async def read(self, after: str, limit: int, topics: Topics = None) -> LogPage[int]:  # noqa: ARG002 - one topic
        self.reads += 1
        await let_others_run()
        if self.unreachable:
            raise StoreUnavailable("unreachable")
        self._changed.clear()
        start = int(after)
        page = self.items[start : start + limit]
        return page_after([Entry(str(start + index), item) for index, item in enumerate(page, 1)], after, limit)

    def order(self, cursor: str) -> Order:
        return (int(cursor),)

    async def wait(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(self._changed.wait(), seconds)
        return False

    def start_listening(self) -> None:
        """Nothing to open."""

    def stop_listening(self) -> None:
        """Do nothing."""


class Rare(Numbers):
    """A log in which few are wanted: a read looks at ten numbers, and gives those that end with 97."""

    async def read(self, after: str, limit: int, topics: Topics = None) -> LogPage[int]:
        found = await super().read(after, min(limit, 10), topics)
        return found._replace(entries=[entry for entry in found.entries if entry.item % 100 == 97])


@asynccontextmanager
async def fed(buffer: int = 1000) -> AsyncIterator[tuple[Numbers, Feed[int]]]:
    log = Numbers()
    feed = Feed(log, buffer=buffer, delay=0.01)
    yield log, feed
    await feed.close()


async def collected(
    feed: Feed[int], log: Numbers, last: int, wanted: Wanted = lambda _: True, *, after: str = "0", slow: float = 0.0
) -> tuple[list[int], list[MessageKind]]:
    """What one subscriber sees up to the last number, coming back with its cursor whenever it was too slow."""
    seen: list[int] = []
    kinds: list[MessageKind] = []
    while True:
        async with contextlib.aclosing(
            feed.follow(after, SubscriptionOptions(wanted=wanted), until=await log.head())
        ) as messages:
            async for message in messages:
                after = message.cursor
                if message.kind is not MessageKind.ITEM:
                    kinds.append(message.kind)
                    continue
                assert message.item is not None
                seen.append(message.item)
                if message.item == last:
                    return seen, kinds
                if slow and random.random() < 0.1:
                    await asyncio.sleep(slow * random.random())  # the pace of a slow subscriber


async def test_many_kinds_of_subscribers_each_see_their_own_once_and_in_order() -> None:
    random.seed(7)
    last = 3_000
    async with fed(buffer=40) as (log, feed), asyncio.timeout(300):
        half_way = asyncio.Event()

        async def write() -> None:
            for number in range(1, last + 1):
                log.add(number)
                if number == last // 2:
                    half_way.set()
                if random.random() < 0.2:
                    await let_others_run()
                if number in {700, 1500}:
                    log.unreachable = True
                    await until(lambda: feed._stale)
                    log.unreachable = False

        async def late(wanted: Wanted) -> tuple[list[int], list[MessageKind]]:
            await half_way.wait()
            return await collected(feed, log, last, wanted)

        thirds: Wanted = lambda number: number % 3 == 0  # noqa: E731 - a rule with a name
        tasks = [
            asyncio.create_task(collected(feed, log, last)),
            asyncio.create_task(collected(feed, log, last, slow=0.01)),
            asyncio.create_task(collected(feed, log, last, thirds)),
            asyncio.create_task(late(lambda _: True)),
            asyncio.create_task(late(thirds)),
            *(asyncio.create_task(collected(feed, log, last)) for _ in range(20)),
        ]
        await write()
        answers = await asyncio.gather(*tasks)
    every = list(range(1, last + 1))
    for number, (seen, kinds) in enumerate(answers):
        assert seen == (every if number not in {2, 4} else every[2::3]), f"subscriber {number}"
        # The last number may come before the last replay is over.
        assert kinds.count(MessageKind.REPLAY_COMPLETE) - kinds.count(MessageKind.OVERFLOW) in {0, 1}
    assert MessageKind.OVERFLOW in answers[1][1], "one was slow enough to overflow"
    assert any(MessageKind.STALE in kinds for _, kinds in answers)
    assert feed.figures.overflows
    assert feed.figures.reconnects


async def test_stretches_in_which_nothing_is_found_lead_on() -> None:
    log = Rare()
    feed = Feed(log, delay=0.01)
    for number in range(1, 1_001):
        log.add(number)
    wanted = list(range(97, 1_001, 100))
    async with asyncio.timeout(300), contextlib.aclosing(feed.follow("990", until="990")) as ahead:
        assert (await anext(ahead)).kind is MessageKind.REPLAY_COMPLETE
        assert (await anext(ahead)).item == 997, "the reader is at the end"
        early = await collected(feed, log, 997)  # by a replay
        async with contextlib.aclosing(feed.follow("0")) as messages:  # by catching up with the reader
            late = [message async for message in _up_to(messages, 997)]
    assert early[0] == [message.item for message in late if message.kind is MessageKind.ITEM] == wanted
    assert early[1].count(MessageKind.BOOKMARK) == [message.kind for message in late].count(MessageKind.BOOKMARK) == 90
    await feed.close()


async def _up_to(messages: AsyncIterator[FeedMessage[int]], last: int) -> AsyncIterator[FeedMessage[int]]:
    async for message in messages:
        yield message
        if message.item == last:
            return


async def test_a_slow_subscriber_delays_no_other_and_gets_the_cursor_to_resume_from() -> None:
    async with fed(buffer=5) as (log, feed), asyncio.timeout(300):
        slow = feed.follow("0")
        assert (await anext(slow)).kind is MessageKind.REPLAY_COMPLETE
        first = asyncio.create_task(anext(slow))
        await let_others_run()
        fast = asyncio.create_task(collected(feed, log, 50))
        for number in range(1, 51):
            log.add(number)
            await asyncio.sleep(0.001)  # the pace of a writer: the fast one keeps up, the slow one reads nothing
        assert (await fast)[0] == list(range(1, 51))
        messages = [await first, *[message async for message in slow]]
        assert messages[-1].kind is MessageKind.OVERFLOW
        got = [message.item for message in messages[:-1]]
        assert got == list(range(1, len(got) + 1))
        assert messages[-1].cursor == str(len(got))


async def test_one_reader_serves_all_and_stops_with_the_last() -> None:
    async with fed() as (log, feed), asyncio.timeout(300):
        readers = [asyncio.create_task(collected(feed, log, 10)) for _ in range(200)]
        await until(lambda: feed.figures.subscribers == 200)
        before = log.reads
        for number in range(1, 11):
            log.add(number)
        await asyncio.gather(*readers)
        assert log.reads - before < 10, "200 subscribers read as one"
        assert feed.figures.subscribers == 0
        assert feed._reader is None


async def test_while_the_store_is_unreachable_subscribers_get_stale_and_then_resume() -> None:
    async with fed() as (log, feed), asyncio.timeout(300):
        messages = feed.follow("0")
        assert (await anext(messages)).kind is MessageKind.REPLAY_COMPLETE
        log.add(1)
        assert (await anext(messages)).item == 1
        log.unreachable = True
        log.add(2)
        assert (await anext(messages)).kind is MessageKind.STALE
        log.unreachable = False
        assert [(await anext(messages)).kind, (await anext(messages)).item] == [MessageKind.FRESH, 2]
        await messages.aclose()


@pytest.mark.parametrize("unreachable", [True, False])
async def test_a_subscriber_that_joins_while_the_store_is_unreachable_waits_for_it(unreachable: bool) -> None:
    async with fed() as (log, feed), asyncio.timeout(300):
        log.add(1)
        log.unreachable = unreachable
        asyncio.get_running_loop().call_later(0.05, setattr, log, "unreachable", False)
        assert (await collected(feed, log, 1))[0] == [1]


async def test_a_subscriber_after_the_last_item_joins_a_reader_that_began_behind_it() -> None:
    """A head may stand behind the last item: other logs of the same database have gone on."""
    async with fed() as (log, feed), asyncio.timeout(300):
        log.add(1)
        first = feed.follow("100", until="100")
        assert (await anext(first)).kind is MessageKind.REPLAY_COMPLETE
        waiting = asyncio.create_task(anext(first))
        await let_others_run()
        second = feed.follow("0", until="1")
        assert [(await anext(second)).item, (await anext(second)).kind] == [1, MessageKind.REPLAY_COMPLETE]
        coming = asyncio.create_task(anext(second))
        before = log.reads
        await asyncio.sleep(0.05)  # a time in which it may not read again and again
        assert log.reads - before < 5, "it waits, and does not ask again and again"
        waiting.cancel()
        coming.cancel()
        await asyncio.gather(waiting, coming, return_exceptions=True)


class Gated(Numbers):
    """A log of two topics, each read of which has to be let through."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Semaphore(0)
        self.reading = asyncio.Event()

    async def read(self, after: str, limit: int, topics: Topics = None) -> LogPage[int]:
        entries, reached, more = await super().read(after, limit)
        of_topic = [entry._replace(topics=(entry.item % 2,)) for entry in entries]
        self.reading.set()
        await self.gate.acquire()
        return LogPage([entry for entry in of_topic if topics is None or entry.topics[0] in topics], reached, more)


async def test_a_subscriber_that_joins_during_a_read_misses_nothing() -> None:
    log = Gated()
    feed = Feed(log)
    async with asyncio.timeout(300):
        even, odd = feed.follow("0", SubscriptionOptions(topic=0)), feed.follow("0", SubscriptionOptions(topic=1))
        assert [(await anext(each)).kind for each in (even, odd)] == [MessageKind.REPLAY_COMPLETE] * 2
        log.add(1)
        log.add(2)
        first = asyncio.create_task(anext(even))
        await log.reading.wait()  # what it has read is of even numbers alone
        second = asyncio.create_task(anext(odd))
        await until(lambda: feed.figures.subscribers == 2)
        for _ in range(10):
            log.gate.release()
        assert [(await first).item, (await second).item] == [2, 1]
        await even.aclose()
        await odd.aclose()
