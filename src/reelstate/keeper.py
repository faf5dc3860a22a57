"""The keeper: the timer loop of the house. Any number of processes may run it; the lead of one only saves work.

    sweep        all       says that a keeper is here, takes back the leases of dead workers of its own machine;
                 leader    takes back expired leases, flags jobs without progress, marks silent workers offline
    orchestrate  leader    makes ready what is due
    relax        leader    lets tasks go on without what they want and no worker has
    check        leader    runs the quick invariants, tells what they find
    prune        leader    forgets instances that have been offline for long
    prune states leader    deletes states of jobs that finished long ago, and old versions of states
    mirror       leader    compares the hints in Redis with the store, where there is one
    …            leader    what others add: the library's duties are in `media/librarian.py`

What a keeper does is right whoever does it and however often: each change is guarded by the row it changes. Where Redis
is there, a lock in it decides who asks the store for the lead, so that the others need not.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from reelstate.config import Settings
from reelstate.core.errors import RedisUnavailable, StorageError, StoreFull, StoreReadOnly, StoreUnavailable
from reelstate.engine import Engine
from reelstate.locks.lock import Lock
from reelstate.runtime.process_identity import is_alive, own_machine

logger = logging.getLogger("reelstate.keeper")

PRUNE_EVERY = 3600.0
SHORTEST_LEAD = 1.0
LEAVE_TIMEOUT = 2.0
"""How long a keeper that stops waits for a database that may be away."""
JITTER = 0.1
OUTSIDE = (RedisUnavailable, StorageError, StoreFull, StoreReadOnly)
"""What is wrong with something outside of this program: its words say all, and where it was met says nothing."""


@dataclass(frozen=True, slots=True)
class Duty:
    """A verb and how often it is done; all but the sweep are the leader's."""

    name: str
    interval: float
    run: Callable[[], Awaitable[object]]
    leader_only: bool = True


def add_jitter(every: float) -> float:
    """About this long, so that keepers that were started together do not stay together."""
    return every * random.uniform(1 - JITTER, 1 + JITTER)


def steady() -> float:
    """Seconds of a clock that nobody sets, and that goes on while the machine sleeps where there is such a one."""
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)


def _told_to_stop() -> bool:
    """Whether this task was cancelled, even if something it called did not let it know.

    `asyncio.wait_for` of Python 3.11, which the pool of connections uses, swallows a cancel that comes together with
    its result.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _released_after(seconds: float, lock: Lock) -> None:
    await asyncio.sleep(seconds)
    await lock.release()


class Keeper:
    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        more: Iterable[Duty] = (),
        lock: Callable[[float], Lock] | None = None,
    ) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._engine = engine
        self._settings = settings
        self._lead = max(2 * settings.sweep_every, SHORTEST_LEAD)
        # Keepers are seen once a sweep, so a shorter pause than two sweeps says nothing.
        self._gap = max(settings.keeper_gap, self._lead)
        self._lock = lock(self._lead) if lock else None
        self._leading = asyncio.Event()
        self._swept = False
        self._seen: tuple[datetime, float] | None = None
        self._troubles: set[tuple[str, str]] = set()
        self._away_since: float | None = None
        self.duties = (
            Duty("sweep", settings.sweep_every, self._sweep, leader_only=False),
            Duty("orchestrate", settings.orchestrate_every, engine.orchestrate),
            Duty("relax", settings.sweep_every, self._relax),
            Duty("check", settings.check_every, engine.check),
            Duty("prune", PRUNE_EVERY, self._prune),
            Duty("prune states", PRUNE_EVERY, self._prune_states),
            *more,
        )

    @property
    def leads(self) -> bool:
        return self._leading.is_set()

    async def _relax(self) -> None:
        await self._engine.relax(older=self._settings.wants_grace)

    async def run(self) -> None:
        """Do every duty in its time, until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for duty in self.duties:
                    group.create_task(self._repeat(duty), name=f"keeper: {duty.name}")
        finally:
            await self._leave()

    async def _repeat(self, duty: Duty) -> None:
        while True:
            if duty.leader_only:
                await self._leading.wait()
            await self._attempt(duty)
            if _told_to_stop():
                return
            await asyncio.sleep(add_jitter(duty.interval))

    async def _attempt(self, duty: Duty) -> None:
        """Do a duty once. Whatever goes wrong is logged once, until it goes well again."""
        began = time.monotonic()
        try:
            await duty.run()
        except StoreUnavailable as error:
            if self._away_since is None:
                logger.warning("%s: %s; the keeper goes on when it is back", duty.name, error)
                self._away_since = time.monotonic()
        except Exception as error:
            trouble = (duty.name, type(error).__name__)
            if trouble not in self._troubles:
                words = f"{duty.name} failed: {error}; it is tried again every {duty.interval:g} s"
                logger.exception(words, exc_info=not isinstance(error, OUTSIDE))
            self._troubles.add(trouble)
        else:
            self._went_well(duty, began)

    def _went_well(self, duty: Duty, began: float) -> None:
        # What began before the outage was noticed says nothing of its end.
        if self._away_since is not None and began >= self._away_since:
            logger.warning("the database is back")
            self._away_since = None
        over = {trouble for trouble in self._troubles if trouble[0] == duty.name}
        if over:
            logger.warning("%s works again", duty.name)
        self._troubles -= over

    async def _sweep(self) -> None:
        if not await self._may_lead():
            self._follow(leads=False)
            self._swept = False
            await self._bury(self._settings.sweep_limit)
            return
        async with self._letting_others():
            await self._sweep_and_lead()

    async def _sweep_and_lead(self) -> None:
        at, then = self._seen or (None, 0.0)
        lead = await self._engine.lead(
            self.name,
            lead=self._lead,
            gap=self._gap,
            grace=self._settings.keeper_grace,
            swept=self._swept,
            since=at,
            elapsed=lambda: steady() - then,
        )
        self._seen = None if lead.at is None else (lead.at, steady())
        self._swept = False
        if lead.step:
            logger.warning("the database's clock was set by %+.0f s: leases and due times are moved along", lead.step)
        self._follow(leads=lead.leads)
        if lead.began:
            logger.warning("no keeper was here for a while: leases that ran out have %.0f s of grace", lead.grace)
        room = self._settings.sweep_limit - await self._bury(self._settings.sweep_limit)
        if lead.leads:
            await self._reclaim(room)
        if lead.leads and not lead.grace:
            await self._flag_stalled()
            await self._engine.reclaim_workers(stale_after=self._settings.stale_after)
        self._swept = lead.leads

    async def _may_lead(self) -> bool:
        """Whether to ask the store for the lead: a lock elsewhere spares it the question of all the others."""
        if self._lock is None or self._lock.held:
            return True
        try:
            await self._lock.release()  # one that was lost
            return await self._lock.acquire()
        except RedisUnavailable:
            return True

    @asynccontextmanager
    async def _letting_others(self) -> AsyncIterator[None]:
        """Keep the lock only while the store answers, and in time: else another keeper, which may reach it, asks."""
        if self._lock is None:
            yield
            return
        late = asyncio.create_task(_released_after(self._lead, self._lock))
        try:
            yield
        except Exception:
            await self._lock.release()
            raise
        finally:
            late.cancel()

    def _follow(self, *, leads: bool) -> None:
        if leads and not self.leads:
            logger.info("keeper %s leads", self.name)
            self._leading.set()
        elif not leads:
            self._leading.clear()

    async def _bury(self, room: int) -> int:
        """Take back what workers of this machine hold whose process is gone: only this machine can know."""
        machine = own_machine()
        if machine is None:
            return 0
        neighbours = await self._engine.neighbours(machine)
        dead = [worker_id for worker_id, process in neighbours if is_alive(process) is False]
        if not dead:
            return 0
        reclaimed = await self._engine.reclaim(limit=room, dead=dead, expired=False)
        logger.warning("workers %s are gone; tasks taken back: %d", ", ".join(map(str, dead)), reclaimed.total)
        return reclaimed.total

    async def _reclaim(self, room: int) -> None:
        reclaimed = await self._engine.reclaim(limit=room, gap=self._gap, stall_after=self._stall_limit("recover"))
        if reclaimed.total:
            logger.warning("expired leases taken back: %d", reclaimed.total)

    async def _flag_stalled(self) -> None:
        for flag in await self._engine.flag_stalled(stall_after=self._stall_limit("flag")):
            if flag.reason is None:
                logger.info("job flag cleared job=%d", flag.job_id)
            else:
                logger.warning("job flagged job=%d reason=%r hint=`reel job %d`", flag.job_id, flag.reason, flag.job_id)

    def _stall_limit(self, action: str) -> float | None:
        """The deployment's limit of seconds without progress, where this is what is done about it."""
        settings = self._settings
        return settings.stall_after if settings.stall_after and settings.stall_action == action else None

    async def _prune(self) -> None:
        forgotten = await self._engine.prune_workers(older=self._settings.prune_after)
        if forgotten:
            logger.info("workers forgotten after being offline for long: %d", len(forgotten))

    async def _prune_states(self) -> None:
        jobs, versions = await self._engine.prune_states(older=self._settings.keep_states)
        if jobs or versions:
            logger.info("states pruned jobs=%d versions=%d", len(jobs), versions)

    async def _leave(self) -> None:
        """Let another lead at once; if that can't be said now, the lead ends by itself."""
        self._leading.clear()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._engine.leave(self.name), LEAVE_TIMEOUT)
        if self._lock is not None:
            await self._lock.release()
