"""An engine that tells which of its verbs were done, so that a test of a loop waits for a signal and not for a time."""

import asyncio
from collections import Counter
from typing import Any

from reelstate.engine import Engine

TIMEOUT = 300.0


class CountingEngine(Engine):
    """The engine, its verbs counted when they are through. A verb with a fault raises it instead."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.store, limits=engine.limits)
        self.catalogue = engine.catalogue
        self.done: Counter[str] = Counter()
        self.faults: dict[str, Exception] = {}
        self._changed = asyncio.Event()

    async def times(self, verb: str, more: int) -> None:
        """Until the verb has been done so many times more."""
        wanted = self.done[verb] + more
        async with asyncio.timeout(TIMEOUT):
            while self.done[verb] < wanted:
                self._changed.clear()
                await self._changed.wait()

    async def _counted(self, verb: str, doing: Any) -> Any:
        if verb in self.faults:
            doing.close()
            self._count(f"failed {verb}")
            raise self.faults[verb]
        try:
            result = await doing
        except Exception:
            self._count(f"failed {verb}")
            raise
        self._count(verb)
        return result

    def _count(self, verb: str) -> None:
        self.done[verb] += 1
        self._changed.set()

    async def lead(self, keeper: str, **terms: Any) -> Any:
        terms["since"] = None  # a test has the time go by in leaps, which are no steps of the clock
        return await self._counted("lead", super().lead(keeper, **terms))

    async def orchestrate(self, **options: Any) -> Any:
        return await self._counted("orchestrate", super().orchestrate(**options))

    async def relax(self, **options: Any) -> Any:
        return await self._counted("relax", super().relax(**options))

    async def reclaim(self, **options: Any) -> Any:
        return await self._counted("reclaim", super().reclaim(**options))

    async def reclaim_workers(self, **options: Any) -> Any:
        return await self._counted("reclaim_workers", super().reclaim_workers(**options))

    async def prune_states(self, **options: Any) -> Any:
        return await self._counted("prune_states", super().prune_states(**options))

    async def prune_workers(self, **options: Any) -> Any:
        return await self._counted("prune_workers", super().prune_workers(**options))

    async def check(self) -> Any:
        return await self._counted("check", super().check())
