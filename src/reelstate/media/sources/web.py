"""Sources from the web. Nothing of a submitted address is trusted.

A name is resolved once, its addresses are checked, and the connection goes to one that was checked; a redirect is
looked at in the same way. So no name can lead into our own network, not even one that changes what it means.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, TypeVar

import httpx

from reelstate.artifacts.faults import folder_faults
from reelstate.media.sources.address import InputRules, redact_url
from reelstate.media.sources.errors import SourceUnavailable, UnusableSource
from reelstate.media.sources.fetched import FetchedSource, OnProgress, check_limit
from reelstate.media.sources.public_addresses import is_public
from reelstate.media.sources.reader import BLOCK, BlockReader, HeadReader, Reader

logger = logging.getLogger("reelstate.source")
T = TypeVar("T")
Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS: Final = 5
OK: Final = 200
PARTIAL: Final = 206
HEAD: Final = 8 * 1024 * 1024
"""What is read of a source whose server does not serve parts."""
BATCH: Final = 1024 * 1024
MAX_DELAY: Final = 30.0
# It would log the addresses of redirects, which may be signed.
logging.getLogger("httpcore").setLevel(logging.INFO)
_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A server's answer, its body not yet read."""

    url: str
    """Where it came from in the end."""
    response: httpx.Response

    @property
    def validator(self) -> str | None:
        """What tells this version of the source from another: a strong tag, or the time of its last change."""
        tag: str = self.response.headers.get("etag", "")
        changed: str | None = self.response.headers.get("last-modified")
        return tag if tag and not tag.startswith("W/") else changed

    @property
    def span(self) -> tuple[int, int] | None:
        """For a part: where it begins, and how long the whole is."""
        found = _RANGE.fullmatch(self.response.headers.get("content-range", ""))
        return (int(found[1]), int(found[3])) if found else None

    @property
    def length(self) -> int | None:
        length = self.response.headers.get("content-length", "")
        return int(length) if length.isascii() and length.isdigit() else None


class WebClient:
    """A client for submitted addresses: `async with Web(rules) as web`."""

    def __init__(
        self,
        rules: InputRules,
        *,
        resolve: Resolve | None = None,
        connect: httpx.AsyncBaseTransport | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._rules = rules
        self._resolve = resolve or resolved
        self._connect = connect
        self._trust = trust
        self._transports: dict[str, httpx.AsyncHTTPTransport] = {}
        self._timeout = {"connect": rules.connect, "read": rules.idle, "write": rules.idle, "pool": rules.idle}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for transport in self._transports.values():
            await transport.aclose()

    async def download(self, url: str, path: Path, *, on_progress: OnProgress | None = None) -> FetchedSource:
        """Fetch a source into a file. What breaks off is taken up where it broke, if the source is still the same."""
        try:
            async with asyncio.timeout(self._rules.total):
                with folder_faults(str(path)), path.open("wb") as file:
                    return await self._download(url, Download(file, self._rules.limit, on_progress))
        except TimeoutError:
            raise SourceUnavailable(
                f"{redact_url(url)} was not fetched in {self._rules.total:g} s", hint="it is tried again from the start"
            ) from None

    @asynccontextmanager
    async def reading(self, url: str) -> AsyncIterator[Reader]:
        """Read a source in parts, without fetching it."""
        first, size, answer = await self._in_time(url, self._beginning(url))
        if size is not None:
            self._check_size(url, size)
            parts = Parts(self, answer.url, size, answer.validator)
            yield BlockReader(parts.fetch, size, first)
        else:
            whole = len(first) <= HEAD
            yield HeadReader(first[:HEAD], len(first) if whole else answer.length, whole=whole)

    async def part(self, url: str, offset: int, length: int, validator: str | None) -> bytes:
        return await self._in_time(url, self._part(url, offset, length, validator))

    async def _beginning(self, url: str) -> tuple[bytes, int | None, HttpResponse]:
        """The first part, and how long the whole is; more of it, and no length, where a server does not serve parts."""
        async with self._opened(url, {"Range": f"bytes=0-{BLOCK - 1}"}) as answer:
            if answer.response.status_code == PARTIAL and answer.span is not None:
                return await _body(answer, BLOCK), answer.span[1], answer
            return await _body(answer, HEAD + 1), None, answer

    async def _part(self, url: str, offset: int, length: int, validator: str | None) -> bytes:
        wanted = {"Range": f"bytes={offset}-{offset + length - 1}"}
        if validator is not None:
            wanted["If-Range"] = validator
        async with self._opened(url, wanted) as answer:
            if answer.response.status_code != PARTIAL or answer.span is None or answer.span[0] != offset:
                raise SourceUnavailable(
                    f"{redact_url(url)} changed while it was read", hint="it is read again at the next attempt"
                )
            return await _body(answer, length)

    async def _in_time(self, url: str, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._rules.part):
                return await work
        except TimeoutError:
            raise SourceUnavailable(
                f"{redact_url(url)} took longer than {self._rules.part:g} s for a part", hint="it is tried again"
            ) from None

    async def _download(self, url: str, download: Download) -> FetchedSource:
        failures = 0
        while True:
            before = download.size
            try:
                await self._go_on(url, download)
                return download.fetched()
            except SourceUnavailable:
                await download.write()
                failures = failures + 1 if download.size <= before else 1
                if failures >= self._rules.attempts:
                    raise
            await asyncio.sleep(min(MAX_DELAY, self._rules.pause * 2 ** (failures - 1)))

    async def _go_on(self, url: str, download: Download) -> None:
        async with self._opened(url, download.wanted()) as answer:
            download.begin(answer)
            async for chunk in _chunks(answer):
                await download.take(chunk)
            await download.end(redact_url(url))

    @asynccontextmanager
    async def _opened(self, url: str, headers: dict[str, str]) -> AsyncIterator[HttpResponse]:
        """Send a request, follow redirects, and have an answer that holds bytes."""
        answer = await self._asked(url, headers)
        try:
            _check_status(url, answer.response.status_code)
            yield answer
        except httpx.TransportError as error:
            raise _broken(url, error) from error
        finally:
            await answer.response.aclose()

    async def _asked(self, url: str, headers: dict[str, str]) -> HttpResponse:
        target = _parsed(url)
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._sent(target, headers)
            location = response.headers.get("location")
            if response.status_code not in REDIRECTS or location is None:
                return HttpResponse(str(target), response)
            await response.aclose()
            target = _joined(target, location)
        raise UnusableSource(
            "address",
            f"{redact_url(url)} redirects more than {MAX_REDIRECTS} times",
            hint="submit the address it leads to",
        )

    async def _sent(self, target: httpx.URL, headers: dict[str, str]) -> httpx.Response:
        address = await self._checked(target)
        host = target.raw_host.decode("ascii")
        request = httpx.Request(
            "GET",
            target.copy_with(host=address, username=None, password=None, fragment=None),
            headers={"Host": target.netloc.decode("ascii"), **_always(target), **headers},
            extensions={"timeout": self._timeout, "sni_hostname": host},
        )
        try:
            return await self._transport(target).handle_async_request(request)
        except httpx.TransportError as error:
            raise _broken(str(target), error, address) from None

    def _transport(self, target: httpx.URL) -> httpx.AsyncBaseTransport:
        """A host's own connections: two hosts may share an address, and one must not be spoken to as the other."""
        if self._connect is not None:
            return self._connect
        place = f"{target.scheme}://{target.netloc.decode('ascii')}"
        if place not in self._transports:
            if self._trust is None and target.scheme == "https":
                self._trust = httpx.create_ssl_context()
            self._transports[place] = httpx.AsyncHTTPTransport(verify=self._trust or False, trust_env=False)
        return self._transports[place]

    async def _checked(self, target: httpx.URL) -> str:
        """The one address that is connected to; all that the name stands for must be allowed."""
        host, port = target.raw_host.decode("ascii"), target.port or (443 if target.scheme == "https" else 80)
        addresses = await self._resolve(host, port)
        if not {host.lower(), f"{host.lower()}:{port}"} & self._rules.hosts:
            for address in addresses:
                _check_public(host, address)
        return addresses[0]

    def _check_size(self, url: str, size: int) -> None:
        check_limit(redact_url(url), size, self._rules.limit)


class Download:
    """A file on its way: what has come, and from which version of the source."""

    def __init__(self, file: BinaryIO, limit: int, on_progress: OnProgress | None) -> None:
        self.size = 0
        self._file = file
        self._limit = limit
        self._on_progress = on_progress
        self._digest = hashlib.sha256()
        self._validator: str | None = None
        self._total: int | None = None
        self._waiting = bytearray()

    def wanted(self) -> dict[str, str]:
        """What to ask for: the rest, if the source is still the same."""
        if self.size == 0 or self._validator is None:
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": self._validator}

    def begin(self, answer: HttpResponse) -> None:
        same = answer.span == (self.size, self._total) and answer.validator in (None, self._validator)
        if answer.response.status_code == PARTIAL and same:
            return
        if answer.response.status_code == PARTIAL:
            self._validator = None
            raise SourceUnavailable(
                f"{redact_url(answer.url)} sent another part", hint="it is fetched again from the start"
            )
        self._restart(answer)

    def _restart(self, answer: HttpResponse) -> None:
        self._validator, self._total, self.size = answer.validator, answer.length, 0
        self._digest = hashlib.sha256()
        self._file.seek(0)
        self._file.truncate()
        check_limit(redact_url(answer.url), self._total or 0, self._limit)

    async def take(self, chunk: bytes) -> None:
        self._waiting += chunk
        check_limit("the source", self.size + len(self._waiting), self._limit)
        if len(self._waiting) >= BATCH:
            await self.write()

    async def end(self, place: str) -> None:
        await self.write()
        if self._total is not None and self.size != self._total:
            raise SourceUnavailable(f"{place} broke off after {self.size:,} bytes", hint="it is tried again")

    async def write(self) -> None:
        data = bytes(self._waiting)
        self._waiting.clear()
        await asyncio.to_thread(self._keep, data)
        self.size += len(data)
        if self._on_progress is not None:
            self._on_progress(self.size, self._total)

    def _keep(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)

    def fetched(self) -> FetchedSource:
        self._file.flush()
        return FetchedSource(self.size, self._digest.hexdigest())


@dataclass(frozen=True, slots=True)
class Parts:
    """Where the parts of one version of a source come from."""

    web: WebClient
    url: str
    size: int
    validator: str | None

    async def fetch(self, offset: int, length: int) -> bytes:
        return await self.web.part(self.url, offset, length, self.validator)


async def resolved(host: str, port: int) -> tuple[str, ...]:
    """The addresses of a name, in the order in which they should be tried."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        logger.info("source not resolved host=%s error=%s", host, error)
        raise SourceUnavailable(f"{host} can't be resolved", hint="check the name") from None
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def _check_public(host: str, address: str) -> None:
    """What the name resolves to stays in the log of the worker: whoever submits could map our network with it."""
    if not is_public(address):
        logger.info("source refused host=%s address=%s reason=not-public", host, address)
        raise UnusableSource(
            "forbidden",
            f"{host} is not a public address",
            hint="if that is meant, name the host in REEL_INPUT_HOSTS",
        )


def _check_status(url: str, status: int) -> None:
    if status in (OK, PARTIAL):
        return
    said = f"{redact_url(url)} answers {status}"
    if status in (404, 410):
        raise UnusableSource("missing", said, hint="check the address")
    if status in (401, 403):
        raise UnusableSource("denied", said, hint="submit an address that needs no login, for example a signed one")
    if status in (408, 416, 425, 429) or status >= 500:  # noqa: PLR2004 - from here on it is the server's fault
        raise SourceUnavailable(said, hint="it is tried again")
    raise UnusableSource("address", said, hint="submit an address that answers a plain GET with the file")


def _always(target: httpx.URL) -> dict[str, str]:
    headers = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "reelstate"}
    if target.userinfo:
        word = f"{target.username}:{target.password}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(word).decode('ascii')}"
    return headers


def _parsed(url: str) -> httpx.URL:
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise UnusableSource("address", f"{redact_url(url)} is not an address: {error}", hint="check it") from None
    return _web_only(target)


def _joined(target: httpx.URL, location: str) -> httpx.URL:
    try:
        return _web_only(target.join(location))
    except httpx.InvalidURL:
        raise UnusableSource("address", f"{redact_url(str(target))} redirects to no address", hint="check it") from None


def _web_only(target: httpx.URL) -> httpx.URL:
    if target.scheme not in ("http", "https") or not target.host:
        raise UnusableSource(
            "forbidden", f"it leads to {redact_url(str(target))}", hint="only http:// and https:// are fetched"
        )
    return target


def _broken(url: str, error: httpx.TransportError, address: str = "") -> SourceUnavailable:
    """What went wrong with a connection, without the address that its name resolved to."""
    said = str(error) or type(error).__name__
    if address:
        said = said.replace(address, httpx.URL(url).host)
    return SourceUnavailable(f"{redact_url(url)}: {said}", hint="see that the server answers; it is tried again")


async def _chunks(answer: HttpResponse) -> AsyncIterator[bytes]:
    stream: Any = answer.response.stream
    async for chunk in stream:
        yield chunk


async def _body(answer: HttpResponse, most: int) -> bytes:
    """The body, but no more of it than was asked for."""
    body = bytearray()
    async for chunk in _chunks(answer):
        body += chunk
        if len(body) >= most:
            break
    return bytes(body[:most])
