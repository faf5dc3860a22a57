"""Limits the open connections of a server, per address and in total, below the limit of open files.

A connection counts from its accept, before TLS and the first byte of a request, until it is closed.
"""

from __future__ import annotations

import ipaddress
import logging
import resource
import socket
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

logger = logging.getLogger("reelstate.server")

MAX_OPEN_FILES: Final = 65_536
RESERVED_FILES: Final = 256
"""Open files that are left for the database, the storage, pipes and logs."""
REFUSED_AT_ONCE: Final = 64
"""Connections that are refused in a row before the event loop continues with other work."""
ANYONE: Final = "*"


def raise_open_files() -> int:
    """Raise the soft limit of open files as far as this process may, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MAX_OPEN_FILES if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError) as error:
        logger.warning("open files not raised soft=%d hard=%d error=%s", soft, hard, error)
        return soft
    return wanted


@dataclass(slots=True)
class Admission:
    """Counts the connections of one server."""

    total: int
    per_address: int
    proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies: their connections count only in the total."""
    open: Counter[str] = field(default_factory=Counter)
    """Open connections by address, or by /64 network for IPv6."""
    count: int = 0
    refused: int = 0

    @classmethod
    def within(cls, open_files: int, *, total: int, per_address: int, proxies: str = "") -> Admission:
        """Return the requested limits, lowered to what the limit of open files allows."""
        possible = max(2, open_files - RESERVED_FILES, open_files // 2)
        fitting = min(total, possible)
        names = tuple(filter(None, (word.strip() for word in proxies.split(","))))
        return cls(fitting, min(per_address, max(1, fitting // 2)), names)

    def admit(self, address: str) -> bool:
        """Count a connection and return True, or return False when a limit is reached."""
        origin = _origin(address)
        crowded = self.open[origin] >= self.per_address and not self.is_proxy(address)
        if crowded or self.count >= self.total:
            self._refuse(origin)
            return False
        self.open[origin] += 1
        self.count += 1
        return True

    def leave(self, address: str) -> None:
        origin = _origin(address)
        self.count -= 1
        self.open[origin] -= 1
        if not self.open[origin]:
            del self.open[origin]

    def _refuse(self, origin: str) -> None:
        """Log the first refusal and then every thousandth, so that a flood does not fill the log."""
        if self.refused % 1000 == 0:
            figures = self.open[origin], self.count, self.refused + 1
            logger.warning("connection refused address=%s open=%d total=%d refused=%d", origin, *figures)
        self.refused += 1

    def is_proxy(self, address: str) -> bool:
        """Return whether an address is that of a proxy."""
        return any(name in (ANYONE, address) or _contains(name, address) for name in self.proxies)


class LimitedSocket(socket.socket):
    """A listening socket that closes connections over the limits at once."""

    admission: Admission | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        for _ in range(REFUSED_AT_ONCE):
            made, address = super().accept()
            if self.admission is None:
                return made, address
            if self.admission.admit(address[0]):
                return _Accepted(made, self.admission, address[0]), address
            made.close()
        raise ConnectionAbortedError("too many connections")  # the event loop continues with other work


class _Accepted(socket.socket):
    """A connection that is counted until it is closed."""

    def __init__(self, made: socket.socket, admission: Admission, address: str) -> None:
        super().__init__(made.family, made.type, made.proto, fileno=made.detach())
        self._admission: Admission | None = admission
        self._address = address

    def close(self) -> None:
        if self._admission is not None:
            self._admission.leave(self._address)
            self._admission = None
        super().close()


def _origin(address: str) -> str:
    """Return what a connection is counted by: the address, or the /64 that one IPv6 client usually has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found.packed, 64), strict=False))


def _contains(network: str, address: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network)
    except ValueError:
        return False
