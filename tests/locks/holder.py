"""A process that holds a lock: `python -m tests.locks.holder KIND URL PREFIX TTL FILE`.

It prints the fencing number; after each line it reads, it writes to a row with that number and prints the outcome.
"""

import asyncio
import sqlite3
import sys

from reelstate.connections.redis import RedisSettings, open_redis
from reelstate.core.errors import LockLost
from reelstate.locks.lock import Lock
from reelstate.locks.postgres import PostgresLock
from reelstate.locks.redis import RedisLock


def write(file: str, fence: int, value: str) -> bool:
    """Write as the holder with this fence; return whether the row accepted it."""
    with sqlite3.connect(file) as base:
        cursor = base.execute("UPDATE target SET value = ?, fence = ? WHERE fence <= ?", [value, fence, fence])
    base.close()
    return cursor.rowcount == 1


def report(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def hold(lock: Lock, file: str) -> None:
    loop = asyncio.get_running_loop()
    reading = loop.run_in_executor(None, sys.stdin.readline)
    fence = 0
    try:
        async with lock:
            fence = lock.fence
            report("held", fence)
            await reading
            report("not lost")
    except LockLost:
        report("lost", lock.held)
    report("written" if write(file, fence, "old") else "refused")


async def main(kind: str, url: str, prefix: str, ttl: str, file: str) -> None:
    if kind == "postgres":
        await hold(PostgresLock(url, prefix, ttl=float(ttl)), file)
        return
    async with open_redis(RedisSettings(url=url, prefix=prefix, timeout=5.0)) as redis:
        await hold(RedisLock(redis, "job", ttl=float(ttl)), file)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
