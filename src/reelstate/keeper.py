"""The keeper: runs the periodic duties of a cluster. Any number of processes may run one; a leader only saves work.

    sweep        all       records that a keeper is alive, reclaims the leases of dead workers of its own machine;
                 leader    reclaims expired leases, flags jobs without progress, marks silent workers offline
    orchestrate  leader    makes due tasks ready, starts jobs that waited for others, finishes groups
    schedules    leader    runs the ticks of schedules that are due
    relax        leader    lets tasks run without preferences that no worker fulfils
    settle pauses leader   returns tasks to their lanes after a pause was lifted, where the one who lifted it did not
    settle limits leader   brings tasks under a limit that was set, where the one who set it did not
    admit         leader   lets tasks run whose limits have room, where no worker asks
    check        leader    checks the quick invariants and logs violations
    prune        leader    deletes worker instances that have been offline for long
    prune states leader    deletes states of jobs that finished long ago, and old versions of states
    archive      leader    moves finished jobs to the archive, and deletes what is older than the deployment keeps
    mirror       leader    compares the hints in Redis with the store, if Redis is configured
    …            leader    duties that a package adds, such as those in `library/duties.py`

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

from reelstate.artifacts.storage import open_storage
from reelstate.config import Settings
from reelstate.core.alert import AlertType
from reelstate.core.errors import RedisUnavailable, StorageError, StoreFull, StoreReadOnly, StoreUnavailable
from reelstate.engine import Engine
from reelstate.locks.lock import Lock
from reelstate.runtime.process_identity import is_alive, own_machine
from reelstate.services.retention import Ages
from reelstate.telemetry.facts import DutyRun, emit

logger = logging.getLogger("reelstate.keeper")

PRUNE_EVERY = 3600.0
MIN_LEAD = 1.0
LEAVE_TIMEOUT = 2.0
"""Seconds that a stopping keeper waits for an unreachable database."""
JITTER = 0.1
EXTERNAL_ERRORS = (RedisUnavailable, StorageError, StoreFull, StoreReadOnly)
"""Errors of external services; they are logged without a traceback."""


@dataclass(frozen=True, slots=True)
class Duty:
    """A function that the keeper calls every `interval` seconds; with `leader_only`, only while it leads."""

    name: str
    interval: float
    run: Callable[[], Awaitable[object]]
    leader_only: bool = True


def add_jitter(seconds: float) -> float:
    """Vary a duration by up to 10 %, so that keepers that were started together do not stay in step."""
    return seconds * random.uniform(1 - JITTER, 1 + JITTER)


def boot_seconds() -> float:
    """Return seconds of a monotonic clock, if possible one that advances while the machine sleeps."""
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)


def _is_cancelled() -> bool:
    """Return whether this task was cancelled, even if a function that it called swallowed the cancellation.

    `asyncio.wait_for` of Python 3.11, which the connection pool uses, swallows one that arrives with its result.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _release_after(seconds: float, lock: Lock) -> None:
    await asyncio.sleep(seconds)
    await lock.release()


class Keeper:
    """Runs its own duties and `extra_duties`; `lock` makes a lock that decides which keeper asks the store to lead."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        extra_duties: Iterable[Duty] = (),
        lock: Callable[[float], Lock] | None = None,
    ) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._engine = engine
        self._settings = settings
        self._lead = max(2 * settings.sweep_every, MIN_LEAD)
        # Keepers are recorded once a sweep, so a gap of less than two sweeps means nothing.
        self._gap = max(settings.keeper_gap, self._lead)
        self._lock = lock(self._lead) if lock else None
        self._leading = asyncio.Event()
        self._swept = False
        self._seen: tuple[datetime, float] | None = None
        self._failing: set[tuple[str, str]] = set()
        self._unreachable_since: float | None = None
        self.duties = (
            Duty("sweep", settings.sweep_every, self._sweep, leader_only=False),
            Duty("orchestrate", settings.orchestrate_every, engine.orchestrate),
            Duty("schedules", settings.schedules_every, engine.schedules.run_due),
            Duty("relax", settings.sweep_every, self._relax),
            Duty("settle pauses", settings.sweep_every, engine.settle_pauses),
            Duty("settle limits", settings.sweep_every, engine.limits.settle),
            Duty("admit", settings.orchestrate_every, engine.limits.admit),
            Duty("prune limits", PRUNE_EVERY, engine.limits.prune),
            Duty("check", settings.check_every, engine.check),
            Duty("prune", PRUNE_EVERY, self._prune),
            Duty("prune states", PRUNE_EVERY, self._prune_states),
            Duty("archive", settings.archive_every, self._archive),
            *extra_duties,
        )

    @property
    def leads(self) -> bool:
        return self._leading.is_set()

    async def run(self) -> None:
        """Run every duty at its interval until cancelled, then give up the lead."""
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
            if _is_cancelled():
                return
            await asyncio.sleep(add_jitter(duty.interval))

    async def _attempt(self, duty: Duty) -> None:
        """Run a duty once. A failure is logged once, until the duty succeeds again."""
        started = time.monotonic()
        failed = True
        try:
            await duty.run()
        except StoreUnavailable as error:
            if self._unreachable_since is None:
                logger.warning("database unreachable duty=%s error=%s", duty.name, error)
                self._unreachable_since = time.monotonic()
        except Exception as error:
            failure = (duty.name, type(error).__name__)
            if failure not in self._failing:
                event = f"duty failed duty={duty.name} retry_in={duty.interval:g} error={error}"
                logger.exception(event, exc_info=not isinstance(error, EXTERNAL_ERRORS))
            self._failing.add(failure)
        else:
            failed = False
            self._on_success(duty, started)
        emit(DutyRun(duty.name, time.monotonic() - started, failed))

    def _on_success(self, duty: Duty, started: float) -> None:
        # A duty that started before the outage was noticed does not prove that it is over.
        if self._unreachable_since is not None and started >= self._unreachable_since:
            logger.warning("database reconnected")
            self._unreachable_since = None
        recovered = {failure for failure in self._failing if failure[0] == duty.name}
        if recovered:
            logger.warning("duty recovered duty=%s", duty.name)
        self._failing -= recovered

    async def _sweep(self) -> None:
        if not await self._may_lead():
            self._set_leading(leads=False)
            self._swept = False
            await self._reclaim_dead(self._settings.sweep_limit)
            return
        async with self._release_lock_on_failure():
            await self._sweep_and_lead()

    async def _sweep_and_lead(self) -> None:
        seen_at, then = self._seen or (None, 0.0)
        lead = await self._engine.lead(
            self.name,
            lead=self._lead,
            gap=self._gap,
            grace=self._settings.keeper_grace,
            swept=self._swept,
            since=seen_at,
            elapsed=lambda: boot_seconds() - then,
        )
        self._seen = None if lead.at is None else (lead.at, boot_seconds())
        self._swept = False
        if lead.step:
            logger.warning("database clock stepped seconds=%+.0f; leases and due times adjusted", lead.step)
        self._set_leading(leads=lead.leads)
        if lead.began:
            logger.warning("no keeper ran for a while; expired leases get grace seconds=%.0f", lead.grace)
            await self._engine.alert(AlertType.KEEPER_STALLED, "keepers", f"{self.name} has taken over")
        limit = self._settings.sweep_limit - await self._reclaim_dead(self._settings.sweep_limit)
        if lead.leads:
            await self._reclaim_expired(limit)
        if lead.leads and not lead.grace:
            await self._flag_stalled()
            await self._engine.reclaim_workers(stale_after=self._settings.stale_after)
        self._swept = lead.leads

    async def _may_lead(self) -> bool:
        """Return whether to ask the store for the lead: with a lock in Redis, only the keeper that holds it asks."""
        if self._lock is None or self._lock.held:
            return True
        try:
            await self._lock.release()  # it was lost
            return await self._lock.acquire()
        except RedisUnavailable:
            return True

    @asynccontextmanager
    async def _release_lock_on_failure(self) -> AsyncIterator[None]:
        """Give the lock to another keeper if the store fails or does not answer in time."""
        if self._lock is None:
            yield
            return
        late = asyncio.create_task(_release_after(self._lead, self._lock))
        try:
            yield
        except Exception:
            await self._lock.release()
            raise
        finally:
            late.cancel()

    def _set_leading(self, *, leads: bool) -> None:
        if leads and not self.leads:
            logger.info("keeper leads name=%s", self.name)
            self._leading.set()
        elif not leads:
            self._leading.clear()

    async def _reclaim_dead(self, limit: int) -> int:
        """Reclaim the leases of workers of this machine whose process is dead; return how many."""
        machine = own_machine()
        if machine is None:
            return 0
        workers = await self._engine.neighbours(machine)
        dead = [worker_id for worker_id, process in workers if is_alive(process) is False]
        if not dead:
            return 0
        reclaimed = await self._engine.reclaim(limit=limit, dead=dead, expired=False)
        logger.warning(
            "leases of dead workers reclaimed workers=%s tasks=%d", ",".join(map(str, dead)), reclaimed.total
        )
        return reclaimed.total

    async def _reclaim_expired(self, limit: int) -> None:
        reclaimed = await self._engine.reclaim(limit=limit, gap=self._gap, stall_after=self._stall_limit("recover"))
        if reclaimed.total:
            logger.warning("expired leases reclaimed tasks=%d", reclaimed.total)

    async def _flag_stalled(self) -> None:
        for flag in await self._engine.flag_stalled(stall_after=self._stall_limit("flag")):
            if flag.reason is None:
                logger.info("job flag cleared job=%d", flag.job_id)
            else:
                logger.warning("job flagged job=%d reason=%r hint=`reel job %d`", flag.job_id, flag.reason, flag.job_id)

    def _stall_limit(self, action: str) -> float | None:
        """Return the configured limit without progress if this is the configured action."""
        settings = self._settings
        return settings.stall_after if settings.stall_after and settings.stall_action == action else None

    async def _relax(self) -> None:
        await self._engine.relax(older=self._settings.wants_grace)

    async def _prune(self) -> None:
        pruned = await self._engine.prune_workers(older=self._settings.prune_after)
        if pruned:
            logger.info("offline workers pruned count=%d", len(pruned))

    async def _prune_states(self) -> None:
        jobs, versions = await self._engine.prune_states(older=self._settings.keep_states)
        if jobs or versions:
            logger.info("states pruned jobs=%d versions=%d", len(jobs), versions)

    async def _archive(self) -> None:
        """Archive what is due, then delete what is too old: each step may be interrupted, and is continued later."""
        settings = self._settings
        moved = await self._engine.archive(
            older=settings.archive_after or None, failed_older=settings.archive_failed_after or None
        )
        if moved.total:
            logger.info("jobs archived jobs=%d months=%s", moved.total, ",".join(moved.jobs))
        deleted = await self._engine.retain(
            Ages(
                idempotency=settings.keep_idempotency,
                logs=settings.keep_logs,
                steps=settings.keep_steps,
                worker_events=settings.keep_worker_events,
                schedule_runs=settings.keep_schedule_runs,
            )
        )
        if deleted.total:
            logger.info(
                "old rows deleted idempotency=%d logs=%d steps=%d worker_events=%d schedule_runs=%d",
                deleted.idempotency, deleted.logs, deleted.steps, deleted.worker_events, deleted.schedule_runs,
            )  # fmt: skip
        if settings.retention:
            storage = open_storage(settings.storage_url) if settings.archive_export == "on" else None
            for month in await self._engine.drop_months(older=settings.retention, storage=storage):
                logger.warning("month deleted from the archive month=%s exported=%s", month, storage is not None)
        await self._engine.vacuum()

    async def _leave(self) -> None:
        """Give up the lead now; if the store is unreachable, the lead expires."""
        self._leading.clear()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._engine.leave(self.name), LEAVE_TIMEOUT)
        if self._lock is not None:
            await self._lock.release()
