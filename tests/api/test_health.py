import asyncio

import pytest

from reelstate.api.health import REDIS
from reelstate.app import open_engine
from reelstate.connections.breaker import Circuit
from reelstate.connections.timeouts import timeout_left, timeout_of
from tests.api.api_server import NOBODY, Server, api_server
from tests.dispatch.redis_engines import dispatch_of, redis_engine
from tests.faults.proxy import through_proxy
from tests.redis_server import RedisServer
from tests.waiting import until

JOBS = "/api/v1/jobs"


async def test_liveness_and_readiness_need_no_key(api: Server) -> None:
    assert (await api.ask(NOBODY, "GET", "/livez")).json() == {"status": "ok"}
    ready = await api.ask(NOBODY, "GET", "/readyz")
    assert (ready.status_code, ready.json()["checks"]) == (200, {"database": "ok", "storage": "ok"})


@pytest.mark.parametrize("mode, ready", [("redis", 503), ("hybrid", 200)])
async def test_redis_is_checked_where_it_is_used(
    database_url: str, frail_redis: RedisServer, mode: str, ready: int
) -> None:
    async with (
        redis_engine(database_url, frail_redis.url, dispatch=mode, redis_timeout=0.5) as engine,
        api_server(engine, database_url) as api,
    ):
        assert (await api.ask(NOBODY, "GET", "/readyz")).status_code == 200
        there = (await api.ask("admin", "GET", "/health")).json()["deployment"]["dispatch"]
        assert (there["kind"], there["redis"], there["redis_opened"]) == (mode, "ok", 0)
        frail_redis.stop()

        async def noticed() -> bool:
            engine.dispatch.publish("news", 1, {})
            return not dispatch_of(engine).redis.breaker.is_closed

        await until(noticed, "the circuit opens")
        assert (await api.ask(NOBODY, "GET", "/readyz")).status_code == ready
        if ready == 200:
            away = (await api.ask("admin", "GET", "/health")).json()["deployment"]["dispatch"]
            assert away["redis"] in {"unavailable", "reconnecting"}
            assert away["redis_opened"] == 1


def test_health_has_a_text_for_every_state_of_the_breaker() -> None:
    assert REDIS.keys() == set(Circuit)
    assert not set(REDIS.values()) & {str(state) for state in Circuit}


@pytest.mark.parametrize("path", [JOBS, f"{JOBS}/1", "/api/v1/videos", "/api/v1/queue", "/health"])
async def test_a_read_does_not_wait_long_for_an_unreachable_database(postgres_database: str, path: str) -> None:
    """The store itself would wait for an hour, as writes do."""
    async with (
        through_proxy(postgres_database) as (address, proxy),
        open_engine(address, timeout=3600.0) as engine,
        api_server(engine, address) as api,
    ):
        assert (await api.ask("admin", "GET", JOBS)).status_code == 200
        await proxy.cut_off()
        api.context.keys._cache.clear()
        answer = await asyncio.wait_for(api.ask("admin", "GET", path), 300)
        assert (answer.status_code, answer.json().get("status")) in [(503, 503), (200, "unavailable")]


async def test_a_task_started_by_a_read_waits_as_usual_after_the_read() -> None:
    started = asyncio.Event()

    async def later() -> float:
        await started.wait()
        return timeout_left(60.0)

    with timeout_of(2.0):
        inside, task = timeout_left(60.0), asyncio.create_task(later())
        with timeout_of(1.0):
            assert timeout_left(60.0) == 1.0
        assert timeout_left(0.5) == 0.5
    started.set()
    assert (inside, await task, timeout_left(60.0)) == (2.0, 60.0, 60.0)
