"""A process that sends webhooks until it is killed: `python -m tests.webhooks.sending DATABASE`."""

import asyncio
import sys

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.sender import Sender, SenderSettings
from reelstate.services.webhooks.event_types import event_types

QUICK = tuple(0.05 * number for number in range(1000))
"""Attempts follow each other quickly, and are many: a receiver that fails at random gets every event."""


async def main(url: str) -> None:
    settings = Settings(database_url=url, webhook_allow="127.0.0.1")
    terms = SenderSettings(timeout=1.0, concurrency=16, bound=16, schedule=QUICK)
    async with open_engine(url, settings=settings, migrate=False) as engine:
        sender = Sender(engine.store, event_types(engine.extension), engine.callbacks, terms)
        sender._lease = 2.0
        while True:
            await sender.deliver()
            await asyncio.sleep(0.02)  # the interval of the duty


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
