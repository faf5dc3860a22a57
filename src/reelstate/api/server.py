"""Runs uvicorn inside the event loop of a process."""

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
from dataclasses import dataclass
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
MAX_STUCK_CHECKS: Final = 4
"""Checks in a row without bytes taken by the client before it is disconnected; one, when the response is complete."""

MAX_HEAD: Final = 32 * 1024
"""Bytes of a request head, which is held before any key is checked."""

PEER: Final = "peer"
"""Key in the request state: the address of the other end of the connection, whatever a proxy's headers say."""
ABORT: Final = "abort"
"""Key in the request state: a function that aborts the connection."""


@dataclass(frozen=True, slots=True)
class ConnectionTimings:
    """When connections are closed, in seconds."""

    check: float = 15.0
    """Between two checks of a connection. One that is idle at two checks in a row is closed."""
    head: float = 10.0
    """Within which a new connection must send its first request head."""


class TimedConfig(uvicorn.Config):
    """The configuration of uvicorn, and the timings of connections."""

    timings = ConnectionTimings()


class TimedProtocol(H11Protocol):
    """Closes connections that send no request or take no response; uvicorn itself would wait forever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.app_state = {**self.app_state, ABORT: transport.abort, PEER: peer[0] if peer else ""}
        self._pauses = self._stuck = 0
        self._silent = self.loop.call_later(self._timings.head, self._close_silent)
        self._schedule_check()

    def connection_lost(self, exc: Exception | None) -> None:
        self._silent.cancel()
        super().connection_lost(exc)

    def _close_silent(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None:
            self.transport.abort()

    @property
    def _timings(self) -> ConnectionTimings:
        return self.config.timings if isinstance(self.config, TimedConfig) else ConnectionTimings()

    def pause_writing(self) -> None:
        self._pauses += 1
        super().pause_writing()

    @property
    def _unsent(self) -> tuple[int, int]:
        """Bytes that wait for the client, and pauses of writing so far: changes whenever the client takes bytes."""
        return self.transport.get_write_buffer_size(), self._pauses

    def _schedule_check(self) -> None:
        self.loop.call_later(self._timings.check, self._check, self.cycle, self._unsent)

    def _check(self, before: object, unsent: tuple[int, int]) -> None:
        waiting, closing = self._unsent[0], self.transport.is_closing()
        self._stuck = self._stuck + 1 if waiting and self._unsent == unsent else 0
        if self._stuck >= (1 if closing else MAX_STUCK_CHECKS):
            self.transport.abort()
        elif not closing and not waiting and self.cycle is before and _is_idle(self.cycle):
            self.transport.close()
        elif waiting or not closing:
            self._schedule_check()


def _is_idle(cycle: RequestResponseCycle | None) -> bool:
    return cycle is None or cycle.response_complete


class HttpServer(uvicorn.Server):
    """A uvicorn server that leaves signals to its process."""

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self._context: Context = app.state.context
        self._remotes: Remotes = app.state.remotes
        self._ready = asyncio.Event()
        tls: dict[str, Any] = {}
        if settings.tls_cert:
            tls = {"ssl_certfile": settings.tls_cert, "ssl_keyfile": settings.tls_key or None}
        super().__init__(
            TimedConfig(
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
        """Wait until the server accepts requests."""
        await self._ready.wait()

    def stop(self) -> None:
        """Accept no more requests, and let running ones finish within the grace."""
        self._context.stopping.set()
        self.should_exit = True


def listen(settings: Settings, *, insecure: bool = False, elsewhere: bool = False) -> LimitedSocket:
    """Open the listening socket. Refuses plain HTTP on an address that other machines can reach, unless `insecure`.

    With `elsewhere`, a free port is used when the configured one is taken.
    """
    host, port = settings.serve_host, settings.serve_port
    if not (is_loopback(host) or settings.tls_cert or insecure):
        raise InvalidRequest(
            "host",
            f"{host} is reachable from other machines, and without TLS keys can be read in transit",
            hint="name --tls-cert and --tls-key, serve on 127.0.0.1 behind a proxy, or use --insecure",
        )
    _require_certificate(settings)
    try:
        listener = _bind(host, port)
    except OSError as error:
        if not (error.errno == errno.EADDRINUSE and elsewhere):
            raise _bind_error(host, port, error) from None
        listener = _bind(host, 0)
    listener.admission = Admission.within(
        resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        total=settings.connections_per_server,
        per_address=settings.connections_per_address,
        proxies=settings.trusted_proxies,
    )
    return listener


def _bind_error(host: str, port: int, error: OSError) -> InvalidRequest:
    match error.errno:
        case errno.EADDRINUSE:
            message = f"{host}:{port} is taken by another program"
            return InvalidRequest("port", message, hint="choose another with --port or REEL_SERVE_PORT")
        case errno.EACCES:
            message, hint = (
                f"{port} is not allowed for this user",
                "choose one above 1023 with --port or REEL_SERVE_PORT",
            )
            return InvalidRequest("port", message, hint=hint)
    message = f"{host} is not an address of this machine: {error.strerror or error}"
    return InvalidRequest("host", message, hint="127.0.0.1 serves this machine, 0.0.0.0 every interface")


def _require_certificate(settings: Settings) -> None:
    """Refuse a certificate that cannot be used, before the server reports that it is up."""
    certificate, key = settings.tls_cert, settings.tls_key
    if key and not certificate:
        raise InvalidRequest(
            "tls_cert", "missing: there is a key but no certificate", hint="name both, --tls-cert and --tls-key"
        )
    if not certificate:
        return
    for field, path in (("tls_cert", certificate), ("tls_key", key)):
        try:
            Path(path or certificate).read_bytes()
        except OSError as error:
            message = f"{path or certificate} can't be read: {error.strerror}"
            raise InvalidRequest(field, message, hint="name a PEM file that this user may read") from None
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key or None, password="")
    except (ssl.SSLError, ValueError):
        message = f"{certificate} and {key or 'the key in it'} are not a certificate and its key"
        hint = "both are PEM files, without a password; one file may hold both"
        raise InvalidRequest("tls_cert", message, hint=hint) from None


def _bind(host: str, port: int) -> LimitedSocket:
    listener = LimitedSocket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it: the second half of an answer must not wait until the first is acknowledged.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)  # early connections wait in the backlog
    except BaseException:
        listener.close()
        raise
    return listener


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url_of(settings: Settings, listener: socket.socket) -> str:
    """Return the address of the server."""
    host, port = listener.getsockname()[:2]
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
