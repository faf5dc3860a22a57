"""Read and download sources over HTTP, without trust in submitted URLs.

A host is resolved once, all its addresses are checked, and the connection goes to a checked address; redirects are
checked in the same way. So no host leads into the private network, not even one whose DNS records change meanwhile.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import ssl
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, TypeVar

import httpx

from reelstate.artifacts.faults import folder_faults
from reelstate.connections.guarded_http import ConnectionFailed, GuardedHttp, HostForbidden, HostUnresolved, Resolve
from reelstate.media.sources.address import InputRules, redact_url
from reelstate.media.sources.errors import SourceUnavailable, UnusableSource
from reelstate.media.sources.fetched import FetchedSource, OnProgress, check_limit
from reelstate.media.sources.reader import BLOCK, BlockReader, HeadReader, Reader

T = TypeVar("T")

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS: Final = 5
OK: Final = 200
PARTIAL: Final = 206
HEAD: Final = 8 * 1024 * 1024
"""Bytes read from a source whose server does not support range requests."""
WRITE_BATCH: Final = 1024 * 1024
MAX_DELAY: Final = 30.0
_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response whose body is not read yet."""

    url: str
    """The URL after redirects."""
    raw: httpx.Response

    @property
    def validator(self) -> str | None:
        """The value for If-Range: a strong ETag, or Last-Modified."""
        tag: str = self.raw.headers.get("etag", "")
        changed: str | None = self.raw.headers.get("last-modified")
        return tag if tag and not tag.startswith("W/") else changed

    @property
    def span(self) -> tuple[int, int] | None:
        """For a partial response: its offset and the total size."""
        found = _RANGE.fullmatch(self.raw.headers.get("content-range", ""))
        return (int(found[1]), int(found[3])) if found else None

    @property
    def length(self) -> int | None:
        length = self.raw.headers.get("content-length", "")
        return int(length) if length.isascii() and length.isdigit() else None


class WebClient:
    """An HTTP client for submitted URLs: `async with WebClient(rules) as web`."""

    def __init__(
        self,
        rules: InputRules,
        *,
        resolve: Resolve | None = None,
        connect: httpx.AsyncBaseTransport | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._rules = rules
        self._http = GuardedHttp(
            rules.hosts, connect=rules.connect, idle=rules.idle, resolve=resolve, transport=connect, trust=trust
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.__aexit__(*error)

    async def download(self, url: str, path: Path, *, on_progress: OnProgress | None = None) -> FetchedSource:
        """Download a source into a file. A broken download resumes if the source has not changed."""
        try:
            async with asyncio.timeout(self._rules.total):
                with folder_faults(str(path)), path.open("wb") as file:
                    return await self._download(url, Download(file, self._rules.limit, on_progress))
        except TimeoutError:
            raise SourceUnavailable(
                f"downloading {redact_url(url)} took longer than {self._rules.total:g} s", hint="the task is retried"
            ) from None

    @asynccontextmanager
    async def reading(self, url: str) -> AsyncIterator[Reader]:
        """Open a source for range requests."""
        first, size, response = await self._with_timeout(url, self._read_first(url))
        if size is not None:
            check_limit(redact_url(url), size, self._rules.limit)
            yield BlockReader(partial(self._fetch_part, response.url, response.validator), size, first)
        else:
            whole = len(first) <= HEAD
            yield HeadReader(first[:HEAD], len(first) if whole else response.length, whole=whole)

    async def _fetch_part(self, url: str, validator: str | None, offset: int, length: int) -> bytes:
        return await self._with_timeout(url, self._request_part(url, validator, offset, length))

    async def _read_first(self, url: str) -> tuple[bytes, int | None, HttpResponse]:
        """Return the first block and the size; `HEAD` bytes and None if the server does not support range requests."""
        async with self._open(url, {"Range": f"bytes=0-{BLOCK - 1}"}) as response:
            if response.raw.status_code == PARTIAL and response.span is not None:
                return await _body(response, BLOCK), response.span[1], response
            return await _body(response, HEAD + 1), None, response

    async def _request_part(self, url: str, validator: str | None, offset: int, length: int) -> bytes:
        headers = {"Range": f"bytes={offset}-{offset + length - 1}"}
        if validator is not None:
            headers["If-Range"] = validator
        async with self._open(url, headers) as response:
            if response.raw.status_code != PARTIAL or response.span is None or response.span[0] != offset:
                raise SourceUnavailable(f"{redact_url(url)} changed while it was read", hint="the task is retried")
            return await _body(response, length)

    async def _with_timeout(self, url: str, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._rules.part):
                return await work
        except TimeoutError:
            raise SourceUnavailable(
                f"a range request to {redact_url(url)} took longer than {self._rules.part:g} s",
                hint="the task is retried",
            ) from None

    async def _download(self, url: str, download: Download) -> FetchedSource:
        failures = 0
        while True:
            before = download.size
            try:
                await self._resume(url, download)
                return download.result()
            except SourceUnavailable:
                await download.flush()
                failures = failures + 1 if download.size <= before else 1
                if failures >= self._rules.attempts:
                    raise
            await asyncio.sleep(min(MAX_DELAY, self._rules.pause * 2 ** (failures - 1)))

    async def _resume(self, url: str, download: Download) -> None:
        async with self._open(url, download.request_headers()) as response:
            download.begin(response)
            async for chunk in _chunks(response):
                await download.append(chunk)
            await download.finish(redact_url(url))

    @asynccontextmanager
    async def _open(self, url: str, headers: dict[str, str]) -> AsyncIterator[HttpResponse]:
        """Send a request, follow redirects, and check the status."""
        response = await self._follow(url, headers)
        try:
            _check_status(url, response.raw.status_code)
            yield response
        except httpx.TransportError as error:
            raise _connection_error(url, error) from error
        finally:
            await response.raw.aclose()

    async def _follow(self, url: str, headers: dict[str, str]) -> HttpResponse:
        target = _parse(url)
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._send(target, headers)
            location = response.headers.get("location")
            if response.status_code not in REDIRECTS or location is None:
                return HttpResponse(str(target), response)
            await response.aclose()
            target = _join(target, location)
        raise UnusableSource(
            "address",
            f"{redact_url(url)} redirects more than {MAX_REDIRECTS} times",
            hint="submit the final URL",
        )

    async def _send(self, target: httpx.URL, headers: dict[str, str]) -> httpx.Response:
        try:
            return await self._http.send("GET", target, {**_credentials(target), **headers})
        except HostUnresolved as error:
            raise SourceUnavailable(f"{error} can't be resolved", hint="check the host name") from None
        except HostForbidden as error:
            raise UnusableSource(
                "forbidden", f"{error} is not a public address", hint="add the host to REEL_INPUT_HOSTS to allow it"
            ) from None
        except ConnectionFailed as error:
            raise _connection_error(str(target), error) from None


class Download:
    """A download in progress: the bytes so far, and the version of the source that they are from."""

    def __init__(self, file: BinaryIO, limit: int, on_progress: OnProgress | None) -> None:
        self.size = 0
        self._file = file
        self._limit = limit
        self._on_progress = on_progress
        self._digest = hashlib.sha256()
        self._validator: str | None = None
        self._total: int | None = None
        self._buffer = bytearray()

    def request_headers(self) -> dict[str, str]:
        """Request the remaining bytes if the source has not changed, otherwise all."""
        if self.size == 0 or self._validator is None:
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": self._validator}

    def begin(self, response: HttpResponse) -> None:
        same = response.span == (self.size, self._total) and response.validator in (None, self._validator)
        if response.raw.status_code == PARTIAL and same:
            return
        if response.raw.status_code == PARTIAL:
            self._validator = None
            raise SourceUnavailable(
                f"{redact_url(response.url)} sent a range that was not requested", hint="the download restarts"
            )
        self._restart(response)

    def _restart(self, response: HttpResponse) -> None:
        self._validator, self._total, self.size = response.validator, response.length, 0
        self._digest = hashlib.sha256()
        self._file.seek(0)
        self._file.truncate()
        check_limit(redact_url(response.url), self._total or 0, self._limit)

    async def append(self, chunk: bytes) -> None:
        self._buffer += chunk
        check_limit("the source", self.size + len(self._buffer), self._limit)
        if len(self._buffer) >= WRITE_BATCH:
            await self.flush()

    async def finish(self, url: str) -> None:
        await self.flush()
        if self._total is not None and self.size != self._total:
            raise SourceUnavailable(
                f"{url} ended after {self.size:,} of {self._total:,} bytes", hint="the task is retried"
            )

    async def flush(self) -> None:
        data = bytes(self._buffer)
        self._buffer.clear()
        await asyncio.to_thread(self._write, data)
        self.size += len(data)
        if self._on_progress is not None:
            self._on_progress(self.size, self._total)

    def _write(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)

    def result(self) -> FetchedSource:
        self._file.flush()
        return FetchedSource(self.size, self._digest.hexdigest())


def _check_status(url: str, status: int) -> None:
    if status in (OK, PARTIAL):
        return
    message = f"{redact_url(url)} responds with status {status}"
    if status in (404, 410):
        raise UnusableSource("missing", message, hint="check the URL")
    if status in (401, 403):
        raise UnusableSource("denied", message, hint="submit a URL that needs no login, for example a signed one")
    if status in (408, 416, 425, 429) or status >= 500:  # noqa: PLR2004 - server errors
        raise SourceUnavailable(message, hint="the task is retried")
    raise UnusableSource("address", message, hint="submit a URL that serves the file to a plain GET request")


def _credentials(target: httpx.URL) -> dict[str, str]:
    if not target.userinfo:
        return {}
    credentials = f"{target.username}:{target.password}".encode()
    return {"Authorization": f"Basic {base64.b64encode(credentials).decode('ascii')}"}


def _parse(url: str) -> httpx.URL:
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise UnusableSource(
            "address", f"{redact_url(url)} is not a valid URL: {error}", hint="check the URL"
        ) from None
    return _require_http(target)


def _join(target: httpx.URL, location: str) -> httpx.URL:
    try:
        return _require_http(target.join(location))
    except httpx.InvalidURL:
        raise UnusableSource(
            "address", f"{redact_url(str(target))} redirects to an invalid URL", hint="check the URL"
        ) from None


def _require_http(target: httpx.URL) -> httpx.URL:
    if target.scheme not in ("http", "https") or not target.host:
        raise UnusableSource(
            "forbidden", f"it redirects to {redact_url(str(target))}", hint="expected http:// or https://"
        )
    return target


def _connection_error(url: str, error: Exception) -> SourceUnavailable:
    message = str(error) or type(error).__name__
    return SourceUnavailable(
        f"{redact_url(url)}: {message}", hint="check that its server responds; the task is retried"
    )


async def _chunks(response: HttpResponse) -> AsyncIterator[bytes]:
    stream: Any = response.raw.stream
    async for chunk in stream:
        yield chunk


async def _body(response: HttpResponse, limit: int) -> bytes:
    """Read at most `limit` bytes of the body."""
    body = bytearray()
    async for chunk in _chunks(response):
        body += chunk
        if len(body) >= limit:
            break
    return bytes(body[:limit])
