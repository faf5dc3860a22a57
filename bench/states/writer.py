"""A process that creates jobs and writes states, and prints when each was committed.

`python -m bench.states.writer URL DISPATCH COUNT` prints a line of JSON for each: its name and the time.
"""

import asyncio
import json
import random
import sys
import time

from reelstate.app import open_engine

PAUSES = (0.01, 0.1)
"""Seconds between two writes, so that reads of subscribers fall anywhere between them."""


async def write(url: str, dispatch: str, count: int) -> None:
    random.seed(7)
    async with open_engine(url, migrate=False, dispatch=dispatch) as engine:
        manager = await engine.state_manager("bench", 0, 1)
        for number in range(count):
            if number % 2:
                job = await engine.submit("bench")
                written = f"job {job.job_id}"
            else:
                state = await manager.set_state("write", number + 1)
                written = f"state {state.version}"
            print(json.dumps([written, time.time()]), flush=True)
            await asyncio.sleep(random.uniform(*PAUSES))


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], sys.argv[2], int(sys.argv[3])))
