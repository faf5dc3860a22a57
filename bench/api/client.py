"""A cheap client with prepared requests, since it shares the machine with the server."""

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from bench.api.server import Server


class Connection:
    """One persistent connection; it sends a request after the answer to the last one."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._server.host, self._server.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def request(self, method: str, path: str, body: Any = None) -> bytes:
        content = b"" if body is None else json.dumps(body).encode()
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self._server.host}",
            f"Authorization: Bearer {self._server.key}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + content

    async def send(self, request: bytes, expect: int) -> bytes:
        """Send a request and return the body of the answer, which must have this status."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        body = await self._reader.readexactly(length)
        if not head.startswith(b"HTTP/1.1 %d " % expect):
            raise RuntimeError(f"{head.decode()}{body.decode()}")
        return body


async def rate(server: Server, requests: Sequence[tuple[str, str, Any]], expect: int, connections: int = 8) -> float:
    """Return the requests per second over this many connections."""
    waiting = iter(requests)

    async def one(connection: Connection) -> None:
        for method, path, body in waiting:
            await connection.send(connection.request(method, path, body), expect)

    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(Connection(server)) for _ in range(connections)]
        began = time.perf_counter()
        await asyncio.gather(*(one(connection) for connection in opened))
        return len(requests) / (time.perf_counter() - began)


async def in_turns(servers: Sequence[Server], path: str, count: int) -> list[list[float]]:
    """Send `count` equal requests to each server in turns; return the seconds of each."""
    taken: list[list[float]] = [[] for _ in servers]
    async with AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(Connection(server)) for server in servers]
        for _ in range(count):
            for place, connection in enumerate(connections):
                request = connection.request("GET", path)
                began = time.perf_counter()
                await connection.send(request, 200)
                taken[place].append(time.perf_counter() - began)
    return taken
