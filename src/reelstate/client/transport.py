"""The connection of a command to a server: requests with a key, and answers of a bounded size.

The first request of a command fails at once where the server is unreachable. Later ones that only read are repeated
until the timeout, so that a command that follows a job outlives a restart of the server. A request that changes
something is never repeated.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final

import httpx

from reelstate.client.problems import NotUnderstood, error_of, is_from_another_version, not_a_server, translating
from reelstate.connections.timeouts import RetryTimer
from reelstate.core.errors import InvalidRequest, ReelstateError, TooManyRequests
from reelstate.remote.server import ServerUnavailable, require_secure_url

SOFTWARE: Final = version("reelstate")
CONNECT_TIMEOUT: Final = 10.0
REQUEST_TIMEOUT: Final = 120.0
SILENCE_TIMEOUT: Final = 90.0
"""Seconds without a byte after which a live stream counts as lost; a server sends a heartbeat more often."""
MAX_RESPONSE: Final = 64 * 1024**2
"""Bytes of one answer, and of one line or event of a stream."""
MAX_PATIENT_WAIT: Final = 10.0
"""Seconds that a command waits by itself for a server that limits its rate."""
MAX_VERSION: Final = 50
SESSION: Final = "/api/v1/session"
SAFE: Final = ("GET", "HEAD")
Query = Mapping[str, Any]
_KEY: Final = re.compile(r"[!-~]{1,500}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server, and the key that commands send to it."""

    url: str
    key: str = field(repr=False)
    insecure: bool = False
    """Whether the key may be sent unencrypted."""

    def __post_init__(self) -> None:
        require_secure_url(
            self.url,
            insecure=self.insecure,
            field="server",
            hint="use https://; where the network itself is trusted, REEL_INSECURE_HTTP=allow",
        )
        if not _KEY.fullmatch(self.key):
            raise InvalidRequest("key", "is not a key", hint="a key reads reel_<id>_<secret>, in one line")


class Transport:
    """Sends requests to one server. Belongs to the event loop that uses it."""

    def __init__(self, server: ServerAddress, *, longest_outage: float) -> None:
        self.url = server.url.rstrip("/")
        self.longest_outage = longest_outage
        self._reached = False
        encrypted = self.url.startswith("https://")
        self._client = httpx.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {server.key}", "User-Agent": f"reel/{SOFTWARE}"},
            timeout=httpx.Timeout(REQUEST_TIMEOUT, connect=CONNECT_TIMEOUT),
            # Certificates take long to load, and a proxy must not get a key in plain text.
            verify=True if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            trust_env=encrypted,
        )

    async def close(self) -> None:
        await self._client.aclose()

    @property
    def reached(self) -> bool:
        """Whether the server has answered before."""
        return self._reached

    async def get(self, path: str, /, **query: Any) -> Any:
        return await self.send("GET", path, query=query)

    async def post(self, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None) -> Any:
        return await self.send("POST", path, body=body, headers=headers)

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request and return the JSON of its answer; None for an empty one."""
        timer = RetryTimer(self.longest_outage)
        while True:
            try:
                async with self.open(method, path, query=query, body=body, headers=headers) as response:
                    return await self._document(response)
            except TooManyRequests as error:
                if error.retry_after > MAX_PATIENT_WAIT or not await timer.wait(error, f"{method} {path} limited"):
                    raise
                await asyncio.sleep(error.retry_after)
            except ServerUnavailable as error:
                repeatable = method in SAFE and self._reached
                if not repeatable or not await timer.wait(error, f"{method} {path} failed"):
                    raise

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        content: AsyncIterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        silence: float = REQUEST_TIMEOUT,
        explain: bool = True,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request, and yield its answer while it arrives. Raises the error of an error response.

        `silence` is for how many seconds it may send nothing. With `explain`, an error of a server of another version
        says so.
        """
        given = {name: value for name, value in (query or {}).items() if value is not None}
        extra: dict[str, Any] = {"content": content} if content is not None else {}
        if body is not None:
            extra = {"json": body}
        limits = httpx.Timeout(silence, connect=CONNECT_TIMEOUT)
        with translating(self.url):
            async with self._client.stream(
                method, path, params=given, headers=dict(headers or {}), timeout=limits, **extra
            ) as response:
                if response.is_redirect:
                    raise self._redirect(response)
                if response.is_error:
                    raise await self._error(response, explain=explain)
                self._reached = True
                yield response

    async def lines(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """Yield the lines of an answer while it arrives."""
        held = b""
        async for chunk in response.aiter_bytes():
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                yield line.removesuffix(b"\r")
            if len(held) > MAX_RESPONSE:
                raise self._too_large()
        if held:
            yield held

    async def server_version(self) -> str | None:
        """Return the version of the server; None where it says none."""
        try:
            async with self.open("GET", SESSION, explain=False) as response:
                session = json.loads(await self._content(response))
        except (ReelstateError, ValueError):
            return None
        found = session.get("version") if isinstance(session, dict) else None
        return found[:MAX_VERSION] if isinstance(found, str) else None

    async def not_understood(self, what: str) -> NotUnderstood:
        """Return the error for an answer that this command can't read, with the version of the server."""
        found = await self.server_version()
        if found is None:
            return not_a_server(self.url, what)
        if found == SOFTWARE:
            return NotUnderstood(
                f"{self.url} {what}", hint="server and command have the same version: please report this"
            )
        return NotUnderstood(
            f"{self.url} {what}: it runs version {found}, this command is {SOFTWARE}",
            hint=f"install version {found} here, or upgrade the server",
        )

    async def _document(self, response: httpx.Response) -> Any:
        content = await self._content(response)
        if not content:
            return None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise not_a_server(self.url, "answered with something that is not JSON") from None

    async def _content(self, response: httpx.Response) -> bytes:
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > MAX_RESPONSE:
                raise self._too_large()
        return bytes(content)

    async def _error(self, response: httpx.Response, *, explain: bool) -> ReelstateError:
        content = await self._content(response)
        if explain and is_from_another_version(content):
            return await self.not_understood(f"does not know {response.request.method} {response.url.path}")
        return error_of(response, content, self.url)

    def _redirect(self, response: httpx.Response) -> NotUnderstood:
        target = response.headers.get("location", "")[:500]
        return NotUnderstood(
            f"{self.url} redirects to {target}", hint="the key is not sent there: name that address if you trust it"
        )

    def _too_large(self) -> NotUnderstood:
        return NotUnderstood(
            f"{self.url} sent more than {MAX_RESPONSE // 1024**2} MiB at once", hint="ask for less, with --limit"
        )
