"""Check which sources a client may use over HTTP. Workers check again what an address resolves to."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from reelstate.api.auth import Principal
from reelstate.config import Settings
from reelstate.connections.public_addresses import is_public
from reelstate.core.errors import InvalidRequest, ScopeMissing
from reelstate.core.model import Json
from reelstate.media import TRANSCODE
from reelstate.media.sources.address import (
    BucketAddress,
    LocalAddress,
    StoredAddress,
    WebAddress,
    input_rules,
    parse_address,
)
from reelstate.media.sources.errors import UnusableSource

PRIVATE_NAMES: Final = ("localhost", ".localhost", ".local", ".internal", ".home.arpa")
"""A host name and suffixes of host names that are never public."""


def require_spec(principal: Principal, settings: Settings, pipeline: str, spec: Json) -> None:
    """Raise ScopeMissing or InvalidRequest for a transcode spec whose source this client may not use."""
    if pipeline != TRANSCODE or not isinstance(spec, dict):
        return
    if isinstance(spec.get("source"), str):
        require_source(principal, settings, spec["source"])
    if spec.get("reuse_from") is not None and not principal.admin:
        raise ScopeMissing("only an admin may set `reuse_from`", hint="use POST /videos/{id}/retranscode")


def require_source(principal: Principal, settings: Settings, source: str) -> None:
    """Raise ScopeMissing or InvalidRequest for a source that this client may not use."""
    try:
        address = parse_address(source)
    except UnusableSource as error:
        raise InvalidRequest("source", error.message, hint=error.hint) from error
    match address:
        case LocalAddress():
            _require_path(principal, settings, address)
        case WebAddress():
            _require_web(settings, address)
        case BucketAddress():
            _require_bucket(principal, settings, address)
        case StoredAddress() if not principal.admin:
            # A client may know the sha256 of a video without having it.
            raise ScopeMissing("only an admin may name a stored source", hint="send `upload` instead of `source`")


def _require_path(principal: Principal, settings: Settings, address: LocalAddress) -> None:
    if not principal.admin:
        raise ScopeMissing("only an admin may name a path", hint="upload the file, or use a web address")
    roots = input_rules(settings).roots
    # Symbolic links are checked by the worker that opens the path.
    path = Path(address.path)
    if ".." in path.parts or not any(path.is_relative_to(root) for root in roots):
        raise InvalidRequest(
            "source",
            f"{address} is outside the folders that sources are read from",
            hint="set REEL_INPUT_ROOTS; without it no path is accepted over HTTP",
        )


def _require_web(settings: Settings, address: WebAddress) -> None:
    """Refuse private names and numeric addresses; the worker that downloads resolves other names."""
    parts = urlsplit(address.url)
    host = (parts.hostname or "").rstrip(".").lower()
    allowed = input_rules(settings).hosts
    if {host, f"{host}:{parts.port}"} & allowed:
        return
    private = host == PRIVATE_NAMES[0] or host.endswith(PRIVATE_NAMES[1:])
    if private or any(not is_public(address) for address in _numeric_addresses(host)):
        raise InvalidRequest(
            "source", f"{host} is not a public address", hint="add the host to REEL_INPUT_HOSTS to allow it"
        )


def _numeric_addresses(host: str) -> list[str]:
    """Return the addresses of a host that is numeric in any notation; empty for a name."""
    try:
        return [str(ipaddress.ip_address(host.partition("%")[0]))]
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]) for *_, address in found]


def _require_bucket(principal: Principal, settings: Settings, address: BucketAddress) -> None:
    """Refuse a bucket that is not allowed for users: a worker reads buckets with its own permissions."""
    allowed = [prefix.strip().rstrip("/") for prefix in settings.input_buckets.split(",") if prefix.strip()]
    if principal.admin or any(str(address).startswith(f"{prefix}/") for prefix in allowed):
        return
    raise ScopeMissing(
        f"bucket {address.bucket} is not allowed for users",
        hint="add it to REEL_INPUT_BUCKETS, or upload the file",
    )
