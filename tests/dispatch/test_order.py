"""One worker runs everything in the order of claims: the most urgent first, then the oldest."""

import random
from pathlib import Path
from typing import Any

import pytest

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.connections.redis import RedisSettings
from reelstate.core.model import Submission
from reelstate.pipelines.declaration import Pipeline
from tests.dispatch.redis_engines import dispatch_of
from tests.waiting import until


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.prove)])
@pytest.mark.parametrize("mode", ["database", "redis"])
async def test_one_worker_runs_mixed_priorities_in_exact_order(
    mode: str, count: int, postgres_database: str, redis_settings: RedisSettings, tmp_path: Path
) -> None:
    dice = random.Random(count)
    ran: list[int] = []
    pipeline = Pipeline("ordered")

    @pipeline.stage()
    async def run(task: Any) -> None:
        ran.append(task.job_id)

    settings = Settings(
        database_url=postgres_database,
        dispatch=mode,
        redis_url=redis_settings.url,
        redis_prefix=redis_settings.prefix,
        redis_timeout=5.0,
        storage_url=str(tmp_path),
    )
    async with open_engine(postgres_database, pipelines=[pipeline], settings=settings) as engine:
        wanted = [Submission(pipeline="ordered", priority=dice.randrange(11)) for _ in range(count)]
        made = [each for at in range(0, count, 500) for each in await engine.submit_many(wanted[at : at + 500])]
        if mode == "redis":
            await engine.mirror()
            assert await dispatch_of(engine).queue.size() == count
    priorities = {each.job_id: asked.priority for each, asked in zip(made, wanted, strict=True)}
    async with open_engine(postgres_database, pipelines=[pipeline], settings=settings, workers=1):

        async def all_ran() -> bool:
            return len(ran) == count

        await until(all_ran, "all have run")
    assert ran == sorted(priorities, key=lambda job: (-int(priorities[job]), job))
