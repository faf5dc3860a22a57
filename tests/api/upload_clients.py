"""Senders of uploads: well-behaved ones, and ones that break off, fall silent or lie."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.api.video_server import UPLOADS, VideoLibrary

PIECE = "application/offset+octet-stream"


def digest_header(data: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def begin(library: VideoLibrary, data: bytes, role: str = "ada", **headers: str) -> str:
    """Where an upload of so many bytes is."""
    answer = await library.api.ask(role, "POST", UPLOADS, headers={"Upload-Length": str(len(data)), **headers})
    assert answer.status_code == 201, answer.text
    return str(answer.headers["location"])


async def send(
    library: VideoLibrary, place: str, data: bytes, offset: int = 0, role: str = "ada", **headers: str
) -> httpx.Response:
    given = {"Upload-Offset": str(offset), "Content-Type": PIECE, **headers}
    return await library.api.ask(role, "PATCH", place, content=data, headers=given)


async def offset_of(library: VideoLibrary, place: str, role: str = "ada") -> int:
    answer = await library.api.ask(role, "HEAD", place)
    assert answer.status_code == 200
    return int(answer.headers["upload-offset"])


@asynccontextmanager
async def sending(
    library: VideoLibrary, place: str, length: int, data: bytes, offset: int = 0
) -> AsyncIterator[asyncio.StreamWriter]:
    """A sender that has promised more bytes than it has sent; it breaks off when the context ends."""
    parts = urlsplit(library.api.url)
    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    head = {
        "Host": parts.netloc,
        "Content-Type": PIECE,
        "Content-Length": str(length),
        "Upload-Offset": str(offset),
        **library.api.headers("ada"),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    writer.write(f"PATCH {place} HTTP/1.1\r\n{lines}\r\n".encode() + data)
    await writer.drain()
    try:
        yield writer
    finally:
        writer.transport.abort()


async def until(condition: Any, seconds: float = 60.0) -> None:
    """Wait for something that another process or task brings about."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - it has no event for us
            await asyncio.sleep(0.02)
