"""watch: what happens to a job, from its beginning and then as it happens, until it rests. A bell says when to look."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from reelstate.core.errors import WaitTimeout
from reelstate.core.machine import ENDED_JOBS, RESTING_JOBS
from reelstate.core.model import Event, JobDetail
from reelstate.dispatch.dispatch import EVERY_BELL, Dispatch, Listener
from reelstate.services.catalogue import Catalogue
from reelstate.services.observe import observe_history, observe_job
from reelstate.stores.store import Store

AT_REST = frozenset({*RESTING_JOBS, *ENDED_JOBS})
PAGE = 500
LOOK_EVERY = 0.5
LOOK_AGAIN = 0.05
"""The shortest time between two looks, and the time after a bell in which what it told of may become readable."""


async def watch(
    store: Store, catalogue: Catalogue, dispatch: Dispatch, job_id: int, after: str | None = None
) -> AsyncGenerator[Event, None]:
    """The events of a job in the order of commit, after a cursor or from its beginning; ends when the job rests.

    A rest that was followed by a retry does not end it: what counts is the last that is known of the job.
    """
    async with _looking(dispatch) as looks:
        await observe_job(store, catalogue, job_id)  # raises for a job that is not there
        status = await _last_status(store, job_id) if after is not None else None
        while True:
            page = await observe_history(store, job_id, limit=PAGE, after=after)
            for event in page.items:
                after = event.cursor
                status = event.target if event.entity == "job" else status
                yield event
            if page.after is None:
                if status in AT_REST:
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
    listener = dispatch.listen(EVERY_BELL)
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


async def _last_status(store: Store, job_id: int) -> str | None:
    """What the record, as far as it can be read by now, last says of the job itself."""
    after, status = None, None
    while True:
        page = await observe_history(store, job_id, stage=-1, part=-1, limit=PAGE, after=after)
        status = page.items[-1].target if page.items else status
        after = page.after
        if after is None:
            return status
