"""A server that answers every request with the same bytes, and keeps what it was sent."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

TLS = b"\x16"
"""The first byte of a client that expects TLS."""
KEY = "reel_0123456789ab_" + "5" * 72


@dataclass
class ScriptedServer:
    """Answers a path with its own bytes, if it has some."""

    answer: bytes
    by_path: dict[str, bytes] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)
    """The heads of the requests."""
    url: str = ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (first := await reader.readexactly(1)) != TLS:
                head = (first + await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                path = head.split(" ")[1].partition("?")[0]
                writer.write(self.by_path.get(path, self.answer))
                await writer.drain()
                if b"Connection: close" in self.answer:
                    return
            writer.write(self.answer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def scripted_server(
    answer: bytes, tls: ssl.SSLContext | None = None, **by_path: bytes
) -> AsyncIterator[ScriptedServer]:
    made = ScriptedServer(answer, {f"/api/v1/{name}": each for name, each in by_path.items()})
    server = await asyncio.start_server(made._serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    made.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield made
    finally:
        server.close()


def answer(status: str, body: bytes | str, kind: str = "application/json", **headers: str) -> bytes:
    """Return the bytes of an answer."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def document(body: Any, status: str = "200 OK") -> bytes:
    return answer(status, json.dumps(body))


def problem(status: int, name: str, detail: str, hint: str = "", **fields: Any) -> bytes:
    """Return the bytes of an error of a Reelstate server."""
    body = {"type": f"urn:reelstate:error:{name}", "status": status, "detail": detail, "hint": hint, **fields}
    return answer(f"{status} x", json.dumps(body), "application/problem+json", Retry_After="3600")
