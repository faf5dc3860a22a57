"""The headers of tracks, read from the storage: small files, and no others are read into memory."""

from __future__ import annotations

from typing import Final

from reelstate.artifacts.storage import Storage
from reelstate.core.errors import InvalidRequest, StorageMissing
from reelstate.media.packaging.package import StreamContents, wanted_headers

MAX_HEADER: Final = 64 * 1024
"""Bytes of what a decoder needs before the first segment: an encoder writes about a thousand."""


async def read_headers(storage: Storage, film: StreamContents) -> dict[str, bytes]:
    """The headers of all tracks of a film, by key."""
    return {key: await read_header(storage, key) for key in wanted_headers(film)}


async def read_header(storage: Storage, key: str) -> bytes:
    """One header; a file that is too large for one is refused before it is read."""
    size = await storage.size(key)
    if size is None:
        raise StorageMissing(f"{key} is not in the storage", hint="retry the stage that makes it")
    if size > MAX_HEADER:
        raise InvalidRequest(key, f"has {size:,} bytes, and is no header of a track", hint=f"at most {MAX_HEADER:,}")
    return await storage.get_bytes(key)
