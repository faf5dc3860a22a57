"""The connection to Redis: one pool per process, a timeout for every call, and a circuit breaker.

Redis never holds the truth. A failed call raises `RedisUnavailable` and costs its caller at most the timeout; while the
breaker is open it costs nothing. Trials in the background detect when Redis is reachable again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import redis.asyncio as aioredis
from redis import exceptions
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from reelstate.connections.breaker import Breaker, Circuit
from reelstate.core.errors import InvalidRequest, RedisRefused, RedisUnavailable
from reelstate.core.outcome import mask_passwords
from reelstate.runtime.cancellation import cancel_and_wait

logger = logging.getLogger("reelstate.redis")

T = TypeVar("T")
Client = aioredis.Redis
MIN_VERSION = (6, 2)
"""The first version with XAUTOCLAIM."""
FAULTS = (exceptions.RedisError, OSError, TimeoutError)
PREFIX = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
PROBE = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisSettings:
    """The address of Redis and how to connect to it."""

    url: str
    prefix: str = "reelstate"
    pool: int = 10
    timeout: float = 0.5
    ca: str = ""
    certificate: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        if not self.url.startswith(("redis://", "rediss://", "unix://")):
            hint = "redis://host:6379/0, rediss://user:password@host:6380/0 or unix:///path/of/socket"
            raise InvalidRequest("redis_url", f"{self.shown_url!r} is not a Redis address", hint=hint)
        if not PREFIX.fullmatch(self.prefix):
            raise InvalidRequest(
                "redis_prefix", f"invalid key prefix {self.prefix!r}", hint="use letters, digits, . _ -"
            )

    @property
    def shown_url(self) -> str:
        """The address without its password."""
        return mask_passwords(self.url)

    def client(self) -> Client:
        """Create a client whose pool blocks callers that need more connections than it has."""
        try:
            pool = aioredis.BlockingConnectionPool.from_url(
                self.url,
                max_connections=self.pool,
                timeout=self.timeout,
                socket_timeout=self.timeout,
                socket_connect_timeout=self.timeout,
                retry=Retry(NoBackoff(), 0),
                protocol=2,
                client_name="reelstate",
                decode_responses=True,
                **self._tls(),
            )
        except ValueError as error:
            raise InvalidRequest(
                "redis_url", f"invalid Redis address {self.shown_url!r}: {error}", hint="redis://host:6379/0"
            ) from None
        return Client.from_pool(pool)

    def _tls(self) -> dict[str, Any]:
        if not self.url.startswith("rediss://"):
            return {}
        files = {"ssl_ca_certs": self.ca, "ssl_certfile": self.certificate, "ssl_keyfile": self.key}
        return {"ssl_min_version": ssl.TLSVersion.TLSv1_2, **{name: file for name, file in files.items() if file}}


class RedisClient:
    """Makes the calls to Redis. It belongs to the event loop that created it."""

    def __init__(self, settings: RedisSettings) -> None:
        self.settings = settings
        self.client = settings.client()
        self.breaker = Breaker(on_change=self._on_circuit_change)
        self._on_reconnect: list[Callable[[], None]] = []
        self._trials: asyncio.Task[None] | None = None
        self._closed = False

    def key(self, *parts: object) -> str:
        """Return a key with our prefix. The braces keep all keys in one slot of a cluster."""
        return ":".join([f"{{{self.settings.prefix}}}", *map(str, parts)])

    def on_reconnect(self, call: Callable[[], None]) -> None:
        """Register a function to call whenever Redis is reachable again."""
        self._on_reconnect.append(call)

    async def check(self) -> None:
        """Raise `RedisUnavailable` or `RedisRefused` with a hint if Redis can't be used."""
        try:
            async with asyncio.timeout(max(2.0, 2 * self.settings.timeout)):
                info = await self.client.info("server")
                await self._probe()
        except FAULTS as error:
            raise _refusal(self.settings, error) from None
        _require_version(self.settings.shown_url, str(info.get("redis_version", "")))

    async def run(self, call: Callable[[Client], Awaitable[T]]) -> T:
        """Return the result of a call; raise `RedisUnavailable`, at once while the breaker is open."""
        if not self.breaker.is_closed:
            raise RedisUnavailable(f"{self.settings.shown_url} is unreachable: {self.breaker.health().last_error}")
        try:
            async with asyncio.timeout(2 * self.settings.timeout):
                result = await call(self.client)
        except FAULTS as error:
            self.breaker.record_failure(error_text(error))
            raise RedisUnavailable(f"{self.settings.shown_url}: {error_text(error)}") from None
        self.breaker.record_success()
        return result

    async def close(self) -> None:
        self._closed = True
        if self._trials is not None:
            await cancel_and_wait(self._trials)
        with contextlib.suppress(*FAULTS):
            await self.client.aclose()

    def _on_circuit_change(self, state: Circuit) -> None:
        if state is Circuit.OPEN and not self._closed and (self._trials is None or self._trials.done()):
            logger.warning(
                "redis unreachable url=%s error=%s; claims ask the database",
                self.settings.shown_url,
                self.breaker.health().last_error,
            )
            self._trials = asyncio.get_running_loop().create_task(self._run_trials())

    async def _run_trials(self) -> None:
        """Try with growing delays until Redis reads and writes."""
        while not self.breaker.is_closed:
            await asyncio.sleep(self.breaker.next_delay())
            self.breaker.begin_trial()
            try:
                async with asyncio.timeout(2 * self.settings.timeout):
                    await self._probe()
            except FAULTS as error:
                self.breaker.record_failure(error_text(error))
            else:
                self.breaker.record_success()
        logger.warning("redis reconnected url=%s", self.settings.shown_url)
        for call in self._on_reconnect:
            call()

    async def _probe(self) -> None:
        """Write by a script, which fails on a full Redis, on a replica and without the rights."""
        await self.client.eval(PROBE, 1, self.key("probe"))


@asynccontextmanager
async def open_redis(settings: RedisSettings) -> AsyncIterator[RedisClient]:
    """Yield a client and close it at the end, without checking that Redis is reachable."""
    redis = RedisClient(settings)
    try:
        yield redis
    finally:
        await redis.close()


def error_text(error: BaseException) -> str:
    """Return the error in one line, without secrets and without a full stop."""
    line = (str(error).strip().splitlines() or [""])[0].rstrip(".")
    return mask_passwords(line or _KINDS.get(type(error), type(error).__name__))


_KINDS: dict[type[BaseException], str] = {TimeoutError: "no answer in time"}


def _require_version(shown_url: str, version: str) -> None:
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < MIN_VERSION:
        raise RedisRefused(
            f"{shown_url} is Redis {version or 'of an unknown version'}, which is too old",
            hint="upgrade it to 6.2 or newer, or set REEL_DISPATCH=database",
        )


def _refusal(settings: RedisSettings, error: BaseException) -> RedisUnavailable:
    """Return the error to raise, with a hint; a script reports a refusal only in its text."""
    text = str(error)
    if isinstance(error, exceptions.AuthenticationError) or "NOAUTH" in text:
        return RedisRefused(
            f"{settings.shown_url} refuses the user or the password: {error_text(error)}",
            hint="check both in REEL_REDIS_URL",
        )
    if isinstance(error, exceptions.NoPermissionError) or "NOPERM" in text or "ACL failure" in text:
        return RedisRefused(
            f"{settings.shown_url} denies this user a command that is needed: {error_text(error)}",
            hint="grant the rights that docs/guides/redis.md names",
        )
    if "READONLY" in text:
        return RedisRefused(f"{settings.shown_url} is a replica", hint="name the primary in REEL_REDIS_URL")
    return RedisUnavailable(
        f"{settings.shown_url} can't be used: {error_text(error)}", hint=_advice(settings, text.lower())
    )


def _advice(settings: RedisSettings, text: str) -> str:
    if "ssl" in text or "certificate" in text:
        return "check REEL_REDIS_CA, the host's name in the certificate, and that the port speaks TLS"
    if settings.url.startswith("redis://") and ("closed" in text or "reset" in text):
        return "the port may expect TLS: then the address begins with rediss://"
    if "maxmemory" in text:
        return "it is full: raise maxmemory, or remove other keys"
    return "check REEL_REDIS_URL and that Redis runs, or set REEL_DISPATCH=database"
