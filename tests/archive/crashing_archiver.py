"""A process that archives everything and is killed at a chosen point, as by a power failure: `URL POINT COUNT`."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from reelstate.app import open_engine
from reelstate.core.month import Month
from reelstate.services import archive
from tests.engines import FakeClock

BATCH = 4
POINTS = ("before copy", "after copy", "half moved", "before commit", "after commit")


class Crash:
    """Kills this process the given time that its point is reached."""

    def __init__(self, point: str, count: int) -> None:
        self._point = point
        self._left = count

    def reach(self, point: str) -> None:
        self._left -= point == self._point
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


async def main(url: str, point: str, count: int) -> None:
    crash, clock = Crash(point, count), FakeClock()
    clock.now = datetime.now(UTC) + timedelta(days=400)
    archive.BATCH_JOBS = BATCH  # type: ignore[misc]
    take = archive._take

    class Watched:
        """A transaction that crashes between two of its statements."""

        def __init__(self, transaction: Any) -> None:
            self._transaction = transaction

        async def run(self, statement: Any, *arguments: Any, **parameters: Any) -> Any:
            rows = await self._transaction.run(statement, *arguments, **parameters)
            if statement.name == "archive_take_events":
                crash.reach("half moved")
            return rows

    async def watched_take(transaction: Any, batch: Any) -> Any:
        found = await take(Watched(transaction), batch)  # type: ignore[arg-type]
        crash.reach("before commit")
        return found

    archive._take = watched_take
    async with open_engine(url, clock=clock) as engine:
        months = engine.store.archive
        copy = months.copy

        async def watched_copy(month: Month, job_ids: Sequence[int], names: Sequence[str]) -> None:
            crash.reach("before copy")
            await copy(month, job_ids, names)
            crash.reach("after copy")

        months.copy = watched_copy  # type: ignore[method-assign]
        await engine.archive(on_batch=lambda _: crash.reach("after commit"))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
