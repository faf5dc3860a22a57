"""A process that sends wake-ups: `python -m tests.dispatch.notifier URL` sends one for each name it reads."""

import asyncio
import sys

from reelstate.app import dispatch_at
from reelstate.dispatch.dispatch import Wakeup


async def main(url: str) -> None:
    dispatch = dispatch_at(url)
    await dispatch.open()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        for name in line.split():
            dispatch.notify(Wakeup(name))
    await dispatch.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
