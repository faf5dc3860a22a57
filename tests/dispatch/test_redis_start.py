"""Starting with Redis: problems are errors in redis mode and warnings in hybrid mode, and no secret is shown."""

import asyncio
import logging
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reelstate.app import open_engine
from reelstate.config import Settings, effective_settings
from reelstate.connections.redis import RedisSettings, open_redis
from reelstate.core.errors import InvalidRequest, RedisRefused, RedisUnavailable
from tests.dispatch.redis_engines import dispatch_of, redis_engine
from tests.dispatch.redis_proxy import certificate, proxied, tls_context
from tests.engines import SIMPLE, a_worker
from tests.redis_server import RedisServer
from tests.waiting import until

SECRET = "canary-of-redis"


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'start.db'}"


async def opening(database: str, url: str, **options: Any) -> None:
    given: dict[str, Any] = {"dispatch": "redis", "redis_url": url, **options}
    async with open_engine(database, pipelines=[SIMPLE], settings=Settings(database_url=database, **given)):
        pass


@pytest.mark.parametrize(
    "url, message",
    [
        ("", "missing for dispatch redis (set REEL_REDIS_URL=redis://…)"),
        ("http://127.0.0.1", "'http://127.0.0.1' is not a Redis address"),
        (f"http://u:{SECRET}@127.0.0.1", "'http://u:***@127.0.0.1' is not a Redis address"),
        ("redis://127.0.0.1:port/0", "invalid Redis address 'redis://127.0.0.1:port/0'"),
    ],
)
@pytest.mark.parametrize("mode", ["redis", "hybrid"])
async def test_an_invalid_address_is_refused(database: str, url: str, message: str, mode: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await opening(database, url, dispatch=mode)
    assert message.replace("dispatch redis", f"dispatch {mode}") in str(refused.value)


async def test_an_unreachable_redis_is_named_with_a_hint(database: str, refusing_port: int) -> None:
    with pytest.raises(RedisUnavailable) as refused:
        await opening(database, f"redis://:{SECRET}@127.0.0.1:{refusing_port}/0")
    assert f"redis://:***@127.0.0.1:{refusing_port}/0 can't be used" in str(refused.value)
    assert "check REEL_REDIS_URL and that Redis runs, or set REEL_DISPATCH=database" in str(refused.value)


async def test_hybrid_mode_without_redis_logs_it_once(
    database: str, caplog: pytest.LogCaptureFixture, refusing_port: int
) -> None:
    url = f"redis://127.0.0.1:{refusing_port}/0"
    async with redis_engine(database, url, dispatch="hybrid", redis_timeout=0.5) as engine:
        redis = dispatch_of(engine).redis
        with closing(engine.dispatch.listen()):
            failures = redis.breaker.health().failures

            async def tried_again() -> bool:
                return redis.breaker.health().failures > failures + 1

            await until(tried_again, "Redis is tried again")
    (line,) = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.startswith(f"redis unreachable url={url} error=can't be used: ")
    assert "check REEL_REDIS_URL and that Redis runs, or set REEL_DISPATCH=database" in line
    assert line.endswith("; claims ask the database")


async def test_a_wrong_password_is_named_and_never_shown(
    database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with RedisServer(tmp_path, password="right") as server:
        wrong = server.url.replace("right", SECRET)
        with caplog.at_level(logging.DEBUG):
            with pytest.raises(RedisRefused, match="refuses the user or the password") as refused:
                await opening(database, wrong)
            with pytest.raises(RedisRefused, match="refuses the user or the password"):
                await opening(database, server.url.replace(":right@", ""))
            await opening(database, wrong, dispatch="hybrid")
        assert "error=refuses the user or the password" in caplog.text
        assert SECRET not in caplog.text + str(refused.value) + repr(refused.value.__cause__)
        await opening(database, server.url)
    shown = {each.name: each.value for each in effective_settings({"REEL_REDIS_URL": wrong})}
    assert shown["redis_url"] == wrong.replace(SECRET, "***")


async def test_the_documented_acl_rights_are_enough_and_fewer_are_refused(database: str, tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        async with open_redis(RedisSettings(url=server.url, timeout=5.0)) as admin:
            rights = [
                "on",
                ">word",
                "~{reelstate}:*",
                "resetchannels",
                "&reelstate:*",
                "+@all",
                "-@dangerous",
                "+info",
                "+client",
            ]
            await admin.client.execute_command("ACL", "SETUSER", "reel", *rights)  # type: ignore[no-untyped-call]
            await admin.client.execute_command(
                "ACL", "SETUSER", "reader", "on", ">word", "~*", "&*", "+@read", "+info", "+client"
            )  # type: ignore[no-untyped-call]
        await opening(database, f"redis://reel:word@127.0.0.1:{server.port}/0")
        with pytest.raises(RedisRefused, match="denies this user a command"):
            await opening(database, f"redis://reader:word@127.0.0.1:{server.port}/0")
        async with redis_engine(database, f"redis://reel:word@127.0.0.1:{server.port}/0") as engine:
            worker = await a_worker(engine)
            job = (await engine.submit("simple")).job_id

            async def claimed() -> bool:
                return [task.key.job_id for task in (await engine.claim(worker)).tasks] == [job]

            await until(claimed, "the rights are enough for hints")
            assert dispatch_of(engine).redis.breaker.is_closed


async def test_a_replica_is_refused(database: str, redis_server: RedisServer, tmp_path: Path) -> None:
    replica_of = ("--replicaof", "127.0.0.1", str(redis_server.port))
    with RedisServer(tmp_path, *replica_of) as replica, pytest.raises(RedisRefused, match="is a replica"):
        await opening(database, replica.url)


async def test_a_redis_that_is_too_old_is_refused(database: str, redis_server: RedisServer) -> None:
    async with proxied(redis_server.port, replaced=(b"redis_version:6.2.", b"redis_version:5.0.")) as port:
        with pytest.raises(RedisRefused, match=r"is Redis 5\.0\.5, which is too old \(upgrade it to 6\.2 or newer"):
            await opening(database, f"redis://127.0.0.1:{port}/0", redis_timeout=5.0)


async def test_tls_works_and_a_mismatch_is_reported(database: str, redis_server: RedisServer, tmp_path: Path) -> None:
    file, key = await asyncio.to_thread(certificate, tmp_path)
    async with proxied(redis_server.port, tls=tls_context(file, key)) as port:
        secure = f"rediss://127.0.0.1:{port}/0"
        await opening(database, secure, redis_ca=str(file), redis_timeout=5.0)
        with pytest.raises(RedisUnavailable, match="check REEL_REDIS_CA"):
            await opening(database, secure, redis_timeout=2.0)
        with pytest.raises(RedisUnavailable, match="can't be used"):
            await opening(database, f"redis://127.0.0.1:{port}/0")
        await opening(database, secure, dispatch="hybrid")
    with pytest.raises(RedisUnavailable, match="can't be used"):
        await opening(database, redis_server.url.replace("redis://", "rediss://"), redis_ca=str(file))
