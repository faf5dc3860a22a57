"""The process that archives beside a drain: `python -m bench.archive.archiver URL`. It prints the number of jobs."""

import asyncio
import sys

from reelstate.app import open_engine


async def main(url: str) -> None:
    async with open_engine(url) as engine:
        print((await engine.archive()).total)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
