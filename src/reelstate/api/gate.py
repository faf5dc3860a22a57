"""What every request passes first and last: the rate of its address, the headers of its answer, a line in the log."""

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

logger = logging.getLogger("reelstate.access")

HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "cache-control": "no-store",
}
"""On every answer that does not say otherwise."""
_TICKET: Final = re.compile(r"^(/play/)[^/]*")
HSTS: Final = "max-age=31536000"
LONGEST_ADDRESS: Final = 64
"""Characters that are kept of a caller's address; the longest of IPv6 with a zone has fewer."""


@dataclass(frozen=True, slots=True)
class Gate:
    app: ASGIApp
    context: Context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["client"] = _client(scope)
        began = time.perf_counter()
        status = 0

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
                error = TooManyRequests("this address asks too often", retry_after=wait)
                await response_of(error)(scope, receive, answer)
            else:
                await self.app(scope, receive, answer)
        finally:
            # The path alone: what follows it may hold a code, and headers hold keys.
            took = (time.perf_counter() - began) * 1000
            logger.info("%s %s %s %s %.1f ms", address, scope["method"], _printable(scope["path"]), status, took)


def _add_headers(headers: MutableHeaders, scope: Scope) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if scope["scheme"] == "https":
        headers.setdefault("strict-transport-security", HSTS)


def _printable(path: str) -> str:
    """A path that can't forge a line of the log, without the ticket that it may hold."""
    return printable_line(_TICKET.sub(r"\1***", path[:500]))


def _client(scope: Scope) -> tuple[str, int]:
    """Where the request comes from. A proxy may have been told any text for it, which is cut and escaped here."""
    host, port = scope["client"] or ("", 0)
    return printable_line(host[:LONGEST_ADDRESS]), port


def _has_two_lengths(scope: Scope) -> bool:
    """Whether two servers on the way could see the end of the body in two places, and so another request after it."""
    names = {name for name, _ in scope["headers"]}
    return {b"content-length", b"transfer-encoding"} <= names
