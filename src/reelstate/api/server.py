"""The HTTP server of a process: uvicorn, beside whatever else its event loop does."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import resource
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from reelstate.api.connections import Admission, LimitedSocket
from reelstate.api.context import Context
from reelstate.api.remotes import Remotes
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest

logger = logging.getLogger("reelstate.server")
BACKLOG: Final = 2048
LOOK_EVERY: Final = 15.0
"""Seconds. A connection that was quiet at two looks has had no request for so long, and is closed."""
STUCK_LOOKS: Final = 4
"""Looks at which a client has taken nothing of its answer, until it is given up; one is enough after the last word."""

HEAD_TIMEOUT: Final = 10.0
"""Seconds in which the head of the first request must have arrived on a new connection."""
MAX_HEAD: Final = 32 * 1024
"""Bytes of a request's head, which anybody can have us hold."""

ABORT: Final = "abort"
"""In the state of a request: cuts its connection, whatever is still to be sent."""


class TimedProtocol(H11Protocol):
    """Closes connections whose request does not arrive or whose answer is not taken: uvicorn itself waits for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, ABORT: transport.abort}
        self._pauses = self._stuck = 0
        self._silent = self.loop.call_later(HEAD_TIMEOUT, self._close_silent)
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._silent.cancel()
        super().connection_lost(exc)

    def _close_silent(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None:
            self.transport.abort()

    def pause_writing(self) -> None:
        self._pauses += 1
        super().pause_writing()

    @property
    def _untaken(self) -> tuple[int, int]:
        """Changes whenever the client takes something; bytes that wait for it, and how often they came to be many."""
        return self.transport.get_write_buffer_size(), self._pauses

    def _look_later(self) -> None:
        self.loop.call_later(LOOK_EVERY, self._look, self.cycle, self._untaken)

    def _look(self, before: object, untaken: tuple[int, int]) -> None:
        waiting, closing = self._untaken[0], self.transport.is_closing()
        self._stuck = self._stuck + 1 if waiting and self._untaken == untaken else 0
        if self._stuck >= (1 if closing else STUCK_LOOKS):
            self.transport.abort()
        elif not closing and not waiting and self.cycle is before and _is_quiet(self.cycle):
            self.transport.close()
        elif waiting or not closing:
            self._look_later()


def _is_quiet(cycle: RequestResponseCycle | None) -> bool:
    return cycle is None or cycle.response_complete


class HttpServer(uvicorn.Server):
    """Leaves the signals to the process that it is part of."""

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self._context: Context = app.state.context
        self._remotes: Remotes = app.state.remotes
        self._ready = asyncio.Event()
        tls: dict[str, Any] = {}
        if settings.tls_cert:
            tls = {"ssl_certfile": settings.tls_cert, "ssl_keyfile": settings.tls_key or None}
        super().__init__(
            uvicorn.Config(
                app,
                http=TimedProtocol,
                ws="none",
                h11_max_incomplete_event_size=MAX_HEAD,
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=settings.trusted_proxies or None,
                timeout_graceful_shutdown=max(1, round(settings.serve_grace)),
                **tls,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        await self._remotes.close()

    async def ready(self) -> None:
        """Wait until requests are taken."""
        await self._ready.wait()

    def stop(self) -> None:
        """Take no more requests, and let those under way finish within the grace."""
        self._context.stopping.set()
        self.should_exit = True


def listening(settings: Settings, *, insecure: bool = False, elsewhere: bool = False) -> LimitedSocket:
    """A socket at the address to serve on; keys do not travel in the clear between machines unless told to.

    With `elsewhere`, a port that is taken gives way to a free one.
    """
    host, port = settings.serve_host, settings.serve_port
    if not (is_loopback(host) or settings.tls_cert or insecure):
        raise InvalidRequest(
            "host",
            f"{host} can be reached from other machines, and without TLS keys could be read on the way",
            hint="name --tls-cert and --tls-key, serve on 127.0.0.1 behind a proxy, or say --insecure",
        )
    _require_certificate(settings)
    try:
        made = _bound(host, port)
    except OSError as error:
        if not (error.errno == errno.EADDRINUSE and elsewhere):
            raise _not_served(host, port, error) from None
        made = _bound(host, 0)
    made.admission = Admission.within(
        resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        total=settings.connections_per_server,
        per_address=settings.connections_per_address,
        proxies=settings.trusted_proxies,
    )
    return made


def _not_served(host: str, port: int, error: OSError) -> InvalidRequest:
    match error.errno:
        case errno.EADDRINUSE:
            words = f"{host}:{port} is taken by another program"
            return InvalidRequest("port", words, hint="choose another with --port or REEL_SERVE_PORT")
        case errno.EACCES:
            words, hint = f"{port} is not open to this user", "choose one above 1023 with --port or REEL_SERVE_PORT"
            return InvalidRequest("port", words, hint=hint)
    words = f"{host} is no address of this machine: {error.strerror or error}"
    return InvalidRequest("host", words, hint="127.0.0.1 serves this machine, 0.0.0.0 all who can reach it")


def _require_certificate(settings: Settings) -> None:
    """Refuse a certificate that can't be served with, before anybody is told that it is."""
    certificate, key = settings.tls_cert, settings.tls_key
    if key and not certificate:
        raise InvalidRequest(
            "tls_cert", "there is a key, but no certificate", hint="name both, --tls-cert and --tls-key"
        )
    if not certificate:
        return
    for field, path in (("tls_cert", certificate), ("tls_key", key)):
        try:
            Path(path or certificate).read_bytes()
        except OSError as error:
            words = f"{path or certificate} can't be read: {error.strerror}"
            raise InvalidRequest(field, words, hint="name a PEM file that this user may read") from None
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key or None, password="")
    except (ssl.SSLError, ValueError):
        words = f"{certificate} and {key or 'the key in it'} are no certificate and its key"
        hint = "both are PEM files, without a password; one file may hold both"
        raise InvalidRequest("tls_cert", words, hint=hint) from None


def _bound(host: str, port: int) -> LimitedSocket:
    made = LimitedSocket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it: the second half of an answer must not wait until the first is acknowledged.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.bind((host, port))
        made.listen(BACKLOG)  # whoever comes before the first request is taken waits, and is not refused
    except BaseException:
        made.close()
        raise
    return made


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url_of(settings: Settings, made: socket.socket) -> str:
    """Where people reach it."""
    host, port = made.getsockname()[:2]
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
