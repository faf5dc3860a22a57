"""A process that writes states as fast as it can: `python -m tests.states.writer URL TASKS TAGS COUNT TASK…`."""

import asyncio
import random
import sys

from reelstate.states.manager import StateManager
from tests.states.conftest import sql_states


async def write(url: str, tasks: int, tags: int, count: int, *own: int) -> None:
    random.seed(own[0])
    async with sql_states(url) as store:
        managers = [await StateManager.open("job", task, tasks, store) for task in own]

        async def one(manager: StateManager, tag: str) -> None:
            for status in range(1, count + 1):
                await manager.set_state(tag, status, event_id=f"{tag}-{status}")
                if random.random() < 0.05:
                    await asyncio.sleep(random.random() / 200)  # an uneven pace

        await asyncio.gather(*(one(manager, f"tag-{tag}") for manager in managers for tag in range(tags)))


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], *map(int, sys.argv[2:])))
