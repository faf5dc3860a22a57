"""The lock in Redis: a key with a token and a time to live. Every script compares the token before it acts."""

from __future__ import annotations

import secrets

from reelstate.connections.redis import Client, RedisClient
from reelstate.locks.lock import Lock

TAKE = """
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
local time = redis.call('TIME')
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local fence = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
redis.call('SET', KEYS[2], fence)
return fence
"""
"""The fencing number is the time in microseconds, so that it keeps growing after Redis has lost its data."""
RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class RedisLock(Lock):
    """A lock of one Redis."""

    def __init__(self, redis: RedisClient, name: str, *, ttl: float = 30.0, timeout: float = 0.0) -> None:
        super().__init__(name, ttl=ttl, timeout=timeout)
        self._redis = redis
        self._key, self._fences = redis.key("lock", name), redis.key("fence", name)
        self._token = secrets.token_hex(16)

    async def _take(self) -> int | None:
        self._token = secrets.token_hex(16)
        milliseconds = max(1, int(self.ttl * 1000))
        fence = await self._run(TAKE, [self._key, self._fences], milliseconds)
        return None if fence is None else int(fence)

    async def _renew(self) -> bool:
        return bool(await self._run(RENEW, [self._key], max(1, int(self.ttl * 1000))))

    async def _release(self) -> None:
        await self._run(RELEASE, [self._key])

    async def _run(self, script: str, keys: list[str], *arguments: int) -> str | int | None:
        async def call(client: Client) -> str | int | None:
            return await client.eval(script, len(keys), *keys, self._token, *arguments)  # type: ignore[no-any-return]

        return await self._redis.run(call)
