"""The server as a remote worker reaches it: one address, one key, and its answers, or errors of ours.

A server that is away, or answers that something is wrong with itself, is asked again as long as the patience lasts.
Whoever asks must be able to ask twice: every verb of the engine is made for that.
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

M = TypeVar("M", bound=BaseModel)
CONNECT: Final = 10.0
ANSWER: Final = 60.0
LONG_ANSWER: Final = 1800.0
"""Where the server has to read what may be large: a file that it was sent, or all that a film was made of."""
BUSY: Final = 429
OWN_FAULT: Final = 500
CONFLICT: Final = 409
PAST_THE_END: Final = 416
_KEY: Final = re.compile(r"[!-~]+", re.ASCII)
Body = bytes | Callable[[], Any] | None
"""Bytes, or what gives an iterator over them anew for each try."""


class ServerUnavailable(StoreUnavailable):
    """The server can't be reached, or can't do its work at the moment."""


class KeyNotAccepted(WorkerRefused):
    """The server does not take the key: it is wrong, revoked or expired."""


class ServerClient:
    """Belongs to the event loop that first asks through it."""

    def __init__(self, url: str, key: str, *, timeout: float = math.inf) -> None:
        if not _KEY.fullmatch(key):
            raise InvalidRequest("server_key", "it is no key", hint="it reads reel_<id>_<secret>, in one line")
        self.url = url.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._made: httpx.AsyncClient | None = None

    @property
    def _client(self) -> httpx.AsyncClient:
        if self._made is None:
            self._made = httpx.AsyncClient(
                base_url=self.url,
                headers={"Authorization": f"Bearer {self._key}"},
                timeout=httpx.Timeout(ANSWER, connect=CONNECT),
                limits=httpx.Limits(max_connections=64, max_keepalive_connections=16),
            )
        return self._made

    async def close(self) -> None:
        if self._made is not None:
            await self._made.aclose()
            self._made = None

    async def ask(self, path: str, message: Callable[[], BaseModel], answer: type[M], *, seconds: float = ANSWER) -> M:
        """Send a message and give the answer; a conflict answers too, item by item. Each try tells what holds then."""

        def body() -> bytes:
            return message().model_dump_json(exclude_defaults=True).encode()

        return _message(await self._answered("POST", path, body, seconds=seconds), answer)

    async def get(self, path: str, answer: type[M], *, permit: str = "", seconds: float = ANSWER, **query: Any) -> M:
        given = {name: value for name, value in query.items() if value is not None}
        return _message(await self._answered("GET", path, None, permit=permit, query=given, seconds=seconds), answer)

    async def put(self, path: str, body: Body, answer: type[M], *, permit: str, headers: Mapping[str, str]) -> M:
        found = await self._answered("PUT", path, body, permit=permit, headers=headers, seconds=LONG_ANSWER)
        return _message(found, answer)

    @asynccontextmanager
    async def stream(self, path: str, *, permit: str, headers: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        """An answer whose bytes are read as they come; a redirect to a signed address is followed without our key."""
        with _faults(self.url):
            request = self._client.build_request("GET", PREFIX + path, headers={**headers, PERMIT_HEADER: permit})
            response = await self._client.send(request, stream=True)
            try:
                if response.is_redirect:
                    await response.aclose()
                    async with self._elsewhere(response.headers["location"], headers) as other:
                        yield other
                    return
                await _checked(response)
                yield response
            finally:
                await response.aclose()

    @asynccontextmanager
    async def _elsewhere(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        plain = httpx.AsyncClient(timeout=self._client.timeout)
        async with plain, plain.stream("GET", url, headers=dict(headers)) as response:
            if response.is_error and response.status_code != PAST_THE_END:
                raise ServerUnavailable(f"the storage answers {response.status_code}", hint="it is tried again")
            yield response

    async def patiently(self, doing: str, call: Callable[[], Any], seconds: float | None = None) -> Any:
        """Try until it works, while only the server's absence stands in the way."""
        timeout = RetryTimer(self._timeout if seconds is None else seconds)
        while True:
            try:
                return await call()
            except ServerUnavailable as error:
                if not await timeout.wait(error, doing):
                    raise

    async def _answered(
        self,
        method: str,
        path: str,
        body: Body,
        *,
        permit: str = "",
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = ANSWER,
    ) -> httpx.Response:
        given = {**(headers or {}), **({PERMIT_HEADER: permit} if permit else {})}
        if body is not None and "Content-Type" not in given:
            given["Content-Type"] = "application/json"

        async def call() -> httpx.Response:
            with _faults(self.url):
                response = await self._client.request(
                    method,
                    PREFIX + path,
                    content=body() if callable(body) else body,
                    params=query,
                    headers=given,
                    timeout=httpx.Timeout(seconds, connect=CONNECT),
                )
                await _checked(response)
                return response

        answer: httpx.Response = await self.patiently("no answer", call)
        return answer


@contextmanager
def _faults(url: str) -> Iterator[None]:
    """What goes wrong on the way, as an error of ours."""
    try:
        yield
    except httpx.TransportError as error:
        said = str(error) or type(error).__name__
        raise ServerUnavailable(f"{url}: {said}", hint="is `reel serve` there, and the way to it?") from error


class HttpPermit(Permit):
    """A permit, and the server that it is good for."""

    __slots__ = ("server",)

    def __init__(self, text: str, server: ServerClient) -> None:
        super().__init__(text)
        self.server = server


def _message(response: httpx.Response, answer: type[M]) -> M:
    try:
        return answer.model_validate_json(response.content)
    except ValidationError as error:
        raise ServerUnavailable(
            f"{response.url.path} answers what this worker does not understand: {error.errors()[0]['msg']}",
            hint="server and worker should be of the same release; or another server is there",
        ) from None


async def _checked(response: httpx.Response) -> None:
    """Raise what an error document says; a conflict with verdicts in it is an answer."""
    if not response.is_error or response.status_code == PAST_THE_END:
        return
    await response.aread()
    document = _document(response)
    if response.status_code == CONFLICT and "verdicts" in document:
        return
    raise _error(response.status_code, document)


def _document(response: httpx.Response) -> dict[str, Any]:
    with suppress(ValueError):
        document = response.json()
        if isinstance(document, dict):
            return document
    return {}


def _error(status: int, document: Mapping[str, Any]) -> ReelstateError:
    """The error that a problem document stands for: its type ends with the name of the error."""
    detail, hint = str(document.get("detail") or f"the server answers {status}"), str(document.get("hint") or "")
    name = str(document.get("type", "")).rpartition(":")[2].replace("-", "")
    if status == BUSY or status >= OWN_FAULT:
        return ServerUnavailable(detail, hint=hint)
    if status == 404:  # noqa: PLR2004 - there is no such thing
        missing: ReelstateError = WorkerUnknown(0) if name == "workerunknown" else NotFound("such thing", "")
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
    if status == 401:  # noqa: PLR2004 - who are you?
        return KeyNotAccepted(detail, hint=hint)
    return WorkerRefused(detail, hint=hint) if status == 403 else StorageError(detail, hint=hint)  # noqa: PLR2004


def checked_server(url: str, *, insecure: bool = False) -> str:
    """The address, if a key may be sent there: over TLS, or not beyond this machine."""
    parts = _parsed(url)
    if parts.scheme == "https" or insecure or _is_loopback(parts.host):
        return url
    raise InvalidRequest(
        "server_url",
        f"{parts.scheme}://{parts.host} would send the key in the clear",
        hint="use https://, or --insecure where the network itself is trusted",
    )


def _parsed(url: str) -> httpx.URL:
    with suppress(httpx.InvalidURL):
        parts = httpx.URL(url)
        if parts.scheme in ("http", "https") and parts.host and not parts.userinfo:
            return parts
    raise InvalidRequest("server_url", "it is no address of a server", hint="for example https://reel.example.org")


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
