"""The way to Redis: one pool a process, a limit of time for every call, and a breaker for when it does not answer.

Nothing that is kept there is the truth. A call that fails raises `RedisUnavailable` and costs its caller the time limit
at most; while the breaker is open it costs nothing. A trial in the background finds out when Redis is back.
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
LEAST_VERSION = (6, 2)
"""The first with XAUTOCLAIM."""
FAULTS = (exceptions.RedisError, OSError, TimeoutError)
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
PROBE = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisSettings:
    """Where Redis is and how to speak to it."""

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
            raise InvalidRequest("redis_url", f"{mask_passwords(self.url)!r} is no address of a Redis", hint=hint)
        if not NAME.fullmatch(self.prefix):
            raise InvalidRequest("redis_prefix", f"{self.prefix!r} can't begin keys", hint="letters, digits, . _ -")

    @property
    def place(self) -> str:
        """The address as people may see it."""
        return mask_passwords(self.url)

    def client(self) -> Client:
        """A client whose pool makes those wait who ask for more connections than it has."""
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
                "redis_url", f"{self.place!r} can't be read: {error}", hint="redis://host:6379/0"
            ) from None
        return Client.from_pool(pool)

    def _tls(self) -> dict[str, Any]:
        if not self.url.startswith("rediss://"):
            return {}
        files = {"ssl_ca_certs": self.ca, "ssl_certfile": self.certificate, "ssl_keyfile": self.key}
        return {"ssl_min_version": ssl.TLSVersion.TLSv1_2, **{name: file for name, file in files.items() if file}}


class RedisClient:
    """Belongs to the event loop that opened it."""

    def __init__(self, terms: RedisSettings) -> None:
        self.terms = terms
        self.client = terms.client()
        self.breaker = Breaker(on_change=self._changed)
        self._on_return: list[Callable[[], None]] = []
        self._trying: asyncio.Task[None] | None = None
        self._closed = False

    def key(self, *parts: object) -> str:
        """A key of ours. The braces keep all of them in one slot of a cluster."""
        return ":".join([f"{{{self.terms.prefix}}}", *map(str, parts)])

    def on_return(self, call: Callable[[], None]) -> None:
        """Have something done whenever Redis is back."""
        self._on_return.append(call)

    async def check(self) -> None:
        """Ask Redis whether it can be used; raises with what is wrong and what to do about it."""
        place = self.terms.place
        try:
            async with asyncio.timeout(max(2.0, 2 * self.terms.timeout)):
                info = await self.client.info("server")
                await self._probe()
        except FAULTS as error:
            raise _refusal(self.terms, error) from None
        _require_version(place, str(info.get("redis_version", "")))

    async def do(self, call: Callable[[Client], Awaitable[T]]) -> T:
        """What a call to Redis answers; raises `RedisUnavailable`, at once while the breaker is open."""
        if not self.breaker.closed:
            raise RedisUnavailable(f"{self.terms.place} is away: {self.breaker.health().last_error}")
        try:
            async with asyncio.timeout(2 * self.terms.timeout):
                answer = await call(self.client)
        except FAULTS as error:
            self.breaker.failed(words_of(error))
            raise RedisUnavailable(f"{self.terms.place}: {words_of(error)}") from None
        self.breaker.succeeded()
        return answer

    async def close(self) -> None:
        self._closed = True
        if self._trying is not None:
            await cancel_and_wait(self._trying)
        with contextlib.suppress(*FAULTS):
            await self.client.aclose()

    def _changed(self, state: Circuit) -> None:
        if state is Circuit.OPEN and not self._closed and (self._trying is None or self._trying.done()):
            logger.warning(
                "Redis at %s is away: %s; the database is asked meanwhile",
                self.terms.place,
                self.breaker.health().last_error,
            )
            self._trying = asyncio.get_running_loop().create_task(self._try())

    async def _try(self) -> None:
        """Try again and again, with longer pauses, until Redis reads and writes."""
        while not self.breaker.closed:
            await asyncio.sleep(self.breaker.pause)
            self.breaker.trial()
            try:
                async with asyncio.timeout(2 * self.terms.timeout):
                    await self._probe()
            except FAULTS as error:
                self.breaker.failed(words_of(error))
            else:
                self.breaker.succeeded()
        logger.warning("Redis at %s is back", self.terms.place)
        for call in self._on_return:
            call()

    async def _probe(self) -> None:
        """Write, and by a script: what is full, a replica, or forbidden shows here."""
        await self.client.eval(PROBE, 1, self.key("probe"))


@asynccontextmanager
async def redis_at(terms: RedisSettings) -> AsyncIterator[RedisClient]:
    """A link that is closed on leaving; whether Redis is there is not asked."""
    link = RedisClient(terms)
    try:
        yield link
    finally:
        await link.close()


def words_of(error: BaseException) -> str:
    """What went wrong in one line, without secrets; a sentence can go on after it."""
    line = (str(error).strip().splitlines() or [""])[0].rstrip(".")
    return mask_passwords(line or _KINDS.get(type(error), type(error).__name__))


_KINDS: dict[type[BaseException], str] = {TimeoutError: "no answer in time"}


def _require_version(place: str, version: str) -> None:
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < LEAST_VERSION:
        raise RedisRefused(
            f"{place} is Redis {version or 'of an unknown version'}, which is too old",
            hint="6.2 or newer is needed: upgrade it, or set REEL_DISPATCH=database",
        )


def _refusal(terms: RedisSettings, error: BaseException) -> RedisUnavailable:
    """What is wrong and what to do about it; a script tells of a refusal only in words."""
    said = str(error)
    if isinstance(error, exceptions.AuthenticationError) or "NOAUTH" in said:
        return RedisRefused(
            f"{terms.place} refuses the user or the password: {words_of(error)}", hint="check both in REEL_REDIS_URL"
        )
    if isinstance(error, exceptions.NoPermissionError) or "NOPERM" in said or "ACL failure" in said:
        return RedisRefused(
            f"{terms.place} does not let this user do what is needed: {words_of(error)}",
            hint="the guide to Redis names the rights",
        )
    if "READONLY" in said:
        return RedisRefused(f"{terms.place} is a replica", hint="name the primary in REEL_REDIS_URL")
    return RedisUnavailable(f"{terms.place} can't be used: {words_of(error)}", hint=_advice(terms, said.lower()))


def _advice(terms: RedisSettings, said: str) -> str:
    if "ssl" in said or "certificate" in said:
        return "check REEL_REDIS_CA, the host's name in the certificate, and that the port speaks TLS"
    if terms.url.startswith("redis://") and ("closed" in said or "reset" in said):
        return "the port may expect TLS: then the address begins with rediss://"
    if "maxmemory" in said:
        return "it is full: give it more memory, or remove what else is kept there"
    return "check REEL_REDIS_URL and that Redis runs, or set REEL_DISPATCH=database"
