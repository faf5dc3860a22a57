"""Redis is killed, frozen, flushed, restarted and filled while a fleet works: no job is lost or done twice."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.connections.redis import RedisClient, RedisSettings, open_redis
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import Submission
from reelstate.engine import Engine
from tests.chaos import pipelines
from tests.chaos.fleet import Fleet, open_fleet
from tests.redis_server import RedisServer

OUTAGE_SECONDS = 1.0


async def kill(server: RedisServer, link: RedisClient) -> None:
    await asyncio.to_thread(server.stop)
    await asyncio.sleep(OUTAGE_SECONDS)  # the length of the outage
    await asyncio.to_thread(server.start)


async def freeze(server: RedisServer, link: RedisClient) -> None:
    """Make Redis accept connections without answering, with DEBUG SLEEP."""
    await link.client.execute_command("DEBUG", "SLEEP", OUTAGE_SECONDS)  # type: ignore[no-untyped-call]


async def flush(server: RedisServer, link: RedisClient) -> None:
    await link.client.flushall()


async def restart(server: RedisServer, link: RedisClient) -> None:
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)


async def fill(server: RedisServer, link: RedisClient) -> None:
    await link.client.config_set("maxmemory", "1")
    await asyncio.sleep(OUTAGE_SECONDS)  # the length of the outage
    await link.client.config_set("maxmemory", "0")


FAULTS: list[Callable[[RedisServer, RedisClient], Awaitable[None]]] = [kill, freeze, flush, restart, fill]


@pytest.fixture
async def fleet(postgres_database: str, tmp_path: Path, bytecode: Path) -> AsyncIterator[Fleet]:
    async with open_fleet(postgres_database, tmp_path, bytecode) as fleet:
        yield fleet


@asynccontextmanager
async def submitter(fleet: Fleet, options: dict[str, Any]) -> AsyncIterator[Engine]:
    """Open an engine with the settings of the workers."""
    settings = Settings(database_url=fleet.url, **options)
    async with open_engine(fleet.url, pipelines=pipelines.every, settings=settings) as engine:
        yield engine


async def submit_jobs(engine: Engine, count: int) -> list[int]:
    wanted = [Submission(pipeline="many", spec={"count": 1}, priority=number % 11) for number in range(count)]
    return [made.job_id for made in await engine.submit_many(wanted)]


async def feed(engine: Engine, jobs: list[int], count: int) -> None:
    """Submit jobs in batches until there are `count`."""
    while len(jobs) < count:
        jobs += await submit_jobs(engine, min(25, count - len(jobs)))
        await asyncio.sleep(0.05)  # a steady rate of submissions


async def has_jobs(jobs: list[int], enough: int) -> bool:
    return len(jobs) >= enough


async def completions(engine: Engine) -> tuple[Counter[int], list[float]]:
    """Return how often each job's task was done, and when."""
    done: Counter[int] = Counter()
    at: list[float] = []
    after: str | None = None
    while True:
        page = await engine.events(limit=5000, after=after)
        for event in page.items:
            if event.entity == "task" and event.target == TaskStatus.DONE:
                done[event.job_id or 0] += 1
                at.append(event.at.timestamp())
        if not page.items:
            return done, sorted(at)
        after = page.after


@pytest.mark.parametrize(
    "mode, queue, count, workers",
    [
        pytest.param("hybrid", "sorted", 400, 2),
        pytest.param("redis", "streams", 400, 2),
        *[
            pytest.param(mode, queue, 5000, 4, marks=pytest.mark.prove)
            for mode, queue in itertools.product(["hybrid", "redis"], ["sorted", "streams"])
        ],
    ],
)
async def test_every_job_is_done_once_whatever_happens_to_redis(
    fleet: Fleet, frail_redis: RedisServer, mode: str, queue: str, count: int, workers: int
) -> None:
    options: dict[str, Any] = {
        "dispatch": mode,
        "redis_url": frail_redis.url,
        "redis_queue": queue,
        "redis_timeout": 0.3,
        "redis_reconcile": 1.0,
    }
    names = [f"worker-{number}" for number in range(workers)]
    for name in names:
        fleet.worker(name, worker_prefetch=20, worker_concurrency=4, **options)
    await fleet.wait_ready(*names)
    jobs: list[int] = []
    times: list[tuple[str, float, float]] = []
    async with (
        submitter(fleet, options) as engine,
        open_redis(RedisSettings(url=frail_redis.url, timeout=10.0)) as link,
    ):
        feeding = asyncio.create_task(feed(engine, jobs, count))
        for fault in FAULTS:
            enough = min(len(jobs) + 20, count)
            await fleet.wait_for(partial(has_jobs, jobs, enough), "jobs are submitted")
            started = time.time()
            await fault(frail_redis, link)
            times.append((fault.__name__, started, time.time()))
        await feeding
        await fleet.wait_for(lambda: all_completed(engine), "every job is completed")
    done, at = await completions(fleet.engine)
    pauses = [f"{name}: {longest_pause(at, started, ended):.2f} s" for name, started, ended in times]
    print(f"\n{count} jobs, {mode}, {queue}, {workers} workers; longest pause of work: {', '.join(pauses)}")  # noqa: T201
    assert done == dict.fromkeys(jobs, 1)
    assert len(jobs) == count
    assert all(longest_pause(at, started, ended) < 60 for _, started, ended in times)


async def all_completed(engine: Engine) -> bool:
    others = [status for status in JobStatus if status is not JobStatus.COMPLETED]
    return not (await engine.jobs(limit=1, statuses=others)).items


def longest_pause(at: list[float], started: float, ended: float) -> float:
    """Return the longest time without a completion from the start of a fault until 5 s after its end."""
    inside = [moment for moment in at if started - 1 <= moment <= ended + 5]
    return max((later - earlier for earlier, later in itertools.pairwise(inside)), default=0.0)
