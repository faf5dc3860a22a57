"""A web server for tests, with one script per path, well-behaved or not."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

TAG = '"one"'


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: str, **headers: object) -> None:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join([f"HTTP/1.1 {status}", *lines, "Connection: close", "", ""]).encode())

    @property
    def span(self) -> tuple[int, int | None] | None:
        """The first and the last byte of the requested range."""
        if "range" not in self.headers:
            return None
        first, _, last = self.headers["range"].removeprefix("bytes=").partition("-")
        return int(first), int(last) if last else None


Script = Callable[[Request], Awaitable[None]]


@dataclass
class WebServer:
    port: int = 0
    scripts: dict[str, Script] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, trust: ssl.SSLContext | None = None) -> AsyncIterator[Self]:
        web = cls()
        server = await asyncio.start_server(web._serve, "127.0.0.1", 0, ssl=trust)
        web.port = server.sockets[0].getsockname()[1]
        try:
            yield web
        finally:
            server.close()

    def url(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read(reader, writer)
            self.requests.append(request)
            await self.scripts.get(request.path.partition("?")[0], not_found)(request)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    fields = [line.partition(":") for line in head[1:] if line]
    return Request(head[0].split(" ")[1], {name.lower(): value.strip() for name, _, value in fields}, writer)


async def not_found(request: Request) -> None:
    await request.head("404 Not Found", Content_Length=0)


def file(data: bytes, *, tag: str = TAG, breaks: int | None = None) -> Script:
    """Serve a file with range requests; with `breaks`, at most that many bytes per connection."""

    async def serve(request: Request) -> None:
        span = request.span if request.headers.get("if-range", tag) == tag else None
        first, last = span or (0, None)
        last = len(data) - 1 if last is None else min(last, len(data) - 1)
        body = data[first : last + 1]
        if span is None:
            await request.head("200 OK", Content_Length=len(body), ETag=tag)
        else:
            content_range = f"bytes {first}-{last}/{len(data)}"
            await request.head("206 Partial Content", Content_Length=len(body), Content_Range=content_range, ETag=tag)
        await request.send(body[:breaks])

    return serve


def plain(data: bytes) -> Script:
    """Serve a file without range requests."""

    async def serve(request: Request) -> None:
        await request.head("200 OK", Content_Length=len(data))
        await request.send(data)

    return serve


def redirect(location: str) -> Script:
    async def serve(request: Request) -> None:
        await request.head("302 Found", Location=location, Content_Length=0)

    return serve


def status(line: str) -> Script:
    async def serve(request: Request) -> None:
        await request.head(line, Content_Length=0)

    return serve


def endless() -> Script:
    async def serve(request: Request) -> None:
        await request.head("200 OK", Content_Type="video/mp4")
        while True:
            await request.send(bytes(64 * 1024))

    return serve


def silent(beginning: bytes = b"") -> Script:
    """Send `beginning`, then nothing until the client disconnects."""

    async def serve(request: Request) -> None:
        await request.head("200 OK", Content_Length=1_000_000, ETag=TAG)
        await request.send(beginning)
        await asyncio.Event().wait()

    return serve


def trickling() -> Script:
    """Send single bytes, each before the idle timeout of the client."""

    async def serve(request: Request) -> None:
        await request.head("200 OK", Content_Length=1_000_000)
        while True:
            await request.send(b"x")
            await asyncio.sleep(0.01)  # the pace of the bytes

    return serve
