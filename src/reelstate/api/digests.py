"""Digests of bodies and files, as RFC 9530 writes them."""

from __future__ import annotations

import base64
import re
from typing import Annotated, Final

from fastapi import Header

from reelstate.core.errors import InvalidRequest

_SHA256: Final = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):\s*(?=,|$)")
LONGEST: Final = 500
ContentDigest = Annotated[
    str | None,
    Header(max_length=LONGEST, description="`sha-256=:…:` of the body (RFC 9530): if other bytes come, none count."),
]
ReprDigest = Annotated[
    str | None,
    Header(max_length=LONGEST, description="`sha-256=:…:` of the whole film (RFC 9530), checked when all has come."),
]


def sha256_in(name: str, header: str | None) -> str | None:
    """The sha256 that a header names, in hexadecimal digits; None where there is no header."""
    if header is None:
        return None
    match = _SHA256.search(header)
    if match is None:
        raise InvalidRequest(name, "names no sha-256", hint="`sha-256=:` + base64 of the 32 bytes + `:`")
    return base64.b64decode(match[1]).hex()


def header_of(sha256: str) -> str:
    return f"sha-256=:{base64.b64encode(bytes.fromhex(sha256)).decode()}:"
