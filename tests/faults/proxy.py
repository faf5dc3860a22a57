"""A proxy for PostgreSQL that can cut a connection exactly at a COMMIT, or at a single statement that commits."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal
from urllib.parse import urlsplit

Cut = Literal["before", "after"]
UNREACHABLE = "127.0.0.1", 1


class Proxy:
    """Parses the client's messages. When `cut` is set, it cuts one connection at the next COMMIT.

    `at` is a text that identifies another statement to cut at. With `together` greater than one, it holds back that
    number of COMMITs and cuts all of them at once.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = host, port
        self._open: set[asyncio.Task[None]] = set()
        self.cut: Cut | None = None
        self.at: bytes | None = None
        self.together = 1
        self.cuts = 0
        self.struck = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        ends = [writer]
        try:
            # An unreachable server closes the client's connection.
            with contextlib.suppress(OSError):
                up_reader, up_writer = await asyncio.open_connection(*self._server)
                ends.append(up_writer)
                await _Connection(self, reader, writer, up_reader, up_writer).forward()
        finally:
            self._open.discard(task)
            for end in ends:
                end.transport.abort()

    async def cut_off(self) -> None:
        """Let no connection through any more."""
        self._server = UNREACHABLE
        await self.close()

    async def close(self) -> None:
        carrying = list(self._open)
        for task in carrying:
            task.cancel()
        await asyncio.gather(*carrying, return_exceptions=True)


class _Connection:
    """One connection through the proxy."""

    def __init__(
        self,
        proxy: Proxy,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        self._proxy = proxy
        self._reader, self._writer = reader, writer
        self._up_reader, self._up_writer = up_reader, up_writer
        self._commits: set[bytes] = set()
        """Names of prepared COMMIT statements."""

    async def forward(self) -> None:
        to_server = asyncio.ensure_future(self._to_server())
        to_client = asyncio.ensure_future(self._to_client())
        try:
            await asyncio.wait({to_server, to_client}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in (to_server, to_client):
                way.cancel()
            await asyncio.gather(to_server, to_client, return_exceptions=True)

    async def _to_client(self) -> None:
        while data := await self._up_reader.read(65536):
            self._writer.write(data)
            await self._writer.drain()

    async def _to_server(self) -> None:
        """Forward data from client to server until one of them closes or the connection is cut."""
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            await self._startup()
            while True:
                head = await self._reader.readexactly(5)
                (length,) = struct.unpack("!I", head[1:])
                body = await self._reader.readexactly(length - 4)
                if self._commits_with(head[:1], body) and self._proxy.cut is not None:
                    await self._cut(head + body)
                    return
                self._up_writer.write(head + body)
                await self._up_writer.drain()

    async def _startup(self) -> None:
        """Forward the first message, which has no type; the test's URL disables encryption."""
        head = await self._reader.readexactly(4)
        (length,) = struct.unpack("!I", head)
        self._up_writer.write(head + await self._reader.readexactly(length - 4))
        await self._up_writer.drain()

    def _commits_with(self, kind: bytes, body: bytes) -> bool:
        if kind == b"Q":
            return self._is_commit(body.rstrip(b"\0"))
        if kind == b"P":
            name, query, *_ = body.split(b"\0")
            if self._is_commit(query):
                self._commits.add(name)
            return False
        if kind == b"B":
            _, name, *_ = body.split(b"\0")
            return name in self._commits
        return False

    def _is_commit(self, query: bytes) -> bool:
        return query.strip().upper() == b"COMMIT" if self._proxy.at is None else self._proxy.at in query

    async def _cut(self, message: bytes) -> None:
        cut = self._proxy.cut
        self._proxy.cuts += 1
        if self._proxy.cuts >= self._proxy.together:
            self._proxy.cut = None
            self._proxy.struck.set()
        await self._proxy.struck.wait()
        if cut == "after":
            self._writer.close()  # the client receives nothing more
            self._up_writer.write(message)
            # Forward all messages of a COMMIT (bind, execute, sync).
            with contextlib.suppress(asyncio.TimeoutError, asyncio.IncompleteReadError, OSError):
                while b"S" not in message[:1] and message[:1] != b"Q":
                    head = await asyncio.wait_for(self._reader.readexactly(5), 1)
                    (length,) = struct.unpack("!I", head[1:])
                    message = head + await self._reader.readexactly(length - 4)
                    self._up_writer.write(message)
            await self._up_writer.drain()
            await self._up_reader.read(65536)  # the server has committed


@asynccontextmanager
async def through_proxy(url: str) -> AsyncIterator[tuple[str, Proxy]]:
    """Yield the URL of the database through a proxy, and the proxy."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    proxy = Proxy(parts.hostname, parts.port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}?sslmode=disable&gssencmode=disable", proxy
    finally:
        server.close()
        await proxy.close()
