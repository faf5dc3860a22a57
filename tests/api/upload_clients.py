"""Clients that upload: correct ones, and ones that disconnect, stall or send wrong digests."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx

from tests.api.video_server import UPLOADS, VideoLibrary

PIECE = "application/offset+octet-stream"


def digest_header(data: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def begin(library: VideoLibrary, data: bytes, role: str = "ada", **headers: str) -> str:
    """Create an upload of this length; return its location."""
    answer = await library.api.ask(role, "POST", UPLOADS, headers={"Upload-Length": str(len(data)), **headers})
    assert answer.status_code == 201, answer.text
    return str(answer.headers["location"])


async def send(
    library: VideoLibrary, location: str, data: bytes, offset: int = 0, role: str = "ada", **headers: str
) -> httpx.Response:
    given = {"Upload-Offset": str(offset), "Content-Type": PIECE, **headers}
    return await library.api.ask(role, "PATCH", location, content=data, headers=given)


async def offset_of(library: VideoLibrary, location: str, role: str = "ada") -> int:
    answer = await library.api.ask(role, "HEAD", location)
    assert answer.status_code == 200
    return int(answer.headers["upload-offset"])


@asynccontextmanager
async def sending(
    library: VideoLibrary, location: str, length: int, data: bytes, offset: int = 0
) -> AsyncIterator[asyncio.StreamWriter]:
    """Start a request that sends fewer bytes than announced; disconnect when the context ends."""
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
    writer.write(f"PATCH {location} HTTP/1.1\r\n{lines}\r\n".encode() + data)
    await writer.drain()
    try:
        yield writer
    finally:
        writer.transport.abort()
