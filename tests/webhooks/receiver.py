"""A receiver of webhooks on loopback, well-behaved or not. The public library judges every signature."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


@dataclass
class Received:
    """A request with its body."""

    path: str
    headers: dict[str, str]
    body: bytes
    writer: asyncio.StreamWriter

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    def is_signed_with(self, secret: str) -> bool:
        try:
            Webhook(secret).verify(self.body, self.headers)
        except WebhookVerificationError:
            return False
        return True

    async def answer(self, status: str, body: bytes = b"", **headers: object) -> None:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        head = [f"HTTP/1.1 {status}", *lines, f"Content-Length: {len(body)}", "Connection: close", "", ""]
        self.writer.write("\r\n".join(head).encode() + body)
        await self.writer.drain()


Script = Callable[[Received], Awaitable[None]]


def answering(status: str, body: bytes = b"", **headers: object) -> Script:
    async def answer(received: Received) -> None:
        await received.answer(status, body, **headers)

    return answer


async def hanging(_: Received) -> None:
    await asyncio.Event().wait()


@dataclass
class Receiver:
    """Answers with the script of the path, by default 204."""

    port: int = 0
    scripts: dict[str, Script] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    _tasks: set["asyncio.Task[Any]"] = field(default_factory=set)

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, port: int = 0) -> AsyncIterator[Self]:
        receiver = cls()
        server = await asyncio.start_server(receiver._serve, "127.0.0.1", port)
        receiver.port = server.sockets[0].getsockname()[1]
        try:
            yield receiver
        finally:
            server.close()
            for task in receiver._tasks:
                task.cancel()

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def at(self, path: str) -> list[Received]:
        return [each for each in self.received if each.path == path]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            received = await _read(reader, writer)
            self.received.append(received)
            await self.scripts.get(received.path, answering("204 No Content"))(received)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    fields = [line.partition(":") for line in head[1:] if line]
    headers = {name.lower(): value.strip() for name, _, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(head[0].split(" ")[1], headers, body, writer)
