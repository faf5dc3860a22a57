"""The dispatch over Redis: wake-ups by pub/sub, hints from a mirror of ready tasks, messages to subscribers.

```text
 commit ──▶ tasks_ready ──▶ read the jobs' ready tasks ──▶ add hints, notify ──▶ take hints ──▶ claim them in the store
            (after it)      (one read for many calls)      (one round trip)          │ none: the store is not asked
                                                                                     └──▶ settle: gone, back or unsure
```

While Redis is unreachable the breaker is open and no call waits. In mode `hybrid` every claim then asks the store, as
without Redis; in mode `redis`, which spares the store, only some do. After a reconnect the mirror is reconciled.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any

from reelstate.connections.redis import Client, RedisClient, RedisSettings
from reelstate.core.errors import RedisUnavailable, StoreError
from reelstate.core.model import Json, TaskKey
from reelstate.dispatch.dispatch import WORKER_WAKEUPS, Dispatch, DispatchHealth, Listener, Wakeup
from reelstate.dispatch.hint_queue import HintQueue
from reelstate.dispatch.hints import (
    ASK_STORE,
    NO_HINTS,
    ChannelMessage,
    ClaimFilter,
    Hint,
    Hints,
    Lane,
    MirrorSource,
    ReadyTask,
)
from reelstate.dispatch.mirror import Mirror
from reelstate.dispatch.redis_queue import SortedQueue
from reelstate.dispatch.redis_streams import StreamsQueue
from reelstate.dispatch.redis_wakeups import RedisWakeups
from reelstate.dispatch.wakeups import LocalWakeups, WakeupBatch
from reelstate.runtime.cancellation import cancel_and_wait

logger = logging.getLogger("reelstate.dispatch")

QUEUES: dict[str, type[HintQueue]] = {"sorted": SortedQueue, "streams": StreamsQueue}
FLUSH_TIMEOUT = 1.0
"""Seconds that closing waits for what is still to be sent."""
PUBLISH_INTERVAL = 0.2
"""The shortest time between two messages about the same job."""
STORE_RETRY_SECONDS = 1.0
BUSY_TASKS = 10
"""Workers count as busy when one gets this many tasks at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisUse:
    """How Redis is used."""

    strict: bool = False
    """Whether it must be reachable at the start, and the store is spared while it is not."""
    queue: str = "sorted"
    max_hints: int = 10_000
    look_interval: float = 30.0
    """Seconds between two claims that ask the store although there is no hint, per kind of worker in a process."""
    skip_seconds: float = 1.0
    """Seconds during which a lane is skipped that prefers other workers."""


class RedisDispatch(Dispatch):
    """Mirrors the ready tasks of a store in Redis."""

    mirrors = True

    def __init__(self, settings: RedisSettings, use: RedisUse) -> None:
        self.redis = RedisClient(settings)
        self.queue = QUEUES[use.queue](self.redis)
        self._use = use
        self._mirror = Mirror(self.queue, use.max_hints)
        self._local = LocalWakeups()
        self._wakeups = RedisWakeups(self.redis, self._local, self._on_hints_lost)
        self._batch = WakeupBatch(self._send)
        self._source: MirrorSource | None = None
        self._lanes: dict[int, Lane] = {}
        self._epoch = ""
        self._skipped_until: dict[int, float] = {}
        self._next_look: dict[ClaimFilter, float] = {}
        self._ready_jobs: set[int] = set()
        self._ready_tasks: list[ReadyTask] = []
        self._claimed: list[TaskKey] = []
        self._must_reconcile = self._must_fill = self._must_compare = False
        self._has_lost_hints = False
        """Whether Redis lacks hints that only this process knows of."""
        self._mirror_changed = asyncio.Event()
        self._changed_jobs: set[int] = set()
        self._messages_by_subject: dict[tuple[str, int | str], ChannelMessage] = {}
        self._has_messages = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._closing = False

    async def open(self) -> None:
        self.redis.on_reconnect(self._on_reconnect)
        try:
            await self.redis.check()
        except RedisUnavailable as error:
            if self._use.strict:
                await self.redis.close()
                raise
            self.redis.breaker.open_now(str(error).removeprefix(f"{self.redis.settings.shown_url} "))
        self._loops = [asyncio.create_task(self._run_mirror()), asyncio.create_task(self._run_publisher())]

    async def close(self) -> None:
        self._batch.flush()
        self._closing = True
        self._mirror_changed.set()
        self._has_messages.set()
        left = [*self._loops, *self._tasks]
        if left and self.redis.breaker.is_closed:
            await asyncio.wait(left, timeout=FLUSH_TIMEOUT)
        await cancel_and_wait(*left)
        await self._wakeups.close()
        await self.redis.close()

    def set_source(self, source: MirrorSource) -> None:
        self._source = source

    def notify(self, wakeup: Wakeup) -> None:
        self._local.notify(wakeup)
        self._batch.notify(wakeup)

    def listen(self, wakeups: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:
        self._wakeups.start()
        return self._local.listen(wakeups)

    def tasks_ready(self, job_ids: Collection[int] | None = None, known: Collection[ReadyTask] = ()) -> None:
        """Notify once the hints are added; while Redis is unreachable, notify this process only."""
        if not self.redis.breaker.is_closed:
            self._has_lost_hints = True
            self._local.notify(Wakeup.WORK)
        elif job_ids is None:
            self._must_reconcile = True
        else:
            self._ready_jobs.update(job_ids)
            self._ready_tasks.extend(known)
        self._mirror_changed.set()

    async def take_hints(self, claim_filter: ClaimFilter, limit: int) -> Hints:
        """Take hints. While workers are busy the store is asked directly: hints only spare it empty claims."""
        if self.queue.is_busy:
            return ASK_STORE
        try:
            taken = await self._take(claim_filter, limit)
        except RedisUnavailable:
            return ASK_STORE if not self._use.strict or self._should_look(claim_filter) else NO_HINTS
        if len(taken.hints) >= BUSY_TASKS:
            self._start(self.queue.set_busy())
        return taken

    async def _take(self, claim_filter: ClaimFilter, limit: int) -> Hints:
        taken = await self.queue.take(self._served_lanes(claim_filter), limit)
        if taken.epoch and (taken.epoch, taken.lanes) != (self._epoch, len(self._lanes)):
            await self.queue.settle(back=taken.hints)
            self._lanes, self._epoch = await self.queue.lanes(), taken.epoch
            taken = await self.queue.take(self._served_lanes(claim_filter), limit)
        if not taken.epoch:
            self._request_fill()
            return ASK_STORE
        if taken.is_cut and len(taken.hints) < limit:
            self._request_fill()
        look = taken.has_isolated or (taken.is_cut and len(taken.hints) < limit)
        return Hints(taken.hints, look=look or (not taken.hints and self._should_look(claim_filter)))

    def settle_hints(self, claim_filter: ClaimFilter, hints: Hints, claimed: Collection[TaskKey] | None) -> None:
        gone, back, doubted = [], [], set()
        for hint in hints.hints:
            if claimed is not None and hint.key in claimed:
                gone.append(hint)
            elif claimed is None or self._must_wait(claim_filter, hint):
                back.append(hint)
            else:
                gone.append(hint)
                doubted.add(hint.key.job_id)
        self._start(self._settle(gone, back, doubted))

    async def _settle(self, gone: list[Hint], back: list[Hint], doubted: set[int]) -> None:
        await self.queue.settle(gone, back)
        if back:
            self.notify(Wakeup.WORK)
        if doubted:  # most often another worker claimed it; if it is still ready, its hint is added again
            self.tasks_ready(doubted)

    def tasks_claimed(self, claimed: Collection[TaskKey]) -> None:
        if self.queue.is_busy:
            if len(claimed) >= BUSY_TASKS:
                self._start(self.queue.set_busy())
        elif claimed and self.redis.breaker.is_closed:
            self._claimed.extend(claimed)
            self._mirror_changed.set()

    def jobs_changed(self, job_ids: Collection[int]) -> None:
        if job_ids and self.redis.breaker.is_closed:
            self._changed_jobs.update(job_ids)
            self._has_messages.set()

    def publish(self, channel: str, subject: int | str, payload: Json) -> None:
        if self.redis.breaker.is_closed:
            self._messages_by_subject[channel, subject] = ChannelMessage(channel, payload)
            self._has_messages.set()

    async def reconcile(self) -> None:
        """Reconcile the mirror; do nothing while Redis is unreachable. Raises what the store raises."""
        if self._source is None or not self.redis.breaker.is_closed:
            self._has_lost_hints = True
            return
        self._has_lost_hints = False
        try:
            await self._mirror.reconcile(self._source, self._announce)
        except RedisUnavailable as error:
            await self._on_write_failure(error)
        except StoreError:
            self._has_lost_hints = True
            raise
        self._local.notify(Wakeup.WORK)

    @property
    def _announce(self) -> tuple[str, str]:
        """The channel and the message that announce new hints."""
        return self._wakeups.channel, self._wakeups.message([Wakeup.WORK])

    def health(self) -> DispatchHealth:
        kind = "redis" if self._use.strict else "hybrid"
        return DispatchHealth(kind, self._use.queue, self.redis.breaker.health(), self._mirror.reconciled_ago)

    def _served_lanes(self, claim_filter: ClaimFilter) -> list[int]:
        """Return the lanes whose tasks this worker may take."""
        now = time.monotonic()
        return [
            number
            for number, lane in self._lanes.items()
            if number > 0
            and lane.pipeline in claim_filter.pipelines
            and lane.needs <= claim_filter.capabilities
            and (lane.prefers <= claim_filter.capabilities or self._skipped_until.get(number, 0.0) <= now)
        ]

    def _must_wait(self, claim_filter: ClaimFilter, hint: Hint) -> bool:
        """Return whether a task that was not claimed waits for a worker that has what it prefers."""
        lane = self._lanes.get(hint.lane)
        if lane is None or lane.prefers <= claim_filter.capabilities:
            return False
        self._skipped_until[hint.lane] = time.monotonic() + self._use.skip_seconds
        return True

    def _should_look(self, claim_filter: ClaimFilter) -> bool:
        """Return whether it is time to ask the store although there are no hints."""
        now = time.monotonic()
        if now < self._next_look.setdefault(claim_filter, now + self._use.look_interval * random.uniform(0.0, 1.0)):
            return False
        self._next_look[claim_filter] = now + self._use.look_interval * random.uniform(0.8, 1.2)
        return True

    def _request_fill(self) -> None:
        self._must_fill = True
        self._mirror_changed.set()

    def _request_reconcile(self) -> None:
        self._must_reconcile = True
        self._mirror_changed.set()

    async def _on_write_failure(self, error: RedisUnavailable) -> None:
        """Stop every process from using the mirror, which lacks hints, until it is reconciled."""
        self._has_lost_hints = True
        if self.redis.breaker.is_closed:
            self.redis.breaker.open_now(error.message.removeprefix(f"{self.redis.settings.shown_url}: "))
        await self._wakeups.report_lost_hints()

    def _on_hints_lost(self) -> None:
        """Stop using the mirror, because another process could not write its hints."""
        if self.redis.breaker.is_closed:
            self.redis.breaker.open_now("another process could not write to it")

    def _on_reconnect(self) -> None:
        """Reconcile if this process lost hints; otherwise only one of all processes compares."""
        self._must_reconcile = self._must_reconcile or self._has_lost_hints
        self._must_compare = True
        self._mirror_changed.set()
        self._local.notify(*Wakeup)

    async def _run_mirror(self) -> None:
        """Remove the hints of claimed tasks, then add those of ready ones, in batches.

        In this order, because a task that was claimed may be ready again.
        """
        while not self._closing or self._claimed or self._ready_jobs or self._ready_tasks:
            await self._mirror_changed.wait()
            self._mirror_changed.clear()
            claimed, self._claimed = self._claimed, []
            jobs, self._ready_jobs = self._ready_jobs, set()
            known, self._ready_tasks = self._ready_tasks, []
            reconcile, self._must_reconcile = self._must_reconcile, False
            fill, self._must_fill = self._must_fill, False
            compare, self._must_compare = self._must_compare, False
            with contextlib.suppress(RedisUnavailable):
                await self.queue.remove(claimed)
            try:
                if reconcile:
                    await self.reconcile()
                elif compare or fill:
                    await self._fill(self._mirror.compare if compare else self._mirror.fill)
                if (jobs or known) and self._source is not None:
                    await self._mirror.add(self._source, jobs, known, self._announce)
            except RedisUnavailable as error:
                await self._on_write_failure(error)
            except StoreError as error:
                logger.warning("hints not added error=%s", error)
                self._request_reconcile()
                await asyncio.sleep(0 if self._closing else STORE_RETRY_SECONDS)
            if jobs or known:
                self._local.notify(Wakeup.WORK)

    async def _fill(self, fill: Callable[[MirrorSource, tuple[str, str]], Awaitable[int]]) -> None:
        if self._source is not None and await fill(self._source, self._announce):
            self._local.notify(Wakeup.WORK)

    async def _run_publisher(self) -> None:
        while not self._closing or self._changed_jobs or self._messages_by_subject:
            await self._has_messages.wait()
            self._has_messages.clear()
            jobs, self._changed_jobs = self._changed_jobs, set()
            messages, self._messages_by_subject = self._messages_by_subject, {}
            with contextlib.suppress(RedisUnavailable):
                await self._send_messages([*messages.values(), *await self._load_messages(jobs)])
            await asyncio.sleep(0 if self._closing else PUBLISH_INTERVAL)

    async def _load_messages(self, jobs: Collection[int]) -> list[ChannelMessage]:
        if not jobs or self._source is None or not self.redis.breaker.is_closed:
            return []
        try:
            return await self._source.messages(jobs)
        except StoreError:
            return []

    async def _send_messages(self, messages: Collection[ChannelMessage]) -> None:
        if not messages:
            return

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                for message in messages:
                    pipe.publish(f"{self.redis.settings.prefix}:{message.channel}", json.dumps(message.payload))
                return await pipe.execute()

        await self.redis.run(call)

    def _send(self, wakeups: Collection[Wakeup]) -> None:
        if self.redis.breaker.is_closed:
            self._start(self._publish_wakeups(self._wakeups.message(wakeups)))

    async def _publish_wakeups(self, message: str) -> None:
        await self.redis.run(lambda client: client.publish(self._wakeups.channel, message))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in the background; drop it if Redis is unreachable."""
        task = asyncio.get_running_loop().create_task(_ignore_outage(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _ignore_outage(work: Coroutine[Any, Any, None]) -> None:
    with contextlib.suppress(RedisUnavailable):
        await work
