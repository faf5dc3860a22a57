"""Requests whose answers are parsed into records; the other modules of this package are made of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

from reelstate.client.records import Unreadable, page_of
from reelstate.client.transport import Query, Transport
from reelstate.core.errors import NotFound
from reelstate.core.model import Page

T = TypeVar("T")
API: Final = "/api/v1"
LARGEST_ID: Final = 2**53 - 1
"""The largest id that the API accepts; no larger one is ever given out."""
LARGEST_PAGE: Final = 500


class Requests:
    """Sends requests under `/api/v1` and parses their answers."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def get(self, path: str, parse: Callable[[Any], T], /, **query: Any) -> T:
        return await self._parsed(path, parse, self.transport.get(API + path, **query))

    async def post(
        self, path: str, parse: Callable[[Any], T], body: Any = None, *, headers: Mapping[str, str] | None = None
    ) -> T:
        return await self._parsed(path, parse, self.transport.post(API + path, body, headers=headers))

    async def patch(self, path: str, parse: Callable[[Any], T], body: Any) -> T:
        return await self._parsed(path, parse, self.transport.send("PATCH", API + path, body=body))

    async def put(self, path: str, parse: Callable[[Any], T], body: Any) -> T:
        return await self._parsed(path, parse, self.transport.send("PUT", API + path, body=body))

    async def remove(self, path: str, parse: Callable[[Any], T], query: Query) -> T:
        """Delete something, and return what the answer says of it."""
        return await self._parsed(path, parse, self.transport.send("DELETE", API + path, query=query))

    async def delete(self, path: str, query: Query | None = None) -> None:
        await self.transport.send("DELETE", API + path, query=query)

    async def pages(self, path: str, parse: Callable[[Any], T], limit: int, after: str | None, **query: Any) -> Page[T]:
        """Return a page of up to `limit` items, in as many requests as that takes."""
        items, cursor = list[T](), after
        for _ in range(-(-limit // LARGEST_PAGE)):
            size = min(LARGEST_PAGE, limit - len(items))

            def parse_page(document: Any, size: int = size) -> Page[T]:
                return page_of(document, parse, size)

            page = await self.get(path, parse_page, limit=size, after=cursor, **query)
            items, cursor = [*items, *page.items], page.after
            if cursor is None:
                break
        return Page(items, cursor)

    async def _parsed(self, path: str, parse: Callable[[Any], T], answer: Awaitable[Any]) -> T:
        try:
            return parse(await answer)
        except Unreadable as error:
            raise await self.transport.not_understood(
                f"sent an answer to {API}{path} that can't be read: {error}"
            ) from None


def segment(name: str, entity: str) -> str:
    """Return a name as one segment of a path. Raises `NotFound` for one that can't be."""
    if not name or "/" in name or name in {".", ".."}:
        raise NotFound(entity, repr(name))
    return quote(name, safe="")


def known_id(number: int, entity: str) -> int:
    """Return an id. Raises `NotFound` for one that the API does not accept."""
    if not 0 <= number <= LARGEST_ID:
        raise NotFound(entity, number)
    return number


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None, as a body."""
    return {name: value for name, value in fields.items() if value is not None}
