"""watch: what happens to a job, or to everything, as events alone: a view of the feed. wait: until a job rests.

The feed is in the order of transactions, the only one in which nothing can appear behind a reader. But of two
transactions that overlap, the one that began first may see what the other did: a claim may take what a younger submit
has made. Both become readable together, so the watcher puts what it has read in the order of time and versions.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence

from reelstate.core.errors import InvalidRequest, WaitTimeout
from reelstate.core.machine import FINISHED_JOBS, STOPPED_JOBS
from reelstate.core.model import Event, JobDetail
from reelstate.dispatch.dispatch import Dispatch, Wakeup
from reelstate.feed.feed import Feed
from reelstate.feed.subscriber import SETTLED, MessageKind
from reelstate.services.catalogue import Catalogue
from reelstate.services.feed import FeedItem
from reelstate.services.observe import observe_history, observe_job
from reelstate.services.subscribe import EVENTS, Subscription, subscribe
from reelstate.stores.store import Store

AT_REST = frozenset({*STOPPED_JOBS, *FINISHED_JOBS})
PAGE = 500
OVERLAP = 500
"""Events that are held back while more can be read at once: among them there may be some that came before others."""
LOOK_ANYWAY = 0.5
"""Seconds after which a job is looked at though no bell has rung."""


async def watch(
    feed: Feed[FeedItem], store: Store, catalogue: Catalogue, job_id: int | None = None, after: str | None = None
) -> AsyncGenerator[Event, None]:
    """Events, each after what led to it, after a cursor or from the job's beginning; ends when the job rests.

    A rest that was followed by a retry does not end it: what counts is the last that is known of the job. Without a
    job: whatever happens from now on, or after a cursor, for ever.
    """
    wanted = Subscription(job_id=job_id, only=EVENTS, progress=False)
    last = NOTHING if job_id is None or after is None else await last_change(store, catalogue, job_id)
    reading = _Reading()
    while True:
        async with contextlib.aclosing(subscribe(feed, store, wanted, after, settle=True)) as messages:
            async for message in messages:
                after = message.cursor
                if message.kind is MessageKind.RESET and not reading.begun:
                    raise InvalidRequest("after", "the cursor is lost", hint="start again without a cursor")
                if isinstance(message.item, Event):
                    last = max(last, change_of(message.item))
                    reading.read(message.item)
                settled = message.kind in SETTLED
                for event in reading.ordered(settled=settled):
                    yield event
                if settled and job_id is not None and last[1] in AT_REST:
                    return


async def wait(
    store: Store, catalogue: Catalogue, dispatch: Dispatch, job_id: int, seconds: float | None = None
) -> JobDetail:
    """The job as soon as it rests. It looks at least once, however short the time.

    Not by the feed: whoever waits for the end of many tasks need not read of each of them.
    """
    limit = asyncio.timeout(seconds)
    listener = dispatch.listen((Wakeup.JOB_INACTIVE,))
    detail = await observe_job(store, catalogue, job_id)
    try:
        async with limit:
            while detail.job.status not in AT_REST:
                await listener.wait(LOOK_ANYWAY)
                detail = await observe_job(store, catalogue, job_id)
    except TimeoutError:
        if seconds is None or not limit.expired():
            raise
        raise WaitTimeout(job_id, detail.job.status, seconds) from None
    finally:
        listener.close()
    return detail


class _Reading:
    """Events as they were read, and which of them were given out."""

    def __init__(self) -> None:
        self._read: list[Event] = []
        self._given: set[str] = set()
        self._safe: str | None = None

    @property
    def begun(self) -> bool:
        return bool(self._read) or self._safe is not None

    def read(self, event: Event) -> None:
        self._read.append(event)

    def ordered(self, *, settled: bool) -> Iterator[Event]:
        """What was read by now, each after what led to it; while more can be read, the last ones are held back.

        An event's cursor is that of the last before which everything was given out: who goes on after it may get again
        what overlapped, and misses nothing.
        """
        if not settled and len(self._read) < 2 * OVERLAP:
            return
        waiting = in_order([event for event in self._read if event.cursor not in self._given])
        for event in waiting if settled else waiting[:-OVERLAP]:
            self._given.add(event.cursor)
            yield dataclasses.replace(event, cursor=self._reached(event))

    def _reached(self, event: Event) -> str:
        done = 0
        while done < len(self._read) and self._read[done].cursor in self._given:
            self._safe = self._read[done].cursor
            self._given.discard(self._safe)
            done += 1
        del self._read[:done]
        return self._safe or _start(event)


def in_order(events: Sequence[Event]) -> list[Event]:
    """By time, and what happened to one entity by its versions, which no clock can be wrong about."""
    timed = sorted(events, key=lambda event: event.at)
    versions: dict[object, deque[Event]] = {}
    for event in sorted(events, key=lambda event: event.version):
        versions.setdefault(_entity(event), deque()).append(event)
    return [versions[_entity(event)].popleft() for event in timed]


def _entity(event: Event) -> tuple[object, ...]:
    return event.entity, event.job_id, event.stage_number, event.part, event.worker_id


Change = tuple[int, str]
"""A version of the job and the status it brought."""
NOTHING: Change = (0, "")


def change_of(event: Event) -> Change:
    return (event.version, event.target) if event.entity == "job" else NOTHING


def _start(event: Event) -> str:
    """The cursor before everything."""
    return f"{event.cursor.partition('.')[0]}.0.0"


async def last_change(store: Store, catalogue: Catalogue, job_id: int) -> Change:
    """What the record, as far as it can be read by now, last says of the job itself."""
    after, last = None, NOTHING
    while True:
        page = await observe_history(store, catalogue, job_id, stage=-1, part=-1, limit=PAGE, after=after)
        last = max([last, *map(change_of, page.items)])
        after = page.after
        if after is None:
            return last
