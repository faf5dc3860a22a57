import asyncio
import time
from collections import Counter
from datetime import UTC, datetime

import pytest

from reelstate.core.machine import TaskStatus
from tests.chaos.fleet import Fleet
from tests.postgres import PostgresServer

BACK_WITHIN = 120.0
NAMES = ("one", "two", "three")


@pytest.mark.parametrize(
    "count, away",
    [
        pytest.param(300, 1.0),
        pytest.param(2000, 3.0, marks=pytest.mark.prove),
        pytest.param(2000, 25.0, marks=pytest.mark.prove),
    ],
)
async def test_workers_go_on_by_themselves_when_the_database_is_back(
    frail_fleet: Fleet, frail_server: PostgresServer, count: int, away: float
) -> None:
    fleet = frail_fleet
    for name in NAMES:
        fleet.worker(name, worker_concurrency=4, worker_prefetch=20)
    await fleet.ready(*NAMES)
    job = await fleet.submit("many", count=count, seconds=0.1)
    await fleet.until(lambda: some_are_done(fleet, job, count // 10), "a tenth of the tasks is done")

    await asyncio.to_thread(frail_server.stop, "immediate")
    await asyncio.sleep(away)
    await asyncio.to_thread(frail_server.start)
    back = datetime.now(UTC)
    await fleet.rests(job)

    tasks = await fleet.tasks(job)
    ends = sorted((task.finished_at, task.last_worker) for task in tasks if task.finished_at)
    late = {worker: (end - back).total_seconds() for end, worker in reversed(ends) if end > back}
    print(f"\n{count} tasks, away for {away} s, back at work after {sorted(late.values())} s")  # noqa: T201
    assert len(late) == len(NAMES)
    assert max(late.values()) < BACK_WITHIN
    assert sum(end > back for end, _ in ends) > count / 2, "the outage was in the middle of it"
    done = Counter(e.part for e in await fleet.history(job) if e.entity == "task" and e.target == TaskStatus.DONE)
    assert done == dict.fromkeys(range(count), 1)
    assert [task.result for task in tasks] == list(range(count))
    assert [task.key for task in tasks if task.lost] == [], "all workers lived, so no lease may have been lost"


@pytest.mark.parametrize("away", [0.0, pytest.param(15.0, marks=pytest.mark.prove)])
async def test_a_worker_that_is_started_while_the_database_is_away_waits_for_it(
    frail_fleet: Fleet, frail_server: PostgresServer, away: float
) -> None:
    fleet = frail_fleet
    job = await fleet.submit("short", work=[{}])
    await asyncio.to_thread(frail_server.stop, "immediate")
    worker, house = fleet.worker("early"), fleet.up("early-house", app="tests.chaos.pipelines:loop")
    for member in (worker, house):
        await fleet.said(member, "can't be reached")
    await asyncio.sleep(away)
    assert worker.alive
    assert house.alive
    started = time.monotonic()
    await asyncio.to_thread(frail_server.start)
    await fleet.rests(job, seconds=BACK_WITHIN + 5)
    assert time.monotonic() - started < BACK_WITHIN + 5


async def some_are_done(fleet: Fleet, job: int, count: int) -> bool:
    (stage,) = (await fleet.engine.job(job)).stages
    return stage.done >= count
