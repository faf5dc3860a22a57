"""Serve files over HTTP with byte ranges, ETags and conditional requests (RFC 9110)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

BLOCK: Final = 1024 * 1024
"""Bytes read at once."""
PARTIAL, UNCHANGED, UNSATISFIABLE = 206, 304, 416
_RANGE: Final = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))", re.ASCII)


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file to serve, with a function that reads it."""

    size: int
    etag: str
    headers: Mapping[str, str]
    read: Callable[[int, int], Awaitable[bytes]]
    """Takes an offset and a length, and returns the bytes."""


def file_response(request: Request, file: ServedFile) -> Response:
    """Return the response to a request for a file or a range of it."""
    headers = {**file.headers, "ETag": file.etag, "Accept-Ranges": "bytes"}
    if _matches(request.headers.get("if-none-match"), file.etag):
        return Response(status_code=UNCHANGED, headers=headers)
    span = _requested_range(request, file)
    if span is not None and span[0] >= span[1]:
        return Response(status_code=UNSATISFIABLE, headers={**headers, "Content-Range": f"bytes */{file.size}"})
    start, end = span or (0, file.size)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
    headers["Content-Length"] = str(end - start)
    status = 200 if span is None else PARTIAL
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_blocks(file, start, end), status, headers)


def _requested_range(request: Request, file: ServedFile) -> tuple[int, int] | None:
    """Return the requested range, empty if it starts after the end; None for the whole file.

    Headers that are not supported, such as several ranges, are ignored, as RFC 9110 allows.
    """
    match = _RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    if match is None or request.method != "GET":
        return None
    if request.headers.get("if-range", file.etag) != file.etag:
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        return max(0, file.size - int(suffix)), file.size
    if last and int(last) < int(first):
        return None
    return int(first), min(file.size, int(last) + 1 if last else file.size)


def _matches(header: str | None, etag: str) -> bool:
    if header is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return "*" in tags or etag in tags


async def _blocks(file: ServedFile, start: int, end: int) -> AsyncIterator[bytes]:
    while start < end:
        block = await file.read(start, min(BLOCK, end - start))
        if not block:
            return  # the file was truncated: the response ends early, and the client sees that
        yield block
        start += len(block)
