"""A cursor that is older than what the log keeps is reported, in every way of reading, and never skipped silently."""

import contextlib

import pytest

from reelstate.core.errors import CursorExpired, JobArchived
from reelstate.core.model import Event
from reelstate.engine import Engine
from reelstate.feed.subscriber import FeedMessage, MessageKind
from reelstate.services.feed import FeedItem
from tests.archive.finished_jobs import DAY, archive_engine, complete_jobs


async def messages(engine: Engine, **options: str) -> list[FeedMessage[FeedItem]]:
    """What a subscriber gets until it has caught up."""
    found = []
    async with contextlib.aclosing(engine.subscribe(**options)) as stream:  # type: ignore[arg-type]
        async for message in stream:
            found.append(message)
            if message.kind is MessageKind.REPLAY_COMPLETE:
                return found
    return found


def jobs_in(found: list[FeedMessage[FeedItem]]) -> set[int | None]:
    return {message.item.job_id for message in found if isinstance(message.item, Event)} - {None}


async def test_an_expired_cursor_is_reset_and_one_after_the_floor_goes_on(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        first = await engine.events(limit=1)
        old = await complete_jobs(engine, 3)
        between = await engine.head()
        clock.advance(20 * DAY)
        new = await complete_jobs(engine, 2)
        clock.advance(15 * DAY)
        start = (await engine.events(limit=1, after=first.after)).after
        assert start is not None
        await engine.archive()

        expired = await messages(engine, after=start)
        assert expired[0].kind is MessageKind.RESET
        going_on = await messages(engine, after=between)
        assert MessageKind.RESET not in [message.kind for message in going_on]
        assert jobs_in(going_on) == set(new)
        whole = await messages(engine, after="0")
        assert MessageKind.RESET not in [message.kind for message in whole]
        assert jobs_in(whole) == set(new)

        with pytest.raises(CursorExpired) as error:
            await engine.events(after=start)
        assert error.value.oldest is not None
        kept = await engine.events(after=error.value.oldest, limit=1000)
        assert {event.job_id for event in kept.items} - {None} == set(new)
        assert {event.job_id for event in (await engine.events(limit=1000)).items} - {None} == set(new)
        with pytest.raises(CursorExpired):
            async for _ in engine.watch(after=start):
                pass
        assert old


async def test_pages_from_the_beginning_are_not_expired_half_way(database_url: str) -> None:
    """An old job that stays keeps its events, which lie before those of jobs that were archived."""
    async with archive_engine(database_url) as (engine, clock):
        waiting = (await engine.submit("parts", {"parts": [1] * 3}, delay=400 * DAY)).job_id
        await complete_jobs(engine, 3)
        clock.advance(31 * DAY)
        await engine.archive()
        new = (await engine.submit("simple")).job_id
        cursor, seen = None, []
        for _ in range(20):
            page = await engine.events(limit=1, after=cursor)
            seen += page.items
            cursor = page.after
        assert new in {event.job_id for event in seen}
        log = engine.feed.log
        read = await log.read(log.first(), 1)
        for _ in range(5):
            read = await log.read(read.reached, 1)
        replayed = await messages(engine, job_id=waiting)  # type: ignore[arg-type]
        assert MessageKind.RESET not in [message.kind for message in replayed]
        history = [event.cursor for event in (await engine.history(waiting)).items]
        assert [message.cursor for message in replayed if isinstance(message.item, Event)] == history


async def test_a_subscription_to_an_archived_job_is_refused(database_url: str) -> None:
    async with archive_engine(database_url) as (engine, clock):
        (job_id,) = await complete_jobs(engine, 1)
        clock.advance(31 * DAY)
        await engine.archive()
        with pytest.raises(JobArchived):
            await messages(engine, job_id=job_id)  # type: ignore[arg-type]
