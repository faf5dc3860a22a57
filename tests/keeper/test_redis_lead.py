"""With Redis, a lock decides which keeper asks the store for the lead; without it, every keeper asks."""

import asyncio
from pathlib import Path

import pytest

from reelstate.app import keeper_for
from reelstate.config import Settings
from reelstate.connections.redis import RedisSettings
from reelstate.engine import Engine
from reelstate.keeper import Keeper
from tests.dispatch.redis_engines import Statements, redis_engine
from tests.faults.proxy import through_proxy
from tests.redis_server import RedisServer
from tests.waiting import until


def keeper_on(engine: Engine, folder: Path) -> Keeper:
    return keeper_for(engine, Settings(sweep_every=0.1, storage_url=str(folder)))


async def test_only_the_keeper_with_the_lock_asks_the_store(
    postgres_database: str, redis_settings: RedisSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with redis_engine(postgres_database, redis_settings.url, redis_prefix=redis_settings.prefix) as engine:
        first, second = keeper_on(engine, tmp_path), keeper_on(engine, tmp_path)
        await first._sweep()
        await second._sweep()
        assert [first.leads, second.leads] == [True, False]
        statements = Statements(engine, monkeypatch)
        await second._sweep()
        assert statements.counted["write"] == 0, "a keeper without the lock asked the store"
        await first._leave()
        await second._sweep()
        assert second.leads
        await second._leave()


async def test_without_redis_the_store_decides(
    postgres_database: str, frail_redis: RedisServer, tmp_path: Path
) -> None:
    options = {"dispatch": "hybrid", "redis_timeout": 0.2}
    async with redis_engine(postgres_database, frail_redis.url, **options) as engine:
        first, second = keeper_on(engine, tmp_path), keeper_on(engine, tmp_path)
        await first._sweep()
        await asyncio.to_thread(frail_redis.stop)

        async def one_leads() -> bool:
            await first._sweep()
            await second._sweep()
            return [first.leads, second.leads] == [True, False]

        await until(one_leads, "the store makes one keeper the leader")
        await first._leave()
        await second._sweep()
        assert second.leads
        await second._leave()


async def test_a_keeper_that_cant_reach_the_store_gives_up_the_lock(
    postgres_database: str, redis_settings: RedisSettings, tmp_path: Path
) -> None:
    prefix = {"redis_prefix": redis_settings.prefix}
    async with (
        through_proxy(postgres_database) as (through, proxy),
        redis_engine(through, redis_settings.url, **prefix) as cut_off,
        redis_engine(postgres_database, redis_settings.url, **prefix) as connected,
    ):
        first, second = keeper_on(cut_off, tmp_path), keeper_on(connected, tmp_path)
        await first._sweep()
        await second._sweep()
        assert [first.leads, second.leads] == [True, False]
        await proxy.cut_off()
        keepers = [asyncio.create_task(keeper.run()) for keeper in (first, second)]

        async def second_leads() -> bool:
            return second.leads

        try:
            await until(second_leads, "the keeper that reaches the store leads")
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
