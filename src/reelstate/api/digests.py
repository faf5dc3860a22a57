"""Parse and format digest headers (RFC 9530)."""

from __future__ import annotations

import base64
import re
from typing import Annotated, Final

from fastapi import Header

from reelstate.core.errors import InvalidRequest

_SHA256: Final = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):\s*(?=,|$)")
MAX_HEADER_LENGTH: Final = 500
ContentDigest = Annotated[
    str | None,
    Header(
        max_length=MAX_HEADER_LENGTH,
        description="`sha-256=:…:` of the body (RFC 9530); a body that does not match is refused.",
    ),
]
ReprDigest = Annotated[
    str | None,
    Header(
        max_length=MAX_HEADER_LENGTH,
        description="`sha-256=:…:` of the whole file (RFC 9530), checked when it is complete.",
    ),
]


def sha256_in(name: str, header: str | None) -> str | None:
    """Return the sha256 of a header in hexadecimal; None without a header. Raise InvalidRequest if it has none."""
    if header is None:
        return None
    match = _SHA256.search(header)
    if match is None:
        raise InvalidRequest(name, "has no sha-256", hint="expected `sha-256=:` + base64 of the 32 bytes + `:`")
    return base64.b64decode(match[1]).hex()


def header_of(sha256: str) -> str:
    return f"sha-256=:{base64.b64encode(bytes.fromhex(sha256)).decode()}:"
