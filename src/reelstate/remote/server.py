"""The HTTP client of a remote worker: sends requests with its key and turns error responses into exceptions.

Requests to an unreachable or failing server are repeated until the timeout, so each of them must be idempotent; every
verb of the engine is.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from reelstate.connections.timeouts import RetryTimer
from reelstate.core.errors import (
    InvalidRequest,
    LeaseLost,
    NotFound,
    PermitExpired,
    PermitRefused,
    ReelstateError,
    StorageConflict,
    StorageDamaged,
    StorageError,
    StoreUnavailable,
    WorkerRefused,
    WorkerUnknown,
)
from reelstate.core.model import Permit
from reelstate.remote.wire import PERMIT_HEADER, PREFIX
from reelstate.telemetry.trace_context import current_context

M = TypeVar("M", bound=BaseModel)
CONNECT_TIMEOUT: Final = 10.0
REQUEST_TIMEOUT: Final = 60.0
LONG_REQUEST_TIMEOUT: Final = 1800.0
"""Seconds for requests that make the server read large files: an upload, or the files of a completed task."""
TOO_MANY_REQUESTS: Final = 429
SERVER_ERROR: Final = 500
CONFLICT: Final = 409
RANGE_NOT_SATISFIABLE: Final = 416
_KEY: Final = re.compile(r"[!-~]+", re.ASCII)
Body = bytes | Callable[[], Any] | None
"""Bytes, or a function that returns them, or an iterator over them, for each attempt."""


class ServerUnavailable(StoreUnavailable):
    """The server is unreachable, overloaded or failing."""


class KeyNotAccepted(WorkerRefused):
    """The server rejects the key: it is wrong, revoked or expired."""


class ServerClient:
    """Belongs to the event loop that first uses it. `timeout` limits how long an unavailable server is retried."""

    def __init__(self, url: str, key: str, *, timeout: float = math.inf) -> None:
        if not _KEY.fullmatch(key):
            raise InvalidRequest("server_key", "is not a key", hint="expected reel_<id>_<secret> in one line")
        self.url = url.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._open_client: httpx.AsyncClient | None = None

    @property
    def _client(self) -> httpx.AsyncClient:
        if self._open_client is None:
            self._open_client = httpx.AsyncClient(
                base_url=self.url,
                headers={"Authorization": f"Bearer {self._key}"},
                timeout=httpx.Timeout(REQUEST_TIMEOUT, connect=CONNECT_TIMEOUT),
                limits=httpx.Limits(max_connections=64, max_keepalive_connections=16),
            )
        return self._open_client

    async def close(self) -> None:
        if self._open_client is not None:
            await self._open_client.aclose()
            self._open_client = None

    async def post(
        self, path: str, message: Callable[[], BaseModel], answer: type[M], *, seconds: float = REQUEST_TIMEOUT
    ) -> M:
        """Send a message and return the answer, also that of a conflict. `message` is called for each attempt."""

        def body() -> bytes:
            return message().model_dump_json(exclude_defaults=True).encode()

        return _parse(await self._request("POST", path, body, seconds=seconds), answer)

    async def get(
        self, path: str, answer: type[M], *, permit: str = "", seconds: float = REQUEST_TIMEOUT, **query: Any
    ) -> M:
        given = {name: value for name, value in query.items() if value is not None}
        return _parse(await self._request("GET", path, None, permit=permit, query=given, seconds=seconds), answer)

    async def put(self, path: str, body: Body, answer: type[M], *, permit: str, headers: Mapping[str, str]) -> M:
        response = await self._request("PUT", path, body, permit=permit, headers=headers, seconds=LONG_REQUEST_TIMEOUT)
        return _parse(response, answer)

    @asynccontextmanager
    async def stream(self, path: str, *, permit: str, headers: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        """Stream a response; a redirect to a signed URL is followed without the key."""
        with _translate_errors(self.url):
            request = self._client.build_request(
                "GET", PREFIX + path, headers={**_trace_headers(), **headers, PERMIT_HEADER: permit}
            )
            response = await self._client.send(request, stream=True)
            try:
                if response.is_redirect:
                    await response.aclose()
                    async with self._stream_redirect(response.headers["location"], headers) as other:
                        yield other
                    return
                await _raise_for_error(response)
                yield response
            finally:
                await response.aclose()

    @asynccontextmanager
    async def _stream_redirect(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        plain = httpx.AsyncClient(timeout=self._client.timeout)
        async with plain, plain.stream("GET", url, headers=dict(headers)) as response:
            if response.is_error and response.status_code != RANGE_NOT_SATISFIABLE:
                raise ServerUnavailable(
                    f"the storage responded with {response.status_code}", hint="the request is repeated"
                )
            yield response

    async def retry_unavailable(self, event: str, call: Callable[[], Any], seconds: float | None = None) -> Any:
        """Repeat a call while it raises ServerUnavailable, until the timeout; log the event."""
        timer = RetryTimer(self._timeout if seconds is None else seconds)
        while True:
            try:
                return await call()
            except ServerUnavailable as error:
                if not await timer.wait(error, event):
                    raise

    async def _request(
        self,
        method: str,
        path: str,
        body: Body,
        *,
        permit: str = "",
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = REQUEST_TIMEOUT,
    ) -> httpx.Response:
        all_headers = {**_trace_headers(), **(headers or {}), **({PERMIT_HEADER: permit} if permit else {})}
        if body is not None and "Content-Type" not in all_headers:
            all_headers["Content-Type"] = "application/json"

        async def call() -> httpx.Response:
            with _translate_errors(self.url):
                response = await self._client.request(
                    method,
                    PREFIX + path,
                    content=body() if callable(body) else body,
                    params=query,
                    headers=all_headers,
                    timeout=httpx.Timeout(seconds, connect=CONNECT_TIMEOUT),
                )
                await _raise_for_error(response)
                return response

        answer: httpx.Response = await self.retry_unavailable(f"{method} {path} failed", call)
        return answer


def _trace_headers() -> dict[str, str]:
    """Return the headers with which the server continues the trace of the run that sends a request."""
    context = current_context()
    return {} if context is None else context.headers


@contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    """Raise ServerUnavailable for errors of the connection."""
    try:
        yield
    except httpx.TransportError as error:
        text = str(error) or type(error).__name__
        raise ServerUnavailable(f"{url}: {text}", hint="check that `reel serve` runs and is reachable") from error


class HttpPermit(Permit):
    """A permit with the server that issued it."""

    __slots__ = ("server",)

    def __init__(self, text: str, server: ServerClient) -> None:
        super().__init__(text)
        self.server = server


def _parse(response: httpx.Response, answer: type[M]) -> M:
    try:
        return answer.model_validate_json(response.content)
    except ValidationError as error:
        raise ServerUnavailable(
            f"unexpected response of {response.url.path}: {error.errors()[0]['msg']}",
            hint="install the same release on server and worker, and check the address",
        ) from None


async def _raise_for_error(response: httpx.Response) -> None:
    """Raise the error of a response; a conflict that contains verdicts is an answer."""
    if not response.is_error or response.status_code == RANGE_NOT_SATISFIABLE:
        return
    await response.aread()
    document = _error_document(response)
    if response.status_code == CONFLICT and "verdicts" in document:
        return
    raise _exception_for(response.status_code, document)


def _error_document(response: httpx.Response) -> dict[str, Any]:
    with suppress(ValueError):
        document = response.json()
        if isinstance(document, dict):
            return document
    return {}


def _exception_for(status: int, document: Mapping[str, Any]) -> ReelstateError:
    """Return the exception for a problem document, whose type ends with the name of the error."""
    detail, hint = str(document.get("detail") or f"the server responded with {status}"), str(document.get("hint") or "")
    name = str(document.get("type", "")).rpartition(":")[2].replace("-", "")
    if status == TOO_MANY_REQUESTS or status >= SERVER_ERROR:
        return ServerUnavailable(detail, hint=hint)
    if status == 404:  # noqa: PLR2004 - not found
        missing: ReelstateError = WorkerUnknown(0) if name == "workerunknown" else NotFound("resource", "")
        missing.message, missing.hint = detail, hint
        return missing
    plain: dict[str, type[ReelstateError]] = {
        "leaselost": LeaseLost,
        "permitexpired": PermitExpired,
        "permitrefused": PermitRefused,
        "workerrefused": WorkerRefused,
        "storageconflict": StorageConflict,
        "storagedamaged": StorageDamaged,
    }
    if name in plain:
        return plain[name](detail, hint=hint)
    if status in (413, 422):
        field = str(document.get("field") or "request")
        return InvalidRequest(field, detail.removeprefix(f"{field}: "), hint=hint)
    if status == 401:  # noqa: PLR2004 - unauthorized
        return KeyNotAccepted(detail, hint=hint)
    return WorkerRefused(detail, hint=hint) if status == 403 else StorageError(detail, hint=hint)  # noqa: PLR2004


def require_secure_url(
    url: str,
    *,
    insecure: bool = False,
    field: str = "server_url",
    hint: str = "use https://, or --insecure where the network itself is trusted",
) -> str:
    """Return the URL if a key may be sent to it: over TLS, or to this machine. Raise InvalidRequest otherwise."""
    parts = _parse_url(url, field)
    if parts.scheme == "https" or insecure or _is_loopback(parts.host):
        return url
    raise InvalidRequest(field, f"{parts.scheme}://{parts.host} would send the key unencrypted", hint=hint)


def _parse_url(url: str, field: str) -> httpx.URL:
    with suppress(httpx.InvalidURL):
        parts = httpx.URL(url)
        if parts.scheme in ("http", "https") and parts.host and not parts.userinfo:
            return parts
    raise InvalidRequest(field, "is not the URL of a server", hint="for example https://reel.example.org")


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
