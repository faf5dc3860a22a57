"""Files over HTTP, whole or in part: ranges, tags, and answers that say that nothing has changed (RFC 9110)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

BLOCK: Final = 1024 * 1024
"""What is held of a file at once."""
PARTIAL, UNCHANGED, PAST_THE_END = 206, 304, 416
_SPAN: Final = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))", re.ASCII)


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file that can be read in parts."""

    size: int
    etag: str
    headers: Mapping[str, str]
    read: Callable[[int, int], Awaitable[bytes]]
    """The bytes at an offset, as many as asked for."""


def answer(request: Request, entity: ServedFile) -> Response:
    """What was asked for of a file."""
    headers = {**entity.headers, "ETag": entity.etag, "Accept-Ranges": "bytes"}
    if _names(request.headers.get("if-none-match"), entity.etag):
        return Response(status_code=UNCHANGED, headers=headers)
    span = _wanted(request, entity)
    if span is not None and span[0] >= span[1]:
        return Response(status_code=PAST_THE_END, headers={**headers, "Content-Range": f"bytes */{entity.size}"})
    start, end = span or (0, entity.size)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{entity.size}"
    headers["Content-Length"] = str(end - start)
    status = 200 if span is None else PARTIAL
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_blocks(entity, start, end), status, headers)


def _wanted(request: Request, entity: ServedFile) -> tuple[int, int] | None:
    """The part that was asked for, empty if there is none such; None for the whole.

    What we don't understand, several parts at once among it, is answered with the whole, as one may.
    """
    match = _SPAN.fullmatch(request.headers.get("range", "").replace(" ", ""))
    if match is None or request.method != "GET":
        return None
    if request.headers.get("if-range", entity.etag) != entity.etag:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        return max(0, entity.size - int(suffix)), entity.size
    if last and int(last) < int(first):
        return None
    return int(first), min(entity.size, int(last) + 1 if last else entity.size)


def _names(header: str | None, etag: str) -> bool:
    if header is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return "*" in tags or etag in tags


async def _blocks(entity: ServedFile, start: int, end: int) -> AsyncIterator[bytes]:
    while start < end:
        block = await entity.read(start, min(BLOCK, end - start))
        if not block:
            return  # it became shorter meanwhile: the answer breaks off, and the other side sees that
        yield block
        start += len(block)
