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

from reelstate.connections.redis import RedisClient, RedisSettings, open_redis
from reelstate.core.errors import LockLost, LockTaken, RedisUnavailable, StoreUnavailable
from reelstate.locks.lock import Lock
from reelstate.locks.postgres import PostgresLock, lock_number
from reelstate.locks.redis import RedisLock
from tests.locks.holder import write
from tests.redis_server import RedisServer

ROOT = Path(__file__).parents[2]
Make = Callable[..., Lock]


@pytest.fixture
async def redis(redis_settings: RedisSettings) -> AsyncIterator[RedisClient]:
    async with open_redis(redis_settings) as redis:
        yield redis


@pytest.fixture(params=["redis", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def make(kind: str, request: pytest.FixtureRequest, redis_settings: RedisSettings) -> AsyncIterator[Make]:
    """Create locks, of each kind in turn."""
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
        yield lambda name="job", **options: PostgresLock(url, name, **options)
        return
    async with open_redis(redis_settings) as redis:
        yield lambda name="job", **options: RedisLock(redis, name, **options)


async def hold_until_lost(lock: Lock, break_lock: Callable[[], Awaitable[object]]) -> None:
    """Run a body that only ends because its lock is lost."""
    ends: list[type[BaseException]] = []
    try:
        async with lock:
            try:
                await break_lock()
                await asyncio.wait_for(asyncio.Event().wait(), 300)
            except BaseException as end:
                ends.append(type(end))
                raise
    finally:
        assert ends == [asyncio.CancelledError]


async def test_one_of_many_acquires_it_and_the_next_has_a_larger_fence(make: Make) -> None:
    holders = [make(ttl=5.0) for _ in range(10)]
    taken = await asyncio.gather(*(each.acquire() for each in holders))
    assert taken.count(True) == 1
    (first,) = [each for each, got in zip(holders, taken, strict=True) if got]
    assert first.held
    number = first.fence
    await first.release()
    async with make() as second:
        assert second.fence > number


async def test_a_waiter_acquires_it_when_it_is_released(make: Make) -> None:
    first, second = make(), make(timeout=20.0)
    assert await first.acquire()
    waiting = asyncio.create_task(second.acquire())
    await asyncio.sleep(0.1)  # a time in which it may not be acquired
    assert not waiting.done()
    await first.release()
    assert await waiting
    await second.release()


async def test_a_taken_lock_is_refused_with_its_name(make: Make) -> None:
    async with make("sweep"):
        with pytest.raises(LockTaken, match="'sweep' is held by another holder"):
            async with make("sweep"):
                raise AssertionError
        async with make("other"):
            pass


async def test_it_is_renewed_far_beyond_its_time_to_live(make: Make) -> None:
    async with make(ttl=3.0) as lock:
        end = time.monotonic() + 7.0
        while time.monotonic() < end:
            assert not await make().acquire()
            await asyncio.sleep(0.1)  # a time in which it may not expire
        assert lock.held


async def test_a_lock_that_another_holds_by_now_is_not_released(redis: RedisClient) -> None:
    first, second = RedisLock(redis, "job"), RedisLock(redis, "job")
    assert await first.acquire()
    await redis.client.delete(redis.key("lock", "job"))
    assert await second.acquire()
    await first.release()
    assert await redis.client.exists(redis.key("lock", "job")), "the lock of the second"
    await second.release()
    assert not await redis.client.exists(redis.key("lock", "job"))


async def test_fences_keep_growing_when_redis_has_lost_its_data(frail_redis: RedisServer) -> None:
    async with open_redis(RedisSettings(url=frail_redis.url, timeout=5.0)) as redis:
        lock = RedisLock(redis, "job")
        assert await lock.acquire()
        before = lock.fence
        await lock.release()
        await redis.client.flushall()
        assert await lock.acquire()
        assert lock.fence > before
        await lock.release()


async def test_a_body_whose_lock_is_lost_is_cancelled(redis: RedisClient) -> None:
    lock = RedisLock(redis, "job", ttl=0.3)
    with pytest.raises(LockLost, match="'job' was lost"):
        await hold_until_lost(lock, lambda: redis.client.delete(redis.key("lock", "job")))
    assert lock.lost.is_set()
    with pytest.raises(LockLost):
        _ = lock.fence
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0, "the cancellation of the body is consumed"


async def test_a_session_that_the_server_ends_is_a_lost_lock(postgres_url: str) -> None:
    async def end() -> None:
        async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'reelstate lock'"
            )

    with pytest.raises(LockLost):
        await hold_until_lost(PostgresLock(postgres_url, "job", ttl=0.3), end)


async def test_a_cancellation_from_outside_stays_one(redis: RedisClient) -> None:
    inside = asyncio.Event()

    async def work() -> None:
        async with RedisLock(redis, "job", ttl=5.0):
            inside.set()
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    await inside.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert not await redis.client.exists(redis.key("lock", "job")), "it was released"


async def test_an_outage_shorter_than_the_time_to_live_keeps_the_lock(frail_redis: RedisServer) -> None:
    terms = RedisSettings(url=frail_redis.url, timeout=0.1)
    async with open_redis(terms) as redis, RedisLock(redis, "job", ttl=6.0) as lock:
        frail_redis.freeze()
        await asyncio.sleep(2.0)  # the length of the outage
        assert lock.held
        frail_redis.thaw()
        await asyncio.sleep(5.0)  # a time in which it may not expire
        assert lock.held, "it was renewed after that"


async def test_an_outage_longer_than_the_time_to_live_loses_the_lock(frail_redis: RedisServer) -> None:
    async with open_redis(RedisSettings(url=frail_redis.url, timeout=0.1)) as redis:
        with pytest.raises(LockLost):
            await hold_until_lost(RedisLock(redis, "job", ttl=0.6), lambda: asyncio.to_thread(frail_redis.stop))
        with pytest.raises(RedisUnavailable):
            await RedisLock(redis, "job").acquire()


async def test_it_is_lost_when_it_expires_though_a_renewal_hangs(frail_redis: RedisServer) -> None:
    ends: list[float] = []

    async def work(lock: Lock) -> None:
        async with lock:
            frail_redis.freeze()
            try:
                await asyncio.wait_for(asyncio.Event().wait(), 300)
            finally:
                ends.append(time.monotonic())
                frail_redis.thaw()

    async with open_redis(RedisSettings(url=frail_redis.url, timeout=120.0)) as redis:
        began = time.monotonic()
        with pytest.raises(LockLost):
            await work(RedisLock(redis, "job", ttl=3.0))
    assert ends[0] - began < 60, "it does not wait for the answer: another may hold it once it has expired"


async def test_an_unreachable_database_is_named(refusing_port: int) -> None:
    with pytest.raises(StoreUnavailable, match="can't acquire lock 'job'"):
        await PostgresLock(f"postgresql://nobody@127.0.0.1:{refusing_port}/nowhere", "job").acquire()


async def test_a_held_lock_does_not_hold_back_vacuum(postgres_url: str) -> None:
    connecting = psycopg.AsyncConnection.connect(postgres_url, autocommit=True)
    async with PostgresLock(postgres_url, "job"), await connecting as connection:
        cursor = await connection.execute(
            "SELECT backend_xid, backend_xmin FROM pg_stat_activity"
            " WHERE application_name = 'reelstate lock' AND state = 'idle in transaction'"
        )
        assert await cursor.fetchall() == [(None, None)]


def test_lock_numbers_have_64_bits() -> None:
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


async def read_line(process: asyncio.subprocess.Process) -> list[str]:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 300)).decode().split()


async def test_a_paused_holder_learns_of_its_loss_and_its_write_is_refused(
    kind: str, request: pytest.FixtureRequest, redis_settings: RedisSettings, make: Make, tmp_path: Path
) -> None:
    file = tmp_path / "target.db"
    with sqlite3.connect(file) as base:
        base.execute("CREATE TABLE target AS SELECT 'none' AS value, 0 AS fence")
    base.close()
    name = f"lock-{uuid.uuid4().hex}"
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else redis_settings.url
    prefix = name if kind == "postgres" else redis_settings.prefix
    async with holder(kind, url, prefix, 0.5, file) as process:
        outcome, number = await read_line(process)
        assert outcome == "held"
        process.send_signal(signal.SIGSTOP)
        async with make(name if kind == "postgres" else "job", timeout=20.0) as next_holder:
            assert next_holder.fence > int(number)
            assert write(str(file), next_holder.fence, "new")
            process.send_signal(signal.SIGCONT)
            assert await read_line(process) == ["lost", "False"]
            assert await read_line(process) == ["refused"]
    with sqlite3.connect(file) as base:
        assert base.execute("SELECT value FROM target").fetchone() == ("new",)
    base.close()
