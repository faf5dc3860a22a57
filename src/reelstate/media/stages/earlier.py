"""The earlier version whose rungs a job reuses."""

from __future__ import annotations

import asyncio

from reelstate.artifacts import keys
from reelstate.artifacts.storage import Storage
from reelstate.core.errors import StorageMissing
from reelstate.media.packaging.manifest import MANIFEST, Manifest, read_manifest
from reelstate.media.planning.request import TranscodeRequest


async def read_earlier(storage: Storage, request: TranscodeRequest) -> Manifest | None:
    """Return the manifest of the version that a request reuses; None if it reuses none, or it is not stored."""
    if request.reuse_from is None:
        return None
    try:
        data = await storage.get_bytes(f"{keys.version(request.reuse_from)}/{MANIFEST}")
    except StorageMissing:
        return None
    return await asyncio.to_thread(read_manifest, data)
