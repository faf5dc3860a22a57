"""Listings to their end: page after page, until there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from reelstate.core.model import Page

T = TypeVar("T")
Read = Callable[[str | None], Awaitable[Page[T]]]


async def every(read: Read[T]) -> AsyncIterator[T]:
    """All items of a listing; `read` gives the page after a cursor."""
    after: str | None = None
    while True:
        page = await read(after)
        for item in page.items:
            yield item
        if page.after is None:
            return
        after = page.after
