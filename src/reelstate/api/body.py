"""Bodies of requests: how much, how slowly and how deep JSON may come in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Coroutine, Iterator
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
from reelstate.core.errors import InvalidRequest, TooLarge

DEEPEST: Final = 32
MAX_VALUES: Final = 200_000
"""Values in one body: each costs the memory of many bytes of its text, and time to look at."""
SMALL: Final = 256 * 1024
"""Bytes of a body that is read at once, whoever else sends one."""
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)', re.DOTALL)
"""Also one without an end, and never looked at twice: the time that it takes grows with the text, and no faster."""
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))
_OPEN: Final = ord("[")
_JSON: Final = re.compile(r"application/(?:[\w.-]+\+)?json\s*(?:;.*)?", re.ASCII | re.IGNORECASE)
LONGEST_LENGTH: Final = 19
"""Digits of a length; a number of more is refused by what is read."""
CLOSE: Final = {"Connection": "close"}
"""With what was not read to its end, a connection can't be used again."""


class JsonRoute(APIRoute):
    """A route whose body is JSON: it is read within limits before anything is made of it.

    Of those who need a key for the route and have none, nothing is read: strangers can't fill the memory.
    A parameter that there is not is refused as well: a filter with a slip of the pen would let everything through.
    """

    deepest: int = DEEPEST

    def largest(self, settings: Settings) -> int:
        return settings.limit_body

    def turn(self, request: Request) -> AbstractAsyncContextManager[Any]:  # noqa: ARG002 - for those who wait for one
        """Entered while the body is read and handled."""
        return nullcontext()

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = set(_query(self.dependant))
        guarded = any(isinstance(each.call, Require) for each in _all(self.dependant))

        async def limited(request: Request) -> Response:
            for name in request.query_params:
                if name not in known:
                    raise InvalidRequest(name[:100], "there is no such parameter", hint=_parameters(known))
            if self.body_field is None:
                with reading(request, context_of(request)):
                    return await handle(request)
            if guarded:
                await require_key(request)
            settings = context_of(request).settings
            async with self.turn(request):
                shape = Shape(self.deepest, MAX_VALUES)
                body = await _read(request, self.largest(settings), settings.body_timeout, shape)
                if body and not _JSON.fullmatch(request.headers.get("content-type", "")):
                    raise InvalidRequest(
                        "Content-Type", "the body is not said to be JSON", hint="send `Content-Type: application/json`"
                    )
                request._body = body  # noqa: SLF001 - where a request keeps what it has read
                return await handle(request)

        return limited


def _query(dependant: Dependant) -> Iterator[str]:
    return (parameter.alias for each in _all(dependant) for parameter in each.query_params)


def _all(dependant: Dependant) -> Iterator[Dependant]:
    """What a route depends on, however indirectly."""
    yield dependant
    for inner in dependant.dependencies:
        yield from _all(inner)


def _parameters(known: Collection[str]) -> str:
    return f"there are: {', '.join(sorted(known))}" if known else "there are none here"


async def _read(request: Request, limit: int, seconds: float, shape: Shape) -> bytes:
    told = told_length(request)
    if told is not None and told > limit:
        raise TooLarge("body", told, limit)
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
    except ClientDisconnect:  # nobody is there to hear it
        raise HTTPException(408, "the connection broke off", CLOSE) from None
    return bytes(body)


def told_length(request: Request) -> int | None:
    """How long the body is said to be; None for one whose end is not known."""
    told = request.headers.get("content-length", "")
    return int(told) if told.isdecimal() and told.isascii() and len(told) < LONGEST_LENGTH else None


class Shape:
    """How deep a JSON text is nested and how many values it has, told while it comes in, before it is parsed.

    Also for what is no JSON at all. The work of a piece grows with its length, so others have their turn between two.
    """

    def __init__(self, deepest: int, most: int) -> None:
        self._deepest, self._most = deepest, most
        self._depth = self._values = 0
        self._held = b""
        """The beginning of a string that ends in a later piece: its quotation mark, and a backslash at its end."""

    def feed(self, piece: bytes) -> None:
        text, strings = _STRING.subn(rb"\1", self._held + piece)
        unended = strings > text.count(b'"')
        self._held = (b'"\\' if text.endswith(b"\\") else b'"') if unended else b""
        self._values += sum(text.count(sign) for sign in (b",", b":", b"[", b"{"))
        if self._values > self._most:
            raise InvalidRequest(
                "body", f"holds more than {self._most:,} values", hint="send less, or in several parts"
            )
        for bracket in text.translate(_BRACKETS, _OTHERS):
            self._depth += 1 if bracket == _OPEN else -1
            if self._depth > self._deepest:
                raise InvalidRequest("body", f"is nested deeper than {self._deepest}", hint="make it flatter")


def too_deep(body: bytes, deepest: int = DEEPEST) -> bool:
    """Whether arrays and objects of a JSON text are nested deeper than may be."""
    try:
        Shape(deepest, len(body)).feed(body)
    except InvalidRequest:
        return True
    return False
