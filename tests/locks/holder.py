"""A process that holds a lock: `python -m tests.locks.holder KIND URL PREFIX TTL FILE`.

It says that it holds the lock, and its number; then, for every line it reads, it writes to a row under that number and
says what came of it.
"""

import asyncio
import sqlite3
import sys

from reelstate.connections.redis import RedisSettings, redis_at
from reelstate.core.errors import LockLost
from reelstate.locks.lock import Lock
from reelstate.locks.postgres import PostgresLock
from reelstate.locks.redis import RedisLock


def write(file: str, fence: int, value: str) -> bool:
    """The resource looks at the number itself."""
    with sqlite3.connect(file) as base:
        cursor = base.execute("UPDATE target SET value = ?, fence = ? WHERE fence <= ?", [value, fence, fence])
    base.close()
    return cursor.rowcount == 1


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def hold(lock: Lock, file: str) -> None:
    loop = asyncio.get_running_loop()
    reading = loop.run_in_executor(None, sys.stdin.readline)
    fence = 0
    try:
        async with lock:
            fence = lock.fence
            say("held", fence)
            await reading
            say("not lost")
    except LockLost:
        say("lost", lock.held)
    say("written" if write(file, fence, "old") else "refused")


async def main(kind: str, url: str, prefix: str, ttl: str, file: str) -> None:
    if kind == "postgres":
        await hold(PostgresLock(url, prefix, ttl=float(ttl)), file)
        return
    async with redis_at(RedisSettings(url=url, prefix=prefix, timeout=5.0)) as link:
        await hold(RedisLock(link, "job", ttl=float(ttl)), file)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
