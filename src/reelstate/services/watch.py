"""watch: what happens to a job, from its beginning and then as it happens, until it rests. A bell says when to look.

The record is read in the order of transactions, the only one in which nothing can appear behind a reader. But of two
transactions that overlap, the one that began first may see what the other did: a claim may take what a younger submit
has made. Both become readable together, so the watcher puts what it has read in the order of time and versions.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

from reelstate.core.errors import WaitTimeout
from reelstate.core.machine import ENDED_JOBS, RESTING_JOBS
from reelstate.core.model import Event, JobDetail
from reelstate.dispatch.dispatch import JOB_BELLS, Dispatch, Listener
from reelstate.services.catalogue import Catalogue
from reelstate.services.observe import observe_history, observe_job
from reelstate.stores.store import Store

AT_REST = frozenset({*RESTING_JOBS, *ENDED_JOBS})
PAGE = 500
OVERLAP = 500
"""Events that are held back while more can be read at once: among them there may be some that came before others."""
LOOK_EVERY = 0.5
LOOK_AGAIN = 0.05
"""The shortest time between two looks, and the time after a bell in which what it told of may become readable."""


async def watch(
    store: Store, catalogue: Catalogue, dispatch: Dispatch, job_id: int, after: str | None = None
) -> AsyncGenerator[Event, None]:
    """The events of a job, each after what led to it, after a cursor or from its beginning; ends when the job rests.

    A rest that was followed by a retry does not end it: what counts is the last that is known of the job.
    """
    async with _looking(dispatch) as looks:
        await observe_job(store, catalogue, job_id)  # raises for a job that is not there
        last = await _last_change(store, job_id) if after is not None else NOTHING
        reading = _Reading()
        while True:
            page = await observe_history(store, job_id, limit=PAGE, after=after)
            after = page.items[-1].cursor if page.items else after
            last = max([last, *map(_change, page.items)])
            for event in reading.ordered(page.items, keep=OVERLAP if page.after else 0):
                yield event
            if page.after is None:
                if last[1] in AT_REST:
                    return
                await looks.next()


async def wait(
    store: Store, catalogue: Catalogue, dispatch: Dispatch, job_id: int, seconds: float | None = None
) -> JobDetail:
    """The job as soon as it rests. It looks at least once, however short the time."""
    limit = asyncio.timeout(seconds)
    async with _looking(dispatch) as looks:
        detail = await observe_job(store, catalogue, job_id)
        try:
            async with limit:
                while detail.job.status not in AT_REST:
                    await looks.next()
                    detail = await observe_job(store, catalogue, job_id)
        except TimeoutError:
            if seconds is None or not limit.expired():
                raise
            raise WaitTimeout(job_id, detail.job.status, seconds) from None
        return detail


@asynccontextmanager
async def _looking(dispatch: Dispatch) -> AsyncIterator[_Looks]:
    listener = dispatch.listen(JOB_BELLS)
    try:
        yield _Looks(listener)
    finally:
        listener.close()


class _Looks:
    """When to look next: at a bell, but not all the time where many ring, and now and then without one."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._patience = LOOK_EVERY
        self._last = 0.0

    async def next(self) -> None:
        loop = asyncio.get_running_loop()
        rung = await self._listener.wait(self._patience)
        self._patience = LOOK_AGAIN if rung else LOOK_EVERY
        await asyncio.sleep(max(0.0, self._last + LOOK_AGAIN - loop.time()))
        self._last = loop.time()


class _Reading:
    """Events as they were read, and which of them were given out."""

    def __init__(self) -> None:
        self._read: list[Event] = []
        self._given: set[str] = set()
        self._safe: str | None = None

    def ordered(self, events: list[Event], keep: int) -> Iterator[Event]:
        """What was read by now, each after what led to it, all but the last so many.

        An event's cursor is that of the last before which everything was given out: who goes on after it may get again
        what overlapped, and misses nothing.
        """
        self._read += events
        waiting = in_order([event for event in self._read if event.cursor not in self._given])
        for event in waiting[: max(0, len(waiting) - keep)]:
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
    return event.entity, event.stage, event.part


Change = tuple[int, str]
"""A version of the job and the status it brought."""
NOTHING: Change = (0, "")


def _change(event: Event) -> Change:
    return (event.version, event.target) if event.entity == "job" else NOTHING


def _start(event: Event) -> str:
    """The cursor before everything."""
    return f"{event.cursor.partition('.')[0]}.0.0"


async def _last_change(store: Store, job_id: int) -> Change:
    """What the record, as far as it can be read by now, last says of the job itself."""
    after, last = None, NOTHING
    while True:
        page = await observe_history(store, job_id, stage=-1, part=-1, limit=PAGE, after=after)
        last = max([last, *map(_change, page.items)])
        after = page.after
        if after is None:
            return last
