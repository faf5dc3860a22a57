import asyncio
import signal
import sqlite3
import sys
import time
import uuid
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from reelstate.connections.redis import RedisClient, RedisSettings, redis_at
from reelstate.core.errors import LockLost, LockTaken, RedisUnavailable, StoreUnavailable
from reelstate.locks.lock import Lock
from reelstate.locks.postgres import PostgresLock, lock_number
from reelstate.locks.redis import RedisLock
from tests.locks.holder import write
from tests.redis_server import RedisServer

ROOT = Path(__file__).parents[2]
Make = Callable[..., Lock]


@pytest.fixture
async def link(redis_terms: RedisSettings) -> AsyncIterator[RedisClient]:
    async with redis_at(redis_terms) as link:
        yield link


@pytest.fixture(params=["redis", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def make(kind: str, request: pytest.FixtureRequest, redis_terms: RedisSettings) -> AsyncIterator[Make]:
    """Makes locks, of each kind in turn."""
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
        yield lambda name="job", **options: PostgresLock(url, name, **options)
        return
    async with redis_at(redis_terms) as link:
        yield lambda name="job", **options: RedisLock(link, name, **options)


async def hold_until_lost(lock: Lock, hurt: Callable[[], Awaitable[object]]) -> None:
    """Work that only ends because the lock does."""
    ends: list[type[BaseException]] = []
    try:
        async with lock:
            try:
                await hurt()
                await asyncio.wait_for(asyncio.Event().wait(), 300)
            except BaseException as end:
                ends.append(type(end))
                raise
    finally:
        assert ends == [asyncio.CancelledError]


async def test_of_many_one_holds_it_and_the_next_has_a_larger_number(make: Make) -> None:
    holders = [make(ttl=5.0) for _ in range(10)]
    taken = await asyncio.gather(*(each.acquire() for each in holders))
    assert taken.count(True) == 1
    (first,) = [each for each, got in zip(holders, taken, strict=True) if got]
    assert first.held
    number = first.fence
    await first.release()
    async with make() as second:
        assert second.fence > number


async def test_who_waits_gets_it_when_it_is_given_back(make: Make) -> None:
    first, second = make(), make(timeout=20.0)
    assert await first.acquire()
    waiting = asyncio.create_task(second.acquire())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    await first.release()
    assert await waiting
    await second.release()


async def test_one_that_is_taken_is_refused_with_its_name(make: Make) -> None:
    async with make("sweep"):
        with pytest.raises(LockTaken, match="'sweep' is held by another holder"):
            async with make("sweep"):
                raise AssertionError
        async with make("other"):
            pass


async def test_it_is_kept_alive_far_beyond_its_time(make: Make) -> None:
    async with make(ttl=3.0) as lock:
        end = time.monotonic() + 7.0
        while time.monotonic() < end:
            assert not await make().acquire()
            await asyncio.sleep(0.1)
        assert lock.held


async def test_what_another_holds_by_now_is_not_released(link: RedisClient) -> None:
    first, second = RedisLock(link, "job"), RedisLock(link, "job")
    assert await first.acquire()
    await link.client.delete(link.key("lock", "job"))
    assert await second.acquire()
    await first.release()
    assert await link.client.exists(link.key("lock", "job")), "the second one's"
    await second.release()
    assert not await link.client.exists(link.key("lock", "job"))


async def test_numbers_go_on_growing_when_redis_has_lost_everything(frail_redis: RedisServer) -> None:
    async with redis_at(RedisSettings(url=frail_redis.url, timeout=5.0)) as link:
        lock = RedisLock(link, "job")
        assert await lock.acquire()
        before = lock.fence
        await lock.release()
        await link.client.flushall()
        assert await lock.acquire()
        assert lock.fence > before
        await lock.release()


async def test_a_body_whose_lock_is_taken_away_is_stopped(link: RedisClient) -> None:
    lock = RedisLock(link, "job", ttl=0.3)
    with pytest.raises(LockLost, match="'job' was lost"):
        await hold_until_lost(lock, lambda: link.client.delete(link.key("lock", "job")))
    assert lock.lost.is_set()
    with pytest.raises(LockLost):
        _ = lock.fence
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0, "the cancel that stopped the body does not reach anybody else"


async def test_a_session_that_the_server_ends_is_a_lost_lock(postgres_url: str) -> None:
    async def end() -> None:
        async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'reelstate lock'"
            )

    with pytest.raises(LockLost):
        await hold_until_lost(PostgresLock(postgres_url, "job", ttl=0.3), end)


async def test_a_cancel_from_outside_stays_a_cancel(link: RedisClient) -> None:
    inside = asyncio.Event()

    async def work() -> None:
        async with RedisLock(link, "job", ttl=5.0):
            inside.set()
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    await inside.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert not await link.client.exists(link.key("lock", "job")), "it was given back"


async def test_while_redis_is_away_for_less_than_its_time_the_lock_is_held(frail_redis: RedisServer) -> None:
    terms = RedisSettings(url=frail_redis.url, timeout=0.1)
    async with redis_at(terms) as link, RedisLock(link, "job", ttl=6.0) as lock:
        frail_redis.freeze()
        await asyncio.sleep(2.0)
        assert lock.held
        frail_redis.thaw()
        await asyncio.sleep(5.0)
        assert lock.held, "it was renewed after that"


async def test_while_redis_is_away_for_longer_it_is_lost(frail_redis: RedisServer) -> None:
    async with redis_at(RedisSettings(url=frail_redis.url, timeout=0.1)) as link:
        with pytest.raises(LockLost):
            await hold_until_lost(RedisLock(link, "job", ttl=0.6), lambda: asyncio.to_thread(frail_redis.stop))
        with pytest.raises(RedisUnavailable):
            await RedisLock(link, "job").acquire()


async def test_it_is_lost_at_its_end_though_a_renewal_hangs(frail_redis: RedisServer) -> None:
    ends: list[float] = []

    async def work(lock: Lock) -> None:
        async with lock:
            frail_redis.freeze()
            try:
                await asyncio.wait_for(asyncio.Event().wait(), 300)
            finally:
                ends.append(time.monotonic())
                frail_redis.thaw()

    async with redis_at(RedisSettings(url=frail_redis.url, timeout=120.0)) as link:
        began = time.monotonic()
        with pytest.raises(LockLost):
            await work(RedisLock(link, "job", ttl=3.0))
    assert ends[0] - began < 60, "it does not wait for the answer: another may hold it from its end on"


async def test_a_database_that_is_away_is_named(refusing_port: int) -> None:
    with pytest.raises(StoreUnavailable, match="lock 'job' can't be taken"):
        await PostgresLock(f"postgresql://nobody@127.0.0.1:{refusing_port}/nowhere", "job").acquire()


async def test_a_lock_that_is_held_holds_up_no_vacuum(postgres_url: str) -> None:
    connecting = psycopg.AsyncConnection.connect(postgres_url, autocommit=True)
    async with PostgresLock(postgres_url, "job"), await connecting as connection:
        cursor = await connection.execute(
            "SELECT backend_xid, backend_xmin FROM pg_stat_activity"
            " WHERE application_name = 'reelstate lock' AND state = 'idle in transaction'"
        )
        assert await cursor.fetchall() == [(None, None)]


def test_names_have_numbers_of_64_bits() -> None:
    numbers = {lock_number(f"job-{number}") for number in range(100_000)}
    assert len(numbers) == 100_000
    assert all(-(2**63) <= number < 2**63 for number in numbers)


@asynccontextmanager
async def holder(*arguments: object) -> AsyncIterator[asyncio.subprocess.Process]:
    command = [sys.executable, "-m", "tests.locks.holder", *map(str, arguments)]
    process = await create_subprocess_exec(*command, cwd=ROOT, stdin=PIPE, stdout=PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def line(process: asyncio.subprocess.Process) -> list[str]:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 300)).decode().split()


async def test_a_holder_that_was_paused_learns_of_it_and_its_write_is_refused(
    kind: str, request: pytest.FixtureRequest, redis_terms: RedisSettings, make: Make, tmp_path: Path
) -> None:
    file = tmp_path / "target.db"
    with sqlite3.connect(file) as base:
        base.execute("CREATE TABLE target AS SELECT 'none' AS value, 0 AS fence")
    base.close()
    name = f"lock-{uuid.uuid4().hex}"
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else redis_terms.url
    prefix = name if kind == "postgres" else redis_terms.prefix
    async with holder(kind, url, prefix, 0.5, file) as process:
        said, number = await line(process)
        assert said == "held"
        process.send_signal(signal.SIGSTOP)
        async with make(name if kind == "postgres" else "job", timeout=20.0) as next_holder:
            assert next_holder.fence > int(number)
            assert write(str(file), next_holder.fence, "new")
            process.send_signal(signal.SIGCONT)
            assert await line(process) == ["lost", "False"]
            assert await line(process) == ["refused"]
    with sqlite3.connect(file) as base:
        assert base.execute("SELECT value FROM target").fetchone() == ("new",)
    base.close()
