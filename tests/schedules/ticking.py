"""A keeper's duty in a process of its own, which the test kills; its clock is a file that the test writes."""

import asyncio
import struct
import sys
from datetime import UTC, datetime
from pathlib import Path

from reelstate.app import open_engine
from tests.engines import SIMPLE


class FileClock:
    """A clock that another process sets: seconds since 1970 in eight bytes, which are written at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(struct.unpack("d", self.path.read_bytes())[0], UTC)

    def set(self, time: datetime) -> None:
        following = self.path.with_suffix(".next")
        following.write_bytes(struct.pack("d", time.timestamp()))
        following.replace(self.path)


async def main(url: str, path: str) -> None:
    clock = FileClock(Path(path))
    async with open_engine(url, pipelines=[SIMPLE], clock=clock, migrate=False) as engine:
        while True:
            seen = clock()
            await engine.schedules.run_due()
            while clock() == seen:  # noqa: ASYNC110
                await asyncio.sleep(0.005)  # the clock is a file that nobody announces


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
