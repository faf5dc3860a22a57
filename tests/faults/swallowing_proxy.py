"""A TCP proxy that can drop all data: connections stay open and acknowledge, but nothing arrives."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class SwallowingProxy:
    def __init__(self, host: str, port: int) -> None:
        self._server = host, port
        self._connections: set[asyncio.Task[None]] = set()
        self._generation = 0
        self._swallows_new = False
        self.connections = 0

    def swallow(self, *, new: bool = False) -> None:
        """Drop the data of all open connections; with `new`, also of later ones."""
        self._generation += 1
        self._swallows_new = new

    def pass_new(self) -> None:
        """Forward the data of connections that are opened from now on."""
        self._generation += 1
        self._swallows_new = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.connections += 1
        generation = self._generation
        up_reader, up_writer = await asyncio.open_connection(*self._server)

        def swallows() -> bool:
            return self._swallows_new or self._generation != generation

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                while data := await source.read(65536):
                    if not swallows():
                        target.write(data)
                        await target.drain()
            if swallows():
                await asyncio.Event().wait()  # neither end learns that the other has closed

        try:
            pumps = [asyncio.ensure_future(pump(reader, up_writer)), asyncio.ensure_future(pump(up_reader, writer))]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for each in pumps:
                each.cancel()
        finally:
            self._connections.discard(task)
            for end in (writer, up_writer):
                end.transport.abort()

    async def close(self) -> None:
        connections = list(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


@asynccontextmanager
async def swallowing_proxy(url: str) -> AsyncIterator[tuple[str, SwallowingProxy]]:
    """Yield the URL of the database through a proxy, and the proxy."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    proxy = SwallowingProxy(parts.hostname, parts.port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}?sslmode=disable&gssencmode=disable", proxy
    finally:
        server.close()
        await proxy.close()
