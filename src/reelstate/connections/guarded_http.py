"""Send HTTP requests to URLs that users submit, without trust in them.

A host is resolved once, all its addresses are checked, and the connection goes to a checked address. So no host leads
into the private network, not even one whose DNS records change meanwhile. Redirects are not followed here.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Self

import httpx

from reelstate.connections.public_addresses import is_public

logger = logging.getLogger("reelstate.http")
Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]

HEADERS: Final = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "reelstate"}
# httpcore logs URLs at DEBUG, and these may be signed.
logging.getLogger("httpcore").setLevel(logging.INFO)


class HostUnresolved(Exception):
    """A host has no address; the argument is the host."""


class HostForbidden(Exception):
    """A host has an address that is not public; the argument is the host."""


class ConnectionFailed(Exception):
    """A request got no response; the message does not show the IP address that the host resolved to."""


class GuardedHttp:
    """Sends requests to public hosts, and to `hosts`, which may have private addresses: names, or name:port."""

    def __init__(
        self,
        hosts: frozenset[str],
        *,
        connect: float,
        idle: float,
        resolve: Resolve | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._hosts = hosts
        self._resolve = resolve or resolve_host
        self._transport = transport
        self._trust = trust
        self._transports: dict[str, httpx.AsyncHTTPTransport] = {}
        self._timeout = {"connect": connect, "read": idle, "write": idle, "pool": idle}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close_connections()

    @property
    def origins(self) -> int:
        """The number of origins with connections."""
        return len(self._transports)

    async def close_connections(self) -> None:
        """Close all connections; no request may be in progress."""
        while self._transports:
            _, transport = self._transports.popitem()
            await transport.aclose()

    async def send(
        self, method: str, target: httpx.URL, headers: Mapping[str, str], content: bytes | None = None
    ) -> httpx.Response:
        """Send a request and return the response, whose body is not read yet.

        Raises `HostUnresolved`, `HostForbidden` and `ConnectionFailed`.
        """
        address = await self._resolve_checked(target)
        host = target.raw_host.decode("ascii")
        request = httpx.Request(
            method,
            target.copy_with(host=address, username=None, password=None, fragment=None),
            headers={"Host": target.netloc.decode("ascii"), **HEADERS, **headers},
            content=content,
            extensions={"timeout": self._timeout, "sni_hostname": host},
        )
        try:
            return await self._transport_of(target).handle_async_request(request)
        except httpx.TransportError as error:
            message = str(error) or type(error).__name__
            raise ConnectionFailed(message.replace(address, target.host)) from None

    def _transport_of(self, target: httpx.URL) -> httpx.AsyncBaseTransport:
        """Return the connections of one host: hosts that share an IP address must not share connections."""
        if self._transport is not None:
            return self._transport
        origin = f"{target.scheme}://{target.netloc.decode('ascii')}"
        if origin not in self._transports:
            if self._trust is None and target.scheme == "https":
                self._trust = httpx.create_ssl_context()
            self._transports[origin] = httpx.AsyncHTTPTransport(verify=self._trust or False, trust_env=False)
        return self._transports[origin]

    async def _resolve_checked(self, target: httpx.URL) -> str:
        """Resolve a host and return one address; all its addresses must be allowed."""
        host, port = target.raw_host.decode("ascii"), target.port or (443 if target.scheme == "https" else 80)
        addresses = await self._resolve(host, port)
        if not {host.lower(), f"{host.lower()}:{port}"} & self._hosts:
            for address in addresses:
                _require_public(host, address)
        return addresses[0]


async def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Return the IP addresses of a host in order of preference."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        logger.info("host not resolved host=%s error=%s", host, error)
        raise HostUnresolved(host) from None
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def _require_public(host: str, address: str) -> None:
    """Refuse a private address. Only the log shows it: a client could map the private network with it."""
    if not is_public(address):
        logger.info("host refused host=%s address=%s reason=not-public", host, address)
        raise HostForbidden(host)
