"""The addresses that webhooks and callbacks may have."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from reelstate.connections.public_addresses import is_public
from reelstate.core.document import plain_text
from reelstate.core.errors import InvalidRequest

MAX_URL: Final = 2048


@dataclass(frozen=True, slots=True)
class AddressRules:
    """Which hosts may be addressed. `hosts`, names or name:port, may use http:// and have private addresses."""

    hosts: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> AddressRules:
        """Return the rules of a setting: hosts separated by commas."""
        return cls(frozenset(host.strip().lower() for host in text.split(",") if host.strip()))

    def require(self, field: str, url: str) -> str:
        """Return a URL that may be addressed; raise `InvalidRequest` for others. Names are resolved when sending."""
        plain_text(field, url, MAX_URL)
        parts = _split(field, url)
        allowed = bool({parts.hostname, f"{parts.hostname}:{parts.port or _port(parts)}"} & self.hosts)
        if parts.scheme != "https" and not allowed:
            raise InvalidRequest(field, "is not an https:// URL", hint="http:// needs its host in REEL_WEBHOOK_ALLOW")
        if _is_address(parts.hostname or "") and not allowed and not is_public(parts.hostname or ""):
            raise InvalidRequest(
                field, f"{parts.hostname} is not a public address", hint="add it to REEL_WEBHOOK_ALLOW to allow it"
            )
        return url


NO_PRIVATE_HOSTS: Final = AddressRules()


def _split(field: str, url: str) -> SplitResult:
    """Parse a URL; raise `InvalidRequest` where it is malformed or names a user."""
    hint = "expected https://host/path"
    if any(character <= " " or character == "\x7f" for character in url):
        raise InvalidRequest(field, "contains white space or a control character", hint="percent-encode it")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
        (host or "").encode("idna")
    except ValueError:
        raise InvalidRequest(field, "is not a valid URL", hint=hint) from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidRequest(field, "is not an http(s) URL with a host", hint=hint)
    if "@" in parts.netloc or parts.fragment:
        raise InvalidRequest(
            field, "holds a user, a password or a fragment", hint="remove it; the receiver verifies the signature"
        )
    return parts


def lane_of(user_id: str, url: str) -> str:
    """Return the lane of a callback: its user and the host."""
    parts = urlsplit(url)
    return f"callback {user_id} {parts.scheme}://{parts.netloc.lower()}"


def shown_url(url: str) -> str:
    """Return a URL without its query, which may hold a secret."""
    start, question, _ = url.partition("?")
    return f"{start}?…" if question else start


def _port(parts: SplitResult) -> int:
    return 443 if parts.scheme == "https" else 80


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
