"""Claims cost about the same with a thousand full keys before them as without limits."""

import time

import pytest

from reelstate.core.model import Completion, Submission
from reelstate.engine import Engine
from reelstate.services.limits.admission import admit
from tests.engines import PARTS, a_worker, engine_at
from tests.postgres import PostgresServer
from tests.races.racing_processes import RacingProcesses, start

BATCH = 10
MIN_RATIO = 0.7


async def claim_for(url: str, tasks: int, number: int, parties: int) -> tuple[int, float]:
    """Claim and complete this many tasks; return how many, and the seconds of that."""
    async with engine_at(url) as engine:
        worker = await a_worker(engine, f"racer-{number}")
        start(parties)
        began, claimed = time.perf_counter(), 0
        while claimed < tasks:
            found = (await engine.claim(worker, BATCH)).tasks
            await engine.complete([Completion(key=task.key, token=task.token) for task in found])
            claimed += len(found)
        return claimed, time.perf_counter() - began


async def fill(engine: Engine, keys: int, waiting: int) -> None:
    for first in range(0, keys, 50):
        jobs = [Submission(pipeline=PARTS.name, spec={"parts": waiting})] * min(50, keys - first)
        await engine.submit_many(jobs)


async def rate(url: str, racers: RacingProcesses, keys: int, waiting: int, tasks: int, *, limited: bool) -> float:
    async with engine_at(url) as engine:
        if limited:
            await engine.limits.set("jobs", per="job", running=1)
        await fill(engine, keys, waiting)
        while (await admit(engine.store)).routed:
            pass
    results = racers.all(claim_for, url, tasks // 8)
    return sum(count for count, _ in results) / max(seconds for _, seconds in results)


@pytest.mark.prove
async def test_a_thousand_keys_with_a_thousand_waiting_tasks(
    postgres_server: PostgresServer, migrated_template: str, racers: RacingProcesses
) -> None:
    rates = {}
    for limited in (False, True):
        url = postgres_server.new_database(migrated_template)
        rates[limited] = await rate(url, racers, 1000, 1000, 16_000, limited=limited)
        postgres_server.drop_database(url)
    assert rates[True] >= MIN_RATIO * rates[False], f"claims per second: {rates}"
