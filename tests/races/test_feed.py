"""A reader follows the feed while eight writers commit in any order: it misses nothing and repeats nothing."""

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from reelstate.core.model import Submission
from tests.engines import engine_at
from tests.races.racing_processes import SIZE, RacingProcesses, start
from tests.waiting import let_others_run


async def write_events(url: str, times: int, number: int, parties: int) -> int:
    """Submit jobs in transactions of very different lengths; each writes events before and after a while."""
    async with engine_at(url) as engine:
        start(parties)
        for turn in range(times):
            # A big batch holds its transaction open for long after its numbers were taken.
            size = 60 if (turn + number) % 4 == 0 else 1
            await engine.submit_many([Submission(pipeline="simple")] * size)
    return number


class NaiveReader:
    """The control: `id > last`, which a transaction that commits late slips behind."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.seen: list[int] = []

    async def follow(self, over: Callable[[], bool]) -> None:
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            last = 0
            while True:
                finished = over()
                cursor = await connection.execute(
                    "SELECT id FROM reelstate.history WHERE id > %s ORDER BY id LIMIT 500", [last]
                )
                rows = await cursor.fetchall()
                self.seen += [row[0] for row in rows]
                last = rows[-1][0] if rows else last
                if finished and not rows:
                    return
                await let_others_run()


async def feed_is_whole(url: str, racers: RacingProcesses, *, times: int) -> None:
    async with engine_at(url) as engine:
        loop = asyncio.get_running_loop()
        writers = loop.run_in_executor(None, lambda: racers.all(write_events, url, times))
        naive = NaiveReader(url)
        control = asyncio.create_task(naive.follow(writers.done))
        seen: list[tuple[Any, ...]] = []
        cursors: list[str] = []
        after: str | None = None
        while True:
            finished = writers.done()
            page = await engine.events(after=after)
            seen += [(e.entity, e.job_id, e.stage, e.part, e.worker_id, e.version) for e in page.items]
            cursors += [event.cursor for event in page.items]
            after = page.after
            if finished and not page.items:
                break
            await let_others_run()
        assert await writers == list(range(SIZE))
        await control
        async with await psycopg.AsyncConnection.connect(url) as connection:
            rows = await (await connection.execute("SELECT id FROM reelstate.history ORDER BY id")).fetchall()
        assert len(seen) == len(set(seen)) == len(rows), "nothing missed, nothing repeated"
        assert len(set(cursors)) == len(cursors)
        assert sorted(int(cursor.rpartition(".")[2]) for cursor in cursors) == [row[0] for row in rows]
        missed = len(rows) - len(naive.seen)
        assert missed > 0, "the naive cursor missed nothing, so the race was too tame to show anything"


async def test_the_feed_misses_nothing(url: str, racers: RacingProcesses) -> None:
    await feed_is_whole(url, racers, times=30)


@pytest.mark.prove
async def test_the_feed_misses_nothing_for_long(url: str, racers: RacingProcesses) -> None:
    await feed_is_whole(url, racers, times=500)
