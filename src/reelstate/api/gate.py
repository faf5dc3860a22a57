"""Middleware for every request: rate limit per address, response headers, access log."""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reelstate.api.context import Context
from reelstate.api.errors import malformed, response_of
from reelstate.core.errors import TooManyRequests
from reelstate.core.printable import printable_line
from reelstate.remote.wire import PREFIX
from reelstate.telemetry.facts import RequestAnswered, emit
from reelstate.telemetry.trace_context import read_headers, running_in
from reelstate.telemetry.tracing import start_request

logger = logging.getLogger("reelstate.access")

HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "cache-control": "no-store",
}
"""Default headers of every response."""
_TICKET: Final = re.compile(r"^(/play/)[^/]*")
HSTS: Final = "max-age=31536000"
MAX_ADDRESS: Final = 64
"""Characters kept of a client address; the longest IPv6 address with a zone has fewer."""


@dataclass(frozen=True, slots=True)
class Gate:
    app: ASGIApp
    context: Context
    prefix: str = ""
    """The path under which a proxy serves this server: requests may come with it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["client"] = _client(scope)
        _strip_prefix(scope, self.prefix)
        began = time.perf_counter()
        status = 0
        parent = read_headers(scope["headers"])
        span = start_request(scope["method"], parent, polled=scope["path"].startswith(PREFIX))

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(MutableHeaders(scope=message), scope)
            await send(message)

        address = scope["client"][0]
        try:
            if _has_two_lengths(scope):
                refusal = malformed(
                    "the request has both Content-Length and Transfer-Encoding", hint="send one of them"
                )
                await refusal(scope, receive, answer)
            elif wait := self.context.per_address.take(address):
                error = TooManyRequests("too many requests from this address", retry_after=wait)
                await response_of(error)(scope, receive, answer)
            else:
                with running_in(span):
                    await self.app(scope, receive, answer)
        finally:
            # Only the path: the query may hold a code, and headers hold keys.
            seconds = time.perf_counter() - began
            emit(RequestAnswered(scope["method"], _route(scope), status, seconds, span, parent))
            took = seconds * 1000
            with running_in(span):
                logger.info("%s %s %s %s %.1f ms", address, scope["method"], _printable(scope["path"]), status, took)


def _route(scope: Scope) -> str:
    """Return the route that answered, with the names of its parameters; a path could name anything."""
    return str(getattr(scope.get("route"), "path", "other"))


def _add_headers(headers: MutableHeaders, scope: Scope) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if scope["scheme"] == "https":
        headers.setdefault("strict-transport-security", HSTS)


def _strip_prefix(scope: Scope, prefix: str) -> None:
    """Remove the path prefix of a proxy that leaves it in the path."""
    if prefix and scope["path"].startswith(f"{prefix}/"):
        scope["path"] = scope["path"][len(prefix) :]
        scope["raw_path"] = scope.get("raw_path", b"")[len(prefix) :]


def _printable(path: str) -> str:
    """Return a path that cannot forge a log line, without its playback ticket."""
    return printable_line(_TICKET.sub(r"\1***", path[:500]))


def _client(scope: Scope) -> tuple[str, int]:
    """Return the client address. A proxy may forward any text as the address; it is cut and escaped."""
    host, port = scope["client"] or ("", 0)
    return printable_line(host[:MAX_ADDRESS]), port


def _has_two_lengths(scope: Scope) -> bool:
    """Return whether the request has two lengths, which allows request smuggling."""
    names = {name for name, _ in scope["headers"]}
    return {b"content-length", b"transfer-encoding"} <= names
