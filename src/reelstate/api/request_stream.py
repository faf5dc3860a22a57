"""Bodies of requests as they come, for what is too large to be held."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import Request
from starlette.requests import ClientDisconnect

from reelstate.api.context import context_of
from reelstate.core.errors import KeyRefused, UploadBroken


async def body_of(request: Request, key_id: str) -> AsyncIterator[bytes]:
    """The pieces of a body, while the key of its sender is in force: they may take hours to come.

    One that breaks off is an error, which nobody may be there to hear.
    """
    keys = context_of(request).keys
    try:
        async for piece in request.stream():
            if not await keys.in_force(key_id):
                raise KeyRefused("the key has ended meanwhile", hint="what came before counts; go on with another key")
            yield piece
    except ClientDisconnect:
        raise UploadBroken("the connection broke off", hint="ask how far it is (HEAD), and go on from there") from None
