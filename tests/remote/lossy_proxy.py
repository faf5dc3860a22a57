"""An HTTP proxy between a worker and its server that can lose an answer, hold a request or cut connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

READ_SIZE = 64 * 1024


class LossyProxy:
    def __init__(self, port: int) -> None:
        self._server_port = port
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0
        self.lose: bytes | None = None
        """The next request that contains this reaches the server; its answer is dropped."""
        self.lost = asyncio.Event()
        self.hold: bytes | None = None
        """The next request that contains this waits until `go` is set."""
        self.held = asyncio.Event()
        self.go = asyncio.Event()
        self.cut = False

    @classmethod
    @asynccontextmanager
    async def to(cls, port: int) -> AsyncIterator[Self]:
        proxy = cls(port)
        server = await asyncio.start_server(proxy._forward, "127.0.0.1", 0)
        proxy.port = server.sockets[0].getsockname()[1]
        try:
            yield proxy
        finally:
            server.close()
            proxy.cut_connections()
            await asyncio.gather(*proxy._open, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut_connections(self) -> None:
        for task in self._open:
            task.cancel()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        ends = [writer]
        try:
            if not self.cut:
                with contextlib.suppress(OSError, asyncio.CancelledError):
                    up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
                    ends.append(up_writer)
                    await self._pump(reader, writer, up_reader, up_writer)
        finally:
            self._open.discard(task)
            for end in ends:
                end.transport.abort()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        losing = asyncio.Event()

        async def to_server() -> None:
            while data := await reader.read(READ_SIZE):
                if self.lose is not None and self.lose in data:
                    self.lose = None
                    losing.set()
                if self.hold is not None and self.hold in data:
                    self.hold = None
                    self.held.set()
                    await self.go.wait()
                up_writer.write(data)
                await up_writer.drain()

        async def to_client() -> None:
            while data := await up_reader.read(READ_SIZE):
                if losing.is_set():
                    self.lost.set()
                    return
                writer.write(data)
                await writer.drain()

        pumps = [asyncio.ensure_future(to_server()), asyncio.ensure_future(to_client())]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
