"""Reads JSON request bodies within limits of size, time, depth and number of values."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from reelstate.api.auth import Require, reading, require_key
from reelstate.api.context import context_of
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest, KeyRefused, TooLarge, UploadBroken

MAX_BODY_DEPTH: Final = 32
MAX_VALUES: Final = 200_000
"""Values in one body: each costs many times its text in memory."""
SMALL_BODY: Final = 256 * 1024
"""Bytes of a body that is read without waiting for other bodies."""
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)', re.DOTALL)
"""Also matches an unterminated string, without backtracking: linear in the length of the text."""
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))
_OPEN: Final = ord("[")
_JSON: Final = re.compile(r"application/(?:[\w.-]+\+)?json\s*(?:;.*)?", re.ASCII | re.IGNORECASE)
MAX_LENGTH_DIGITS: Final = 19
"""Digits of Content-Length; a longer one is ignored, and the body is limited while it is read."""
CLOSE: Final = {"Connection": "close"}
"""A connection whose request body was not read to its end cannot be reused."""


class JsonRoute(APIRoute):
    """A route whose JSON body is read within limits before it is parsed.

    Without a valid key nothing is read, where the route requires one. An unknown query parameter is refused: a misspelt
    filter would otherwise select everything.
    """

    max_depth: int = MAX_BODY_DEPTH

    def max_bytes(self, settings: Settings) -> int:
        return settings.limit_body

    def turn(self, request: Request) -> AbstractAsyncContextManager[Any]:  # noqa: ARG002 - for those who wait for one
        """Entered while the body is read and handled."""
        return nullcontext()

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = set(_query_names(self.dependant))
        guarded = any(isinstance(each.call, Require) for each in _dependants(self.dependant))

        async def limited(request: Request) -> Response:
            for name in request.query_params:
                if name not in known:
                    raise InvalidRequest(name[:100], "unknown parameter", hint=_known_parameters(known))
            if self.body_field is None:
                with reading(request, context_of(request)):
                    return await handle(request)
            if guarded:
                await require_key(request)
            settings = context_of(request).settings
            async with self.turn(request):
                shape = Shape(self.max_depth, MAX_VALUES)
                body = await _read(request, self.max_bytes(settings), settings.body_timeout, shape)
                if body and not _JSON.fullmatch(request.headers.get("content-type", "")):
                    raise InvalidRequest(
                        "Content-Type", "the body is not declared as JSON", hint="send `Content-Type: application/json`"
                    )
                request._body = body  # noqa: SLF001 - where a request keeps what it has read
                return await handle(request)

        return limited


def _query_names(dependant: Dependant) -> Iterator[str]:
    return (parameter.alias for each in _dependants(dependant) for parameter in each.query_params)


def _dependants(dependant: Dependant) -> Iterator[Dependant]:
    """Yield the dependencies of a route, also indirect ones."""
    yield dependant
    for inner in dependant.dependencies:
        yield from _dependants(inner)


def _known_parameters(known: Collection[str]) -> str:
    return f"expected one of: {', '.join(sorted(known))}" if known else "this route takes none"


async def _read(request: Request, limit: int, seconds: float, shape: Shape) -> bytes:
    declared = declared_length(request)
    if declared is not None and declared > limit:
        raise TooLarge("body", declared, limit)
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise TooLarge("body", len(body), limit)
                shape.feed(chunk)
    except TimeoutError:
        raise HTTPException(408, f"the body did not arrive within {seconds:g} s", CLOSE) from None
    except ClientDisconnect:  # the client will not read it
        raise HTTPException(408, "the connection broke off", CLOSE) from None
    return bytes(body)


def declared_length(request: Request) -> int | None:
    """Return the Content-Length; None when there is none."""
    text = request.headers.get("content-length", "")
    return int(text) if text.isdecimal() and text.isascii() and len(text) < MAX_LENGTH_DIGITS else None


class Shape:
    """Limits the depth and the number of values of a JSON text while it arrives, before it is parsed.

    It accepts any bytes, and its work is linear in their length.
    """

    def __init__(self, max_depth: int, most: int) -> None:
        self._max_depth, self._most = max_depth, most
        self._depth = self._values = 0
        self._held = b""
        """The start of a string that continues in a later chunk: its quotation mark, and a trailing backslash."""

    def feed(self, chunk: bytes) -> None:
        text, strings = _STRING.subn(rb"\1", self._held + chunk)
        unended = strings > text.count(b'"')
        self._held = (b'"\\' if text.endswith(b"\\") else b'"') if unended else b""
        self._values += sum(text.count(sign) for sign in (b",", b":", b"[", b"{"))
        if self._values > self._most:
            raise InvalidRequest(
                "body", f"holds more than {self._most:,} values", hint="send less, or in several parts"
            )
        for bracket in text.translate(_BRACKETS, _OTHERS):
            self._depth += 1 if bracket == _OPEN else -1
            if self._depth > self._max_depth:
                raise InvalidRequest("body", f"is nested deeper than {self._max_depth}", hint="make it flatter")


def too_deep(body: bytes, max_depth: int = MAX_BODY_DEPTH) -> bool:
    """Return whether a JSON text is nested too deep."""
    try:
        Shape(max_depth, len(body)).feed(body)
    except InvalidRequest:
        return True
    return False


async def stream_body(request: Request, key_id: str) -> AsyncIterator[bytes]:
    """Yield the chunks of a body, which may take hours.

    Raise KeyRefused if the key expires or is revoked meanwhile, and UploadBroken if the connection is lost.
    """
    keys = context_of(request).keys
    try:
        async for chunk in request.stream():
            if not await keys.in_force(key_id):
                raise KeyRefused("the key expired or was revoked during the upload", hint="continue with another key")
            yield chunk
    except ClientDisconnect:
        raise UploadBroken(
            "the connection was lost", hint="get the offset with HEAD, and continue from there"
        ) from None
