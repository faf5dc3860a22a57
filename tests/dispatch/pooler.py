"""What stands between a client and PostgreSQL and pretends to be it, as poolers do."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Pooler:
    """Names a backend of its own. One that shares connections between transactions delivers no notification."""

    def __init__(self, host: str, port: int, *, deaf: bool) -> None:
        self._server = host, port
        self._deaf = deaf
        self._lines: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.current_task()
        assert line is not None
        self._lines.add(line)
        up_reader, up_writer = await asyncio.open_connection(*self._server)
        up = asyncio.create_task(_copy(reader, up_writer))
        try:
            await self._answer(up_reader, writer)
        finally:
            up.cancel()
            self._lines.discard(line)
            for end in (writer, up_writer):
                end.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                kind, length = struct.unpack("!cI", await reader.readexactly(5))
                body = await reader.readexactly(length - 4)
                if kind == b"K":
                    body = struct.pack("!i", 7) + body[4:]
                if kind != b"A" or not self._deaf:
                    writer.write(struct.pack("!cI", kind, length) + body)

    async def close(self) -> None:
        for line in self._lines:
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


@asynccontextmanager
async def pooled(url: str, *, deaf: bool) -> AsyncIterator[str]:
    """The address of the same database through a pooler."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    pooler = Pooler(parts.hostname, parts.port, deaf=deaf)
    server = await asyncio.start_server(pooler.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}?sslmode=disable&gssencmode=disable"
    finally:
        server.close()
        await pooler.close()
