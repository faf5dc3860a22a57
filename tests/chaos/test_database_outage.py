import asyncio
import time
from collections import Counter
from datetime import UTC, datetime

import pytest

from reelstate.core.machine import TaskStatus
from tests.chaos.fleet import Fleet
from tests.postgres import PostgresServer

RECOVERY_SECONDS = 120.0
NAMES = ("one", "two", "three")


@pytest.mark.parametrize(
    "count, outage",
    [
        pytest.param(300, 1.0),
        pytest.param(2000, 3.0, marks=pytest.mark.prove),
        pytest.param(2000, 25.0, marks=pytest.mark.prove),
    ],
)
async def test_workers_continue_when_the_database_is_restarted(
    frail_fleet: Fleet, frail_server: PostgresServer, count: int, outage: float
) -> None:
    fleet = frail_fleet
    for name in NAMES:
        fleet.worker(name, worker_concurrency=4, worker_prefetch=20)
    await fleet.wait_ready(*NAMES)
    job = await fleet.submit("many", count=count, seconds=0.1)
    await fleet.wait_for(lambda: has_done(fleet, job, count // 10), "a tenth of the tasks is done")

    await asyncio.to_thread(frail_server.stop, "immediate")
    await asyncio.sleep(outage)  # the length of the outage
    await asyncio.to_thread(frail_server.start)
    restarted_at = datetime.now(UTC)
    await fleet.wait_status(job)

    tasks = await fleet.tasks(job)
    ends = sorted((task.finished_at, task.last_worker) for task in tasks if task.finished_at)
    late = {worker: (end - restarted_at).total_seconds() for end, worker in reversed(ends) if end > restarted_at}
    print(f"\n{count} tasks, outage of {outage} s, completions again after {sorted(late.values())} s")  # noqa: T201
    assert len(late) == len(NAMES)
    assert max(late.values()) < RECOVERY_SECONDS
    assert sum(end > restarted_at for end, _ in ends) > count / 2, "the outage was not in the middle of the job"
    done = Counter(e.part for e in await fleet.history(job) if e.entity == "task" and e.target == TaskStatus.DONE)
    assert done == dict.fromkeys(range(count), 1)
    assert [task.result for task in tasks] == list(range(count))
    assert [task.key for task in tasks if task.lost] == [], "a lease was lost although all workers were alive"


@pytest.mark.parametrize("outage", [0.0, pytest.param(15.0, marks=pytest.mark.prove)])
async def test_a_worker_that_starts_during_an_outage_waits_for_the_database(
    frail_fleet: Fleet, frail_server: PostgresServer, outage: float
) -> None:
    fleet = frail_fleet
    job = await fleet.submit("short", work=[{}])
    await asyncio.to_thread(frail_server.stop, "immediate")
    worker, up = fleet.worker("early"), fleet.up("early-up", app="tests.chaos.pipelines:loop")
    for member in (worker, up):
        await fleet.wait_log(member, "database unreachable")
    await asyncio.sleep(outage)  # the length of the outage
    assert worker.alive
    assert up.alive
    started = time.monotonic()
    await asyncio.to_thread(frail_server.start)
    await fleet.wait_status(job, seconds=RECOVERY_SECONDS + 5)
    assert time.monotonic() - started < RECOVERY_SECONDS + 5


async def has_done(fleet: Fleet, job: int, count: int) -> bool:
    (stage,) = (await fleet.engine.job(job)).stages
    return stage.done >= count
