"""A line between a worker and its server that can lose an answer, or be cut."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

PIECE = 64 * 1024


class LossyProxy:
    def __init__(self, port: int) -> None:
        self._to = port
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0
        self.lose: bytes | None = None
        """The next request that holds this reaches the server; its answer does not come back."""
        self.lost = asyncio.Event()
        self.hold: bytes | None = None
        """The next request that holds this waits here until `go`."""
        self.held = asyncio.Event()
        self.go = asyncio.Event()
        self.cut = False

    @classmethod
    @asynccontextmanager
    async def to(cls, port: int) -> AsyncIterator[Self]:
        line = cls(port)
        server = await asyncio.start_server(line._carry, "127.0.0.1", 0)
        line.port = server.sockets[0].getsockname()[1]
        try:
            yield line
        finally:
            server.close()
            line.hang_up()
            await asyncio.gather(*line._open, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def hang_up(self) -> None:
        for task in self._open:
            task.cancel()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        ends = [writer]
        try:
            if not self.cut:
                with contextlib.suppress(OSError, asyncio.CancelledError):
                    up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._to)
                    ends.append(up_writer)
                    await self._both(reader, writer, up_reader, up_writer)
        finally:
            self._open.discard(task)
            for end in ends:
                end.transport.abort()

    async def _both(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        losing = asyncio.Event()

        async def upwards() -> None:
            while data := await reader.read(PIECE):
                if self.lose is not None and self.lose in data:
                    self.lose = None
                    losing.set()
                if self.hold is not None and self.hold in data:
                    self.hold = None
                    self.held.set()
                    await self.go.wait()
                up_writer.write(data)
                await up_writer.drain()

        async def downwards() -> None:
            while data := await up_reader.read(PIECE):
                if losing.is_set():
                    self.lost.set()
                    return
                writer.write(data)
                await writer.drain()

        ways = [asyncio.ensure_future(upwards()), asyncio.ensure_future(downwards())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
