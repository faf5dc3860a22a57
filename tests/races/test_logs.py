"""Who follows the lines of a job gets all of them, also those whose transaction commits late."""

import asyncio
from collections.abc import Awaitable, Callable

from reelstate.cli.logs import _follow, make_filter
from reelstate.core.model import ClaimedTask, LogLine, Progress
from reelstate.stores.store import Row
from tests.engines import a_worker, done, engine_at
from tests.faults.wrapped_store import wrap_engine

TIMEOUT = 300.0


def reported(task: ClaimedTask, message: str) -> Progress:
    return Progress(key=task.key, token=task.token, logs=(LogLine(message=message),))


class Held:
    """Stops after the lines of a report are written, and before they are committed."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def __call__(self, statement: str, run: Callable[[], Awaitable[list[Row]]]) -> list[Row]:
        rows = await run()
        if statement == "report_logs":
            self.reached.set()
            await self.go_on.wait()
        return rows


class Looks:
    """Counts how often the lines are looked at."""

    def __init__(self) -> None:
        self._looked = asyncio.Condition()
        self._count = 0

    async def __call__(self, statement: str, run: Callable[[], Awaitable[list[Row]]]) -> list[Row]:
        rows = await run()
        if statement == "observe_logs":
            async with self._looked:
                self._count += 1
                self._looked.notify_all()
        return rows

    async def more(self, count: int) -> None:
        async with self._looked:
            wanted = self._count + count
            await self._looked.wait_for(lambda: self._count >= wanted)


async def test_a_line_that_is_committed_late_is_not_passed_over(url: str) -> None:
    async with engine_at(url) as engine, engine_at(url) as other, asyncio.timeout(TIMEOUT):
        job_id = (await engine.submit("parts", {"parts": 2})).job_id
        slow, quick = await a_worker(engine, "slow"), await a_worker(engine, "quick")
        ((first,), (second,)) = [(await engine.claim(worker)).tasks for worker in (slow, quick)]
        held, looks = Held(), Looks()
        reader = wrap_engine(other, looks)

        async def followed() -> list[str]:
            wanted = await make_filter(reader, job_id, None, None)
            return [entry.message async for entry in _follow(reader, wanted)]

        following = asyncio.create_task(followed())
        await engine.report(slow, [reported(first, "one")])
        late = asyncio.create_task(wrap_engine(engine, held).report(slow, [reported(first, "two")]))
        await held.reached.wait()
        await engine.report(quick, [reported(second, "three")])
        await looks.more(3)
        held.go_on.set()
        await late
        await looks.more(2)
        await engine.complete([done(first), done(second)])
        assert sorted(await following) == ["one", "three", "two"]
