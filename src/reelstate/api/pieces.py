"""Bodies of requests as they come, for what is too large to be held."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import Request
from starlette.requests import ClientDisconnect

from reelstate.core.errors import UploadBroken


async def body_of(request: Request) -> AsyncIterator[bytes]:
    """The pieces of a body. One that breaks off is an error, which nobody may be there to hear."""
    try:
        async for piece in request.stream():
            yield piece
    except ClientDisconnect:
        raise UploadBroken("the connection broke off", hint="ask how far it is (HEAD), and go on from there") from None
