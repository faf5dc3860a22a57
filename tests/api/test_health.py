import pytest

from tests.api.served import NOBODY, Served, served
from tests.dispatch.redis_engines import dispatch_of, redis_engine, until
from tests.redis_server import RedisServer


async def test_it_lives_and_is_ready_without_a_key(api: Served) -> None:
    assert (await api.ask(NOBODY, "GET", "/livez")).json() == {"status": "ok"}
    ready = await api.ask(NOBODY, "GET", "/readyz")
    assert (ready.status_code, ready.json()["checks"]) == (200, {"database": "ok", "storage": "ok"})


@pytest.mark.parametrize("mode, ready", [("redis", 503), ("hybrid", 200)])
async def test_redis_is_looked_at_where_it_is_used(
    database_url: str, frail_redis: RedisServer, mode: str, ready: int
) -> None:
    async with (
        redis_engine(database_url, frail_redis.url, dispatch=mode, redis_timeout=0.5) as engine,
        served(engine, database_url) as api,
    ):
        assert (await api.ask(NOBODY, "GET", "/readyz")).status_code == 200
        there = (await api.ask("admin", "GET", "/health")).json()["house"]["dispatch"]
        assert (there["kind"], there["redis"], there["redis_opened"]) == (mode, "closed", 0)
        frail_redis.stop()

        async def noticed() -> bool:
            engine.dispatch.tell("news", 1, {})
            return not dispatch_of(engine).link.breaker.closed

        await until(noticed, "the circuit opens")
        assert (await api.ask(NOBODY, "GET", "/readyz")).status_code == ready
        if ready == 200:
            away = (await api.ask("admin", "GET", "/health")).json()["house"]["dispatch"]
            assert away["redis"] in {"open", "half_open"}
            assert away["redis_opened"] == 1
