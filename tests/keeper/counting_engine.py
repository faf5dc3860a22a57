"""An engine that counts its calls, so that a test of the keeper waits for a signal instead of a duration."""

import asyncio
from collections import Counter
from typing import Any

from reelstate.engine import Engine
from reelstate.services.limits.limits import Limits

TIMEOUT = 300.0


class CountingEngine(Engine):
    """Counts each verb that returns, and as `failed VERB` each that raises. A verb in `faults` raises that error."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.store, limits=engine.document_limits)
        self.catalogue = engine.catalogue
        self.limits = CountingLimits(self)
        self.done: Counter[str] = Counter()
        self.faults: dict[str, Exception] = {}
        self._changed = asyncio.Event()

    async def wait_for(self, verb: str, more: int) -> None:
        """Wait until the verb was called `more` times more."""
        wanted = self.done[verb] + more
        async with asyncio.timeout(TIMEOUT):
            while self.done[verb] < wanted:
                self._changed.clear()
                await self._changed.wait()

    async def _call(self, verb: str, call: Any) -> Any:
        if verb in self.faults:
            call.close()
            self._count(f"failed {verb}")
            raise self.faults[verb]
        try:
            result = await call
        except Exception:
            self._count(f"failed {verb}")
            raise
        self._count(verb)
        return result

    def _count(self, verb: str) -> None:
        self.done[verb] += 1
        self._changed.set()

    async def lead(self, keeper: str, **terms: Any) -> Any:
        terms["since"] = None  # tests advance the clock in leaps, which are no clock steps
        return await self._call("lead", super().lead(keeper, **terms))

    async def orchestrate(self, **options: Any) -> Any:
        return await self._call("orchestrate", super().orchestrate(**options))

    async def relax(self, **options: Any) -> Any:
        return await self._call("relax", super().relax(**options))

    async def settle_pauses(self) -> Any:
        return await self._call("settle_pauses", super().settle_pauses())

    async def reclaim(self, **options: Any) -> Any:
        return await self._call("reclaim", super().reclaim(**options))

    async def reclaim_workers(self, **options: Any) -> Any:
        return await self._call("reclaim_workers", super().reclaim_workers(**options))

    async def prune_states(self, **options: Any) -> Any:
        return await self._call("prune_states", super().prune_states(**options))

    async def prune_workers(self, **options: Any) -> Any:
        return await self._call("prune_workers", super().prune_workers(**options))

    async def check(self) -> Any:
        return await self._call("check", super().check())


class CountingLimits(Limits):
    """The limits of a counting engine."""

    def __init__(self, engine: CountingEngine) -> None:
        super().__init__(engine.store, engine._on_admitted)
        self._engine = engine

    async def settle(self) -> None:
        await self._engine._call("settle_limits", super().settle())

    async def admit(self) -> None:
        await self._engine._call("admit", super().admit())
