"""The dispatch over Redis: bells by pub/sub, hints from a mirror of the store's ready tasks, news for subscribers.

```text
 commit ──▶ offer ──▶ read the jobs' ready tasks ──▶ add hints, ring ──▶ worker: take hints ──▶ claim them in the store
            (after)   (one read for many offers)     (one way)                  │ nothing there: the store is not asked
                                                                                └──▶ settle: gone, back, or look again
```

While Redis is away, the breaker is open and nobody waits for it. Then `hybrid` has the store asked every time, as if
there were no Redis, and `redis`, which spares the store, only now and then. When it is back, the mirror is reconciled.
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
LAST_WORDS = 1.0
"""Seconds that closing waits for what is still to be told."""
NEWS_EVERY = 0.2
"""The shortest time between two looks at what there is to tell of jobs."""
STORE_PAUSE = 1.0
PLENTY = 10
"""So many tasks at once for one worker: there is more to do than need be hinted at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisUse:
    """How Redis is used."""

    strict: bool = False
    """Whether it must be there at the start, and the store is spared while it is away."""
    queue: str = "sorted"
    mirror: int = 10_000
    look_every: float = 30.0
    """How often the store is looked into although Redis has nothing, by each kind of worker in a process."""
    rest: float = 1.0
    """How long a lane is left alone that this worker may not serve yet."""


class RedisDispatch(Dispatch):
    mirrors = True

    def __init__(self, terms: RedisSettings, use: RedisUse) -> None:
        self.link = RedisClient(terms)
        self.queue = QUEUES[use.queue](self.link)
        self._use = use
        self._mirror = Mirror(self.queue, use.mirror)
        self._doorbell = LocalWakeups()
        self._bells = RedisWakeups(self.link, self._doorbell, self._warned)
        self._merged = WakeupBatch(self._send)
        self._source: MirrorSource | None = None
        self._lanes: dict[int, Lane] = {}
        self._epoch = ""
        self._resting: dict[int, float] = {}
        self._looked: dict[ClaimFilter, float] = {}
        self._jobs: set[int] = set()
        self._known: list[ReadyTask] = []
        self._claimed: list[TaskKey] = []
        self._whole = self._thin = self._doubtful = False
        self._missed = False
        """Whether something of this process is not in Redis, and nobody else knows of it."""
        self._offered = asyncio.Event()
        self._changed: set[int] = set()
        self._told: dict[tuple[str, int | str], ChannelMessage] = {}
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._closing = False

    async def open(self) -> None:
        self.link.on_return(self._returned)
        try:
            await self.link.check()
        except RedisUnavailable as error:
            if self._use.strict:
                await self.link.close()
                raise
            self.link.breaker.fail_at_once(str(error).removeprefix(f"{self.link.terms.place} "))
        self._loops = [asyncio.create_task(self._mirror_for_ever()), asyncio.create_task(self._tell_for_ever())]

    async def close(self) -> None:
        self._merged.flush()
        self._closing = True
        self._offered.set()
        self._news.set()
        left = [*self._loops, *self._tasks]
        if left and self.link.breaker.closed:
            await asyncio.wait(left, timeout=LAST_WORDS)
        await cancel_and_wait(*left)
        await self._bells.close()
        await self.link.close()

    def set_source(self, source: MirrorSource) -> None:
        self._source = source

    def notify(self, bell: Wakeup) -> None:
        self._doorbell.notify(bell)
        self._merged.notify(bell)

    def listen(self, bells: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:
        self._bells.begin()
        return self._doorbell.listen(bells)

    def tasks_ready(self, job_ids: Collection[int] | None = None, known: Collection[ReadyTask] = ()) -> None:
        """The bell rings when the hints are there; while Redis is away it rings in this process alone."""
        if not self.link.breaker.closed:
            self._missed = True
            self._doorbell.notify(Wakeup.WORK)
        elif job_ids is None:
            self._whole = True
        else:
            self._jobs.update(job_ids)
            self._known.extend(known)
        self._offered.set()

    async def take_hints(self, asking: ClaimFilter, count: int) -> Hints:
        """While there is plenty to do the store is asked directly: hints only spare it questions in vain."""
        if self.queue.plenty:
            return ASK_STORE
        try:
            taken = await self._take(asking, count)
        except RedisUnavailable:
            return ASK_STORE if not self._use.strict or self._looks(asking) else NO_HINTS
        if len(taken.hints) >= PLENTY:
            self._do(self.queue.abound())
        return taken

    async def _take(self, asking: ClaimFilter, count: int) -> Hints:
        taken = await self.queue.take(self._served(asking), count)
        if taken.epoch and (taken.epoch, taken.lanes) != (self._epoch, len(self._lanes)):
            await self.queue.settle(back=taken.hints)
            self._lanes, self._epoch = await self.queue.lanes(), taken.epoch
            taken = await self.queue.take(self._served(asking), count)
        if not taken.epoch:
            self._fill_soon()
            return ASK_STORE
        if taken.cut and len(taken.hints) < count:
            self._fill_soon()
        look = taken.suspects or (taken.cut and len(taken.hints) < count)
        return Hints(taken.hints, look=look or (not taken.hints and self._looks(asking)))

    def settle_hints(self, asking: ClaimFilter, hints: Hints, claimed: Collection[TaskKey] | None) -> None:
        gone, back, doubted = [], [], set()
        for hint in hints.hints:
            if claimed is not None and hint.key in claimed:
                gone.append(hint)
            elif claimed is None or self._must_wait(asking, hint):
                back.append(hint)
            else:
                gone.append(hint)
                doubted.add(hint.key.job_id)
        self._do(self._settle(gone, back, doubted))

    async def _settle(self, gone: list[Hint], back: list[Hint], doubted: set[int]) -> None:
        await self.queue.settle(gone, back)
        if back:
            self.notify(Wakeup.WORK)
        if doubted:  # claimed by another, most often; but if it is still ready, it must not be forgotten
            self.tasks_ready(doubted)

    def tasks_claimed(self, claimed: Collection[TaskKey]) -> None:
        if self.queue.plenty:
            if len(claimed) >= PLENTY:
                self._do(self.queue.abound())
        elif claimed and self.link.breaker.closed:
            self._claimed.extend(claimed)
            self._offered.set()

    def jobs_changed(self, job_ids: Collection[int]) -> None:
        if job_ids and self.link.breaker.closed:
            self._changed.update(job_ids)
            self._news.set()

    def publish(self, channel: str, subject: int | str, payload: Json) -> None:
        if self.link.breaker.closed:
            self._told[channel, subject] = ChannelMessage(channel, payload)
            self._news.set()

    async def reconcile(self) -> None:
        """Raises what the store raises; while Redis is away there is nothing to do."""
        if self._source is None or not self.link.breaker.closed:
            self._missed = True
            return
        self._missed = False
        try:
            await self._mirror.reconcile(self._source, self._announce)
        except RedisUnavailable as error:
            await self._not_written(error)
        except StoreError:
            self._missed = True
            raise
        self._doorbell.notify(Wakeup.WORK)

    @property
    def _announce(self) -> tuple[str, str]:
        """What tells the others of new hints."""
        return self._bells.channel, self._bells.words([Wakeup.WORK])

    def health(self) -> DispatchHealth:
        kind = "redis" if self._use.strict else "hybrid"
        return DispatchHealth(kind, self._use.queue, self.link.breaker.health(), self._mirror.reconciled_ago)

    def _served(self, asking: ClaimFilter) -> list[int]:
        """The lanes that this worker may be handed something of."""
        now = time.monotonic()
        return [
            number
            for number, lane in self._lanes.items()
            if number > 0
            and lane.pipeline in asking.pipelines
            and lane.needs <= asking.capabilities
            and (lane.prefers <= asking.capabilities or self._resting.get(number, 0.0) <= now)
        ]

    def _must_wait(self, asking: ClaimFilter, hint: Hint) -> bool:
        """Whether a task that was refused may be kept for a worker that has what it prefers."""
        lane = self._lanes.get(hint.lane)
        if lane is None or lane.prefers <= asking.capabilities:
            return False
        self._resting[hint.lane] = time.monotonic() + self._use.rest
        return True

    def _looks(self, asking: ClaimFilter) -> bool:
        """Whether it is time to look into the store all the same."""
        now = time.monotonic()
        if now < self._looked.setdefault(asking, now + self._use.look_every * random.uniform(0.0, 1.0)):
            return False
        self._looked[asking] = now + self._use.look_every * random.uniform(0.8, 1.2)
        return True

    def _fill_soon(self) -> None:
        self._thin = True
        self._offered.set()

    def _reconcile_soon(self) -> None:
        self._whole = True
        self._offered.set()

    async def _not_written(self, error: RedisUnavailable) -> None:
        """What Redis has is not all there is: nobody may believe in it until it was reconciled."""
        self._missed = True
        if self.link.breaker.closed:
            self.link.breaker.fail_at_once(error.message.removeprefix(f"{self.link.terms.place}: "))
        await self._bells.warn()

    def _warned(self) -> None:
        """Another process could not write its hints, so that there are none does not mean that there is no work."""
        if self.link.breaker.closed:
            self.link.breaker.fail_at_once("another process could not write to it")

    def _returned(self) -> None:
        """Who has lost hints brings them. Of all others one looks: a fleet comes back at once."""
        self._whole = self._whole or self._missed
        self._doubtful = True
        self._offered.set()
        self._doorbell.notify(*Wakeup)

    async def _mirror_for_ever(self) -> None:
        """Bring what was claimed and what was offered to Redis, as much at a time as has come together.

        In this order: a task that was claimed here and is ready again must not be taken for the one that it was.
        """
        while not self._closing or self._claimed or self._jobs or self._known:
            await self._offered.wait()
            self._offered.clear()
            claimed, self._claimed = self._claimed, []
            jobs, self._jobs = self._jobs, set()
            known, self._known = self._known, []
            whole, self._whole = self._whole, False
            thin, self._thin = self._thin, False
            doubtful, self._doubtful = self._doubtful, False
            with contextlib.suppress(RedisUnavailable):
                await self.queue.remove(claimed)
            try:
                if whole:
                    await self.reconcile()
                elif doubtful or thin:
                    await self._fill(self._mirror.compare if doubtful else self._mirror.fill)
                if (jobs or known) and self._source is not None:
                    await self._mirror.offer(self._source, jobs, known, self._announce)
            except RedisUnavailable as error:
                await self._not_written(error)
            except StoreError as error:
                logger.warning("hints can't be made: %s", error)
                self._reconcile_soon()
                await asyncio.sleep(0 if self._closing else STORE_PAUSE)
            if jobs or known:
                self._doorbell.notify(Wakeup.WORK)

    async def _fill(self, fill: Callable[[MirrorSource, tuple[str, str]], Awaitable[int]]) -> None:
        if self._source is not None and await fill(self._source, self._announce):
            self._doorbell.notify(Wakeup.WORK)

    async def _tell_for_ever(self) -> None:
        while not self._closing or self._changed or self._told:
            await self._news.wait()
            self._news.clear()
            jobs, self._changed = self._changed, set()
            told, self._told = self._told, {}
            with contextlib.suppress(RedisUnavailable):
                await self._publish([*told.values(), *await self._messages(jobs)])
            await asyncio.sleep(0 if self._closing else NEWS_EVERY)

    async def _messages(self, jobs: Collection[int]) -> list[ChannelMessage]:
        if not jobs or self._source is None or not self.link.breaker.closed:
            return []
        try:
            return await self._source.messages(jobs)
        except StoreError:
            return []

    async def _publish(self, messages: Collection[ChannelMessage]) -> None:
        if not messages:
            return

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                for message in messages:
                    pipe.publish(f"{self.link.terms.prefix}:{message.channel}", json.dumps(message.payload))
                return await pipe.execute()

        await self.link.do(call)

    def _send(self, bells: Collection[Wakeup]) -> None:
        if self.link.breaker.closed:
            words = self._bells.words(bells)
            self._do(self._sent(words))

    async def _sent(self, words: str) -> None:
        await self.link.do(lambda client: client.publish(self._bells.channel, words))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done beside everything else; if Redis is away, it need not be done."""
        task = asyncio.get_running_loop().create_task(_tried(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _tried(work: Coroutine[Any, Any, None]) -> None:
    with contextlib.suppress(RedisUnavailable):
        await work
