"""The mirror: the ready tasks of the store as hints in Redis.

It is updated after each commit, and compared with the store from time to time and whenever Redis was unreachable or has
lost its data.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection

from reelstate.dispatch.hint_queue import HintQueue
from reelstate.dispatch.hints import MirrorSource, ReadyTask

logger = logging.getLogger("reelstate.dispatch")


class Mirror:
    """Keeps up to `max_hints` hints. The methods announce added hints on a channel and return how many they added."""

    def __init__(self, queue: HintQueue, max_hints: int) -> None:
        self._queue = queue
        self._max_hints = max_hints
        self._reconciled_at: float | None = None
        self._added_since_check = 0

    @property
    def reconciled_ago(self) -> float | None:
        return None if self._reconciled_at is None else time.monotonic() - self._reconciled_at

    async def add(
        self, source: MirrorSource, job_ids: Collection[int], known: list[ReadyTask], announce: tuple[str, str]
    ) -> int:
        """Mirror the known tasks and the ready tasks of some jobs; cut off what exceeds the limit.

        While workers are busy only the announcement is sent: its receivers ask the store.
        """
        if self._queue.is_busy:
            return await self._queue.add([], announce=announce)
        found = await source.ready(job_ids, self._max_hints) if job_ids else []
        added = await self._queue.add(known + found, announce=announce)
        self._added_since_check += added
        if self._added_since_check > self._max_hints // 2:
            self._added_since_check = 0
            if await self._queue.size() > self._max_hints:
                await self.reconcile(source, announce)
        return added

    async def fill(self, source: MirrorSource, announce: tuple[str, str]) -> int:
        """Reconcile a mirror that has run low or was lost, unless another process is doing so."""
        if not await self._queue.may_fill(self._max_hints):
            return 0
        added = await self.reconcile(source, announce)
        await self._queue.end_fill()
        return added

    async def compare(self, source: MirrorSource, announce: tuple[str, str]) -> int:
        """Reconcile after an outage in which this process lost no hint, unless another has just begun to."""
        return await self.reconcile(source, announce) if await self._queue.may_compare() else 0

    async def reconcile(self, source: MirrorSource, announce: tuple[str, str]) -> int:
        """Add hints that only the store has, and remove those that only Redis has.

        Redis is read first, so that hints added from then on stay. While workers are busy there is no mirror.
        """
        if (busy_periods := await self._queue.busy_periods()) is None:
            return 0
        before = await self._queue.contents()
        ready = await source.ready(None, self._max_hints + 1)
        is_cut, ready = len(ready) > self._max_hints, ready[: self._max_hints]
        positions = {task.key: self._queue.position(task) for task in ready}
        whole = before.positioned.intersection(hint.key for hint in before.hints)
        good = {hint.key for hint in before.hints if hint.ticket.startswith(positions.get(hint.key, "\0"))} & whole
        await self._queue.set_horizon(ready[-1] if is_cut else None, busy_periods)
        await self._queue.discard(hint for hint in before.hints if hint.key not in good)
        await self._queue.remove(before.positioned - whole)
        missing = [task for task in ready if task.key not in good]
        added = await self._queue.add(missing, announce=announce) if missing else 0
        await self._queue.mark()
        self._reconciled_at = time.monotonic()
        removed = len(before.positioned - positions.keys())
        if added or removed:
            logger.info("hints reconciled added=%d removed=%d total=%d", added, removed, len(ready))
        return added
