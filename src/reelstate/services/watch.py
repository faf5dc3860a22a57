"""watch: follow the events of a job, or of everything. wait: until a job is inactive.

The feed is in the order of transactions, the only one in which no event can appear behind a reader. Of two overlapping
transactions the one that began first may depend on the other: a claim may take a task of a younger submit. Both become
readable together, so `watch` sorts what it has read by time and versions.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

from reelstate.core.errors import CursorExpired, WaitTimeout
from reelstate.core.machine import INACTIVE_JOBS
from reelstate.core.model import Event, JobDetail
from reelstate.dispatch.dispatch import Dispatch, Wakeup
from reelstate.feed.feed import Feed
from reelstate.feed.subscriber import SETTLED, FeedMessage, MessageKind
from reelstate.services.catalogue import Catalogue
from reelstate.services.feed import FeedItem
from reelstate.services.observe import observe_history, observe_job
from reelstate.services.paging import every
from reelstate.services.subscribe import EVENTS, Subscription, subscribe
from reelstate.stores.store import Store

PAGE = 500
OVERLAP = 500
"""Events that are held back while more are readable, since they may have to be sorted among later ones."""
POLL_INTERVAL = 0.5
"""Seconds after which `wait` reads a job without a wake-up."""
Messages = AsyncGenerator[FeedMessage[FeedItem], None]
Change = tuple[int, str]
"""A version of a job and its status."""
NOTHING: Change = (0, "")


async def watch(
    feed: Feed[FeedItem], store: Store, catalogue: Catalogue, job_id: int | None = None, after: str | None = None
) -> AsyncGenerator[Event, None]:
    """Yield events, each after its causes, after a cursor or from the creation of the job, until the job is inactive.

    A stop that was followed by a retry does not end it: the last known status decides. Without a job, yield all new
    events, or all after a cursor, without end. Raise `CursorExpired` where events after the cursor are archived.
    """
    if job_id is not None and (await observe_job(store, catalogue, job_id)).job.archived:
        async for event in every(
            lambda cursor: observe_history(store, catalogue, job_id, limit=PAGE, after=cursor or after)
        ):
            yield event
        return
    subscription = Subscription(job_id=job_id, only=EVENTS, progress=False)
    last = NOTHING if job_id is None or after is None else await last_change(store, catalogue, job_id)

    def follow(cursor: str | None) -> Messages:
        return subscribe(feed, store, subscription, cursor, settle=True)

    async with contextlib.aclosing(follow_events(follow, job_id, after, last)) as events:
        async for event in events:
            yield event


async def follow_events(
    follow: Callable[[str | None], Messages], job_id: int | None, after: str | None = None, last: Change = NOTHING
) -> AsyncGenerator[Event, None]:
    """Yield the events of subscriptions as `watch` does; `follow` subscribes after a cursor, with bookmarks.

    `last` is the last known change of the job.
    """
    reading = _Reading()
    while True:
        async with contextlib.aclosing(follow(after)) as messages:
            async for message in messages:
                if message.kind is MessageKind.RESET and (job_id is None or not reading.begun):
                    raise CursorExpired(after or message.cursor, message.cursor)
                after = message.cursor
                if isinstance(message.item, Event):
                    last = max(last, change_of(message.item))
                    reading.read(message.item)
                settled = message.kind in SETTLED
                for event in reading.ordered(settled=settled):
                    yield event
                if settled and job_id is not None and last[1] in INACTIVE_JOBS:
                    return


async def wait(
    store: Store,
    catalogue: Catalogue,
    dispatch: Dispatch,
    job_id: int,
    seconds: float | None = None,
    *,
    poll: float = POLL_INTERVAL,
) -> JobDetail:
    """Return the job as soon as it is inactive; raise `WaitTimeout` after `seconds`. Read it at least once.

    It does not use the feed, which would read every event of the job.
    """
    limit = asyncio.timeout(seconds)
    listener = dispatch.listen((Wakeup.JOB_INACTIVE,))
    detail = await observe_job(store, catalogue, job_id)
    try:
        async with limit:
            while detail.job.status not in INACTIVE_JOBS:
                await listener.wait(poll)
                detail = await observe_job(store, catalogue, job_id)
    except TimeoutError:
        if seconds is None or not limit.expired():
            raise
        raise WaitTimeout(job_id, detail.job.status, seconds) from None
    finally:
        listener.close()
    return detail


class _Reading:
    """Events as they were read, and which of them were yielded."""

    def __init__(self) -> None:
        self._read: list[Event] = []
        self._yielded: set[str] = set()
        self._safe: str | None = None

    @property
    def begun(self) -> bool:
        return bool(self._read) or self._safe is not None

    def read(self, event: Event) -> None:
        self._read.append(event)

    def ordered(self, *, settled: bool) -> Iterator[Event]:
        """Yield the events read so far, each after its causes; while more are readable, hold the last ones back.

        The cursor of an event is the last one before which everything was yielded: a reader that resumes after it may
        get overlapping events again, and misses none.
        """
        if not settled and len(self._read) < 2 * OVERLAP:
            return
        waiting = in_order([event for event in self._read if event.cursor not in self._yielded])
        for event in waiting if settled else waiting[:-OVERLAP]:
            self._yielded.add(event.cursor)
            yield dataclasses.replace(event, cursor=self._safe_cursor(event))

    def _safe_cursor(self, event: Event) -> str:
        done = 0
        while done < len(self._read) and self._read[done].cursor in self._yielded:
            self._safe = self._read[done].cursor
            self._yielded.discard(self._safe)
            done += 1
        del self._read[:done]
        return self._safe or _start(event)


def in_order(events: Sequence[Event]) -> list[Event]:
    """Sort events by time, and those of one entity by version, which does not depend on a clock."""
    timed = sorted(events, key=lambda event: event.at)
    versions: dict[object, deque[Event]] = {}
    for event in sorted(events, key=lambda event: event.version):
        versions.setdefault(_entity(event), deque()).append(event)
    return [versions[_entity(event)].popleft() for event in timed]


def _entity(event: Event) -> tuple[object, ...]:
    return event.entity, event.job_id, event.stage, event.part, event.worker_id


def change_of(event: Event) -> Change:
    return (event.version, event.target) if event.entity == "job" else NOTHING


def _start(event: Event) -> str:
    """Return the cursor before the first event."""
    return f"{event.cursor.partition('.')[0]}.0.0"


async def last_change(store: Store, catalogue: Catalogue, job_id: int) -> Change:
    """Return the last readable change of the job itself."""
    after, last = None, NOTHING
    while True:
        page = await observe_history(store, catalogue, job_id, stage=-1, part=-1, limit=PAGE, after=after)
        last = max([last, *map(change_of, page.items)])
        after = page.after
        if after is None:
            return last
