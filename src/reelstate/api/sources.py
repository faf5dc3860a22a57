"""Which sources may be named over HTTP, and by whom. Workers look again, at what an address leads to by then."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from reelstate.api.auth import Principal
from reelstate.config import Settings
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
from reelstate.media.sources.public_addresses import is_public

OURS: Final = ("localhost", ".localhost", ".local", ".internal", ".home.arpa")
"""Names, and ends of names, that are never public."""


def require_spec(principal: Principal, settings: Settings, pipeline: str, spec: Json) -> None:
    """Refuse a job of `transcode` that would have us read what its sender may not."""
    if pipeline != TRANSCODE or not isinstance(spec, dict):
        return
    if isinstance(spec.get("source"), str):
        require_source(principal, settings, spec["source"])
    if spec.get("reuse_from") is not None and not principal.admin:
        raise ScopeMissing("only an admin names a version to build on", hint="make it a version: …/retranscode")


def require_source(principal: Principal, settings: Settings, source: str) -> None:
    """Refuse an address that this caller may not have us read."""
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
            # Who knows the sha256 of a film need not have it.
            raise ScopeMissing("what was uploaded is named by its upload", hint="send `upload` instead of `source`")


def _require_path(principal: Principal, settings: Settings, address: LocalAddress) -> None:
    if not principal.admin:
        raise ScopeMissing("only an admin names a path", hint="upload the film, or name a web address")
    roots = input_rules(settings).roots
    # A path may lead elsewhere on the worker: it looks at what it has opened.
    plain = Path(address.path)
    if ".." in plain.parts or not any(plain.is_relative_to(root) for root in roots):
        raise InvalidRequest(
            "source",
            f"{address} is outside the folders that sources are read from",
            hint="name them with REEL_INPUT_ROOTS; without it no path is taken over HTTP",
        )


def _require_web(settings: Settings, address: WebAddress) -> None:
    """Names are resolved by the worker that fetches; what needs no resolving is refused at once."""
    parts = urlsplit(address.url)
    host = (parts.hostname or "").rstrip(".").lower()
    allowed = input_rules(settings).hosts
    if {host, f"{host}:{parts.port}"} & allowed:
        return
    ours = host == OURS[0] or host.endswith(OURS[1:])
    if ours or any(not is_public(found) for found in _numeric(host)):
        raise InvalidRequest(
            "source", f"{host} is not a public address", hint="add the host to REEL_INPUT_HOSTS to allow it"
        )


def _numeric(host: str) -> list[str]:
    """The address that a host is without being looked up, in any way that one can be written."""
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
    """A worker reads buckets with its own rights, which may reach further than its users'."""
    places = [word.strip().rstrip("/") for word in settings.input_buckets.split(",") if word.strip()]
    if principal.admin or any(str(address).startswith(f"{place}/") for place in places):
        return
    raise ScopeMissing(
        f"{address.bucket} is not open to users", hint="name it with REEL_INPUT_BUCKETS, or upload the film"
    )
