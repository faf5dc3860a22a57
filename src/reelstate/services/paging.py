"""Pages of listings: their size and their cursors."""

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
"""The position before the first row."""
CURSOR_PARTS = 3
MAX_XIDS, MAX_NUMBERS = 2**64, 2**63


def cursor_of(text: str) -> tuple[str, int, int]:
    """Return the epoch, the transaction and the number of a cursor; raise `InvalidRequest` where it is malformed."""
    parts = text.split(".")
    if len(parts) == CURSOR_PARTS and all(part.isdecimal() and part.isascii() for part in parts[1:]):
        epoch, (xid, number) = parts[0], map(int, parts[1:])
        if epoch.isalnum() and xid < MAX_XIDS and number < MAX_NUMBERS:
            return epoch, xid, number
    raise InvalidRequest("after", f"{text[:50]!r} is not a cursor", hint="use the one that you received last")


def cursor_number(text: str) -> int:
    """Return the id in a cursor that is one."""
    if not text.isdecimal():
        raise InvalidRequest("after", f"{text!r} is not a cursor", hint="use the one of the last page")
    return int(text)


def page_size(limit: int) -> int:
    """Check the limit of a listing and return it."""
    if not 1 <= limit <= LARGEST_PAGE:
        raise InvalidRequest("limit", f"invalid page size {limit}", hint=f"from 1 to {LARGEST_PAGE}")
    return limit


def paged(items: list[T], limit: int, key: Callable[[T], str]) -> Page[T]:
    """Return items as a page. A full page has the key of its last item as cursor, since there may be more."""
    return Page(items, key(items[-1]) if len(items) == limit else None)


async def every(read: Read[T]) -> AsyncIterator[T]:
    """Yield all items of a listing; `read` returns the page after a cursor."""
    after: str | None = None
    while True:
        page = await read(after)
        for item in page.items:
            yield item
        if page.after is None:
            return
        after = page.after
