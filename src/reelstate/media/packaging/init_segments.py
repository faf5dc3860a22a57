"""Reads the headers (initialization segments) of tracks from the storage; no larger file is read into memory."""

from __future__ import annotations

from reelstate.artifacts.storage import Storage
from reelstate.core.errors import InvalidRequest, StorageMissing
from reelstate.media.packaging.package import StreamContents
from reelstate.media.result_checks import MAX_HEADER


async def read_headers(storage: Storage, contents: StreamContents) -> dict[str, bytes]:
    """Return the headers of all tracks of a stream, by key."""
    return {key: await read_header(storage, key) for key in contents.header_keys()}


async def read_header(storage: Storage, key: str) -> bytes:
    """Return one header; a file that is too large to be one is refused before it is read."""
    size = await storage.size(key)
    if size is None:
        raise StorageMissing(f"{key} is not in the storage", hint="retry the stage that makes it")
    if size > MAX_HEADER:
        raise InvalidRequest(key, f"has {size:,} bytes, too many for a header", hint=f"at most {MAX_HEADER:,}")
    return await storage.get_bytes(key)
