"""The mirror: what the store has ready, as hints in Redis. Filled after each commit, compared with the store both ways
now and then, and whenever Redis has been away or has lost everything.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection

from reelstate.dispatch.hint_queue import HintQueue
from reelstate.dispatch.hints import MirrorSource, ReadyTask

logger = logging.getLogger("reelstate.dispatch")


class Mirror:
    def __init__(self, queue: HintQueue, most: int) -> None:
        self._queue = queue
        self._most = most
        self._reconciled: float | None = None
        self._since = 0
        """Tasks added since the size was last looked at."""

    @property
    def reconciled_ago(self) -> float | None:
        return None if self._reconciled is None else time.monotonic() - self._reconciled

    async def offer(
        self, source: MirrorSource, job_ids: Collection[int], known: list[ReadyTask], announce: tuple[str, str]
    ) -> int:
        """Mirror tasks that are known to be ready and those of some jobs, then ring; what is too much is cut off.

        While there is plenty to do only the bell rings: whoever hears it looks into the store.
        """
        if self._queue.plenty:
            return await self._queue.add([], announce=announce)
        found = await source.ready(job_ids, self._most) if job_ids else []
        added = await self._queue.add(known + found, announce=announce)
        self._since += added
        if self._since > self._most // 2:
            self._since = 0
            if await self._queue.size() > self._most:
                await self.reconcile(source, announce)
        return added

    async def fill(self, source: MirrorSource, announce: tuple[str, str]) -> int:
        """Reconcile where the mirror has run low or was lost, unless another process does just that."""
        if not await self._queue.may_fill(self._most):
            return 0
        added = await self.reconcile(source, announce)
        await self._queue.filled()
        return added

    async def compare(self, source: MirrorSource, announce: tuple[str, str]) -> int:
        """Reconcile after an outage in which this process has lost nothing, unless another has just begun to."""
        return await self.reconcile(source, announce) if await self._queue.may_compare() else 0

    async def reconcile(self, source: MirrorSource, announce: tuple[str, str]) -> int:
        """Add what the store has and Redis has not, remove what Redis has and the store has not; ring if anything came.

        Redis is read first: what is offered from then on stays, whatever the store said. While there is plenty to do
        there is no mirror.
        """
        if (spells := await self._queue.spells()) is None:
            return 0
        before = await self._queue.contents()
        waiting = await source.ready(None, self._most + 1)
        cut, waiting = len(waiting) > self._most, waiting[: self._most]
        places = {each.key: self._queue.place(each) for each in waiting}
        whole = before.placed.intersection(hint.key for hint in before.hints)
        good = {hint.key for hint in before.hints if hint.key in places and hint.ticket.startswith(places[hint.key])}
        good &= whole
        await self._queue.bound(waiting[-1] if cut else None, spells)
        await self._queue.discard(hint for hint in before.hints if hint.key not in good)
        await self._queue.remove(before.placed - whole)
        added = await self._add([each for each in waiting if each.key not in good], announce)
        await self._queue.mark()
        self._reconciled = time.monotonic()
        removed = len(before.placed - places.keys())
        if added or removed:
            logger.info("hints in Redis: %d added, %d removed, %d in all", added, removed, len(waiting))
        return added

    async def _add(self, missing: list[ReadyTask], announce: tuple[str, str]) -> int:
        return await self._queue.add(missing, announce=announce) if missing else 0
