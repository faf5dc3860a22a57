"""Bodies of requests: how much, how slowly and how deep JSON may come in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Coroutine, Iterator
from typing import Any, Final

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from reelstate.api.auth import Require, require_key
from reelstate.api.context import context_of
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest, TooLarge

DEEPEST: Final = 32
_STRINGS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""Also one without an end, and never looked at twice: the time that it takes grows with the text, and no faster."""
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))
_JSON: Final = re.compile(r"application/(?:[\w.-]+\+)?json\s*(?:;.*)?", re.ASCII | re.IGNORECASE)
CLOSE: Final = {"Connection": "close"}
"""With what was not read to its end, a connection can't be used again."""


class JsonRoute(APIRoute):
    """A route whose body is JSON: it is read within limits before anything is made of it.

    Of those who need a key for the route and have none, nothing is read: strangers can't fill the memory.
    A parameter that there is not is refused as well: a filter with a slip of the pen would let everything through.
    """

    deepest: int | None = DEEPEST

    def largest(self, settings: Settings) -> int:
        return settings.limit_body

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = set(_query(self.dependant))
        guarded = any(isinstance(each.call, Require) for each in _all(self.dependant))

        async def limited(request: Request) -> Response:
            for name in request.query_params:
                if name not in known:
                    raise InvalidRequest(name[:100], "there is no such parameter", hint=_parameters(known))
            if self.body_field is None:
                return await handle(request)
            if guarded:
                await require_key(request)
            settings = context_of(request).settings
            body = await _read(request, self.largest(settings), settings.body_timeout)
            if body and not _JSON.fullmatch(request.headers.get("content-type", "")):
                raise InvalidRequest(
                    "Content-Type", "the body is not said to be JSON", hint="send `Content-Type: application/json`"
                )
            if self.deepest is not None and too_deep(body, self.deepest):
                raise InvalidRequest("body", f"is nested deeper than {self.deepest}", hint="make it flatter")
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


async def _read(request: Request, limit: int, seconds: float) -> bytes:
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > limit:
        raise TooLarge("body", int(told), limit)
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise TooLarge("body", len(body), limit)
    except TimeoutError:
        raise HTTPException(408, f"the body did not arrive within {seconds:g} s", CLOSE) from None
    except ClientDisconnect:  # nobody is there to hear it
        raise HTTPException(408, "the connection broke off", CLOSE) from None
    return bytes(body)


def too_deep(body: bytes, deepest: int = DEEPEST) -> bool:
    """Whether arrays and objects of a JSON text are nested deeper than may be; also for what is no JSON at all."""
    if body.count(b"[") + body.count(b"{") <= deepest:
        return False
    brackets = _STRINGS.sub(b"", body).translate(_BRACKETS, _OTHERS)
    for _ in range(deepest):  # each round takes the innermost away
        brackets = brackets.replace(b"[]", b"")
    return len(brackets) > deepest or b"[]" in brackets
