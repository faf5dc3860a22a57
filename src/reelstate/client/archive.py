"""The archive over HTTP: its months, and their rows."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

from reelstate.client.records import Unreadable, items_of, object_of, parser_of
from reelstate.client.requests import API, Requests
from reelstate.core.month import Month
from reelstate.services.export import ListedMonth


class HttpArchive:
    """The archive of a deployment."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def months(self) -> list[ListedMonth]:
        return await self._requests.get("/archive", lambda found: items_of(found, parser_of(ListedMonth)))

    async def rows(self, month: str, table: str) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the rows of a table of a month while they arrive."""
        transport = self._requests.transport
        path = f"{API}/archive/{Month.parse(month)}"
        async with transport.open("GET", path, query={"table": table}) as response:
            async for line in transport.lines(response):
                try:
                    row = object_of(json.loads(line))
                except (Unreadable, ValueError, RecursionError):
                    raise await transport.not_understood(f"sent a row of {month} that can't be read") from None
                yield row
