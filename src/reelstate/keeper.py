"""The keeper: the timer loop of the house."""

from __future__ import annotations

import asyncio

from reelstate.config import Settings
from reelstate.services.engine import Engine


class Keeper:
    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings

    async def run(self) -> None:
        while True:
            await self._engine.orchestrate()
            await self._engine.reclaim()
            await asyncio.sleep(self._settings.orchestrate_every)
