"""Listings in pages: their size, the cursors that ask for the next one, and all of them to their end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Page

T = TypeVar("T")
Read = Callable[[str | None], Awaitable[Page[T]]]
LARGEST_PAGE = 10_000
PAST_EVERY_ID = 2**62
START = (0, 0)
"""The place before everything."""
CURSOR_PIECES = 3
MAX_XIDS, MAX_NUMBERS = 2**64, 2**63


def cursor_of(text: str) -> tuple[str, int, int]:
    """The epoch, the transaction and the number that a cursor of the feed is made of."""
    pieces = text.split(".")
    if len(pieces) == CURSOR_PIECES and all(piece.isdecimal() and piece.isascii() for piece in pieces[1:]):
        epoch, (xid, number) = pieces[0], map(int, pieces[1:])
        if epoch.isalnum() and xid < MAX_XIDS and number < MAX_NUMBERS:
            return epoch, xid, number
    raise InvalidRequest("after", f"{text[:50]!r} is not a cursor", hint="use the one that you were given last")


def cursor_number(text: str) -> int:
    """A cursor that is the id of a row."""
    if not text.isdecimal():
        raise InvalidRequest("after", f"{text!r} is not a cursor", hint="use the one that the last page gave")
    return int(text)


def page_size(limit: int) -> int:
    """The limit of a listing, if it is one."""
    if not 1 <= limit <= LARGEST_PAGE:
        raise InvalidRequest("limit", f"{limit} is not a page size", hint=f"from 1 to {LARGEST_PAGE}")
    return limit


def paged(items: list[T], limit: int, key: Callable[[T], str]) -> Page[T]:
    """Items as a page; a full one names the key of its last item, after which there may be more."""
    return Page(items, key(items[-1]) if len(items) == limit else None)


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
