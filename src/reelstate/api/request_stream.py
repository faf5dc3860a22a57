"""Stream request bodies that are too large for memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import Request
from starlette.requests import ClientDisconnect

from reelstate.api.context import context_of
from reelstate.core.errors import KeyRefused, UploadBroken


async def stream_body(request: Request, key_id: str) -> AsyncIterator[bytes]:
    """Yield the chunks of a body, which may take hours.

    Raise KeyRefused if the key expires or is revoked meanwhile, and UploadBroken if the connection is lost.
    """
    keys = context_of(request).keys
    try:
        async for chunk in request.stream():
            if not await keys.in_force(key_id):
                raise KeyRefused("the key expired or was revoked during the upload", hint="continue with another key")
            yield chunk
    except ClientDisconnect:
        raise UploadBroken(
            "the connection was lost", hint="get the offset with HEAD, and continue from there"
        ) from None
