"""Turn the error responses of a server, and the failures of its connection, into exceptions with a hint.

A problem document names the error that the server raised, so that its class and its sentence are the same as beside the
database. Errors of the connection, of the key and of the server itself name the address.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import httpx

from reelstate.core import errors
from reelstate.core.errors import (
    AccessRefused,
    KeyRefused,
    ReelstateError,
    StoreError,
    StoreUnavailable,
    TooManyRequests,
)
from reelstate.remote.server import ServerUnavailable

TYPE: Final = "urn:reelstate:error:"
FIRST_SERVER_ERROR: Final = 500
TOO_MANY_REQUESTS: Final = 429
GATEWAY_ERRORS: Final = (502, 503, 504)
MAX_TEXT: Final = 10_000
"""Characters of a message that are kept."""
MAX_RETRY_AFTER: Final = 3600.0
TEXTS: Final = ("field", "entity", "origin", "oldest")
NUMBERS: Final = ("position", "used", "limit")
FROM_ANOTHER_VERSION: Final = ("no-route", "method-not-allowed")
"""Errors of requests that this command sends and the server does not know."""
UNKNOWN_INPUT: Final = (": unknown parameter", ": Extra inputs are not permitted")
KINDS: Final[Mapping[str, type[ReelstateError]]] = {
    name.lower(): kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, ReelstateError)
}


class NotUnderstood(StoreError):
    """The server answers in a way that this command does not understand: another version, or no Reelstate server."""


class NotTrusted(StoreError):
    """The certificate of the server is not trusted, or its port does not speak TLS."""


def not_a_server(url: str, found: str) -> NotUnderstood:
    """Return the error for an answer that no Reelstate server gives."""
    return NotUnderstood(
        f"{url} {found}; it does not answer as a Reelstate server does",
        hint="check the address, with the path under which a proxy serves it",
    )


def error_of(response: httpx.Response, content: bytes, url: str) -> ReelstateError:
    """Return the exception for an error response."""
    problem = _problem(content)
    status = response.status_code
    if problem is None and status in GATEWAY_ERRORS:
        return ServerUnavailable(
            f"{url} answered {status}", hint="a proxy answers, the server behind it does not: check that it runs"
        )
    if problem is None:
        return not_a_server(url, f"answered {status}")
    detail, hint = _text(problem, "detail") or f"it answered {status}", _text(problem, "hint")
    if status == TOO_MANY_REQUESTS:
        return TooManyRequests(f"{url}: {detail}", retry_after=_retry_after(response), hint="send fewer requests")
    kind = KINDS.get(_name(problem).replace("-", ""), StoreError if status >= FIRST_SERVER_ERROR else ReelstateError)
    if issubclass(kind, StoreUnavailable):
        return ServerUnavailable(f"{url}: {detail}", hint=hint)
    if issubclass(kind, KeyRefused):
        return KeyRefused(f"{url}: {detail}", hint=f"{hint}; then `reel login {url}`" if hint else f"reel login {url}")
    if issubclass(kind, AccessRefused) or status >= FIRST_SERVER_ERROR:
        detail = f"{url}: {detail}"
    return _raised(kind, detail, hint, problem)


def is_from_another_version(content: bytes) -> bool:
    """Return whether an error says that the server does not know a route, a parameter or a field of this command."""
    problem = _problem(content)
    if problem is None:
        return False
    return _name(problem) in FROM_ANOTHER_VERSION or _text(problem, "detail").endswith(UNKNOWN_INPUT)


@contextmanager
def translating(url: str) -> Iterator[None]:
    """Raise `ServerUnavailable` or `NotTrusted` for failures of the connection."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise ServerUnavailable(
            f"{url} does not answer", hint="check the address, and that the server is reachable from here"
        ) from error
    except httpx.RemoteProtocolError as error:
        raise ServerUnavailable(
            f"{url} closed the connection: {error}", hint="check the address, and whether it needs https://"
        ) from error
    except httpx.DecodingError as error:
        raise not_a_server(url, "sent an answer that can't be decoded") from error
    except httpx.TransportError as error:
        raise _transport_error(url, error) from error


def _transport_error(url: str, error: httpx.TransportError) -> ReelstateError:
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return NotTrusted(
                f"the certificate of {url} is not trusted: {cause.verify_message}",
                hint="check the address, or set SSL_CERT_FILE to the file with the certificate of its authority",
            )
        if isinstance(cause, ssl.SSLError):
            return NotTrusted(f"{url} does not speak TLS: {cause.reason}", hint="check the address and the port")
    return ServerUnavailable(
        f"{url} is unreachable: {str(error) or type(error).__name__}",
        hint="check the address, and that `reel serve` runs there",
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _problem(content: bytes) -> dict[str, Any] | None:
    """Return the problem document of a Reelstate server; None for another answer."""
    with suppress(ValueError, RecursionError):
        document = json.loads(content)
        if isinstance(document, dict) and str(document.get("type", "")).startswith(TYPE):
            return document
    return None


def _name(problem: Mapping[str, Any]) -> str:
    return str(problem["type"]).removeprefix(TYPE)


def _text(problem: Mapping[str, Any], name: str) -> str:
    value = problem.get(name)
    return value[:MAX_TEXT] if isinstance(value, str) else ""


def _raised(kind: type[ReelstateError], detail: str, hint: str, problem: Mapping[str, Any]) -> ReelstateError:
    """Return the error that the server raised, with its sentence and what the document says of it."""
    error = kind.__new__(kind)
    ReelstateError.__init__(error, detail, hint=hint)
    for name in TEXTS:
        setattr(error, name, _text(problem, name))
    for name in NUMBERS:
        setattr(error, name, problem[name] if isinstance(problem.get(name), int) else None)
    return error


def _retry_after(response: httpx.Response) -> float:
    text = response.headers.get("retry-after", "")
    return min(float(text), MAX_RETRY_AFTER) if text.isdecimal() and text.isascii() else 1.0
