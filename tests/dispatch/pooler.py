"""A stand-in for a connection pooler between a client and PostgreSQL."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Pooler:
    """Reports another backend pid; one that shares connections between transactions drops notifications."""

    def __init__(self, host: str, port: int, *, drops_notifications: bool) -> None:
        self._server = host, port
        self._drops_notifications = drops_notifications
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        up_reader, up_writer = await asyncio.open_connection(*self._server)
        up = asyncio.create_task(_copy(reader, up_writer))
        try:
            await self._answer(up_reader, writer)
        finally:
            up.cancel()
            self._connections.discard(connection)
            for end in (writer, up_writer):
                end.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                kind, length = struct.unpack("!cI", await reader.readexactly(5))
                body = await reader.readexactly(length - 4)
                if kind == b"K":
                    body = struct.pack("!i", 7) + body[4:]
                if kind != b"A" or not self._drops_notifications:
                    writer.write(struct.pack("!cI", kind, length) + body)

    async def close(self) -> None:
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


@asynccontextmanager
async def pooled(url: str, *, drops_notifications: bool) -> AsyncIterator[str]:
    """The address of the same database through a pooler."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    pooler = Pooler(parts.hostname, parts.port, drops_notifications=drops_notifications)
    server = await asyncio.start_server(pooler.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}?sslmode=disable&gssencmode=disable"
    finally:
        server.close()
        await pooler.close()
