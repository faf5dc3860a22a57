"""A client of live streams: it parses what comes, and goes on from its last id."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from tests.api.api_server import Server

EVENT_STREAM: Final = {"Accept": "text/event-stream"}
TOLD: Final = frozenset({"event", "state"})
"""What is of the record, and told once."""


@dataclass(frozen=True)
class Heard:
    """One server-sent event."""

    kind: str
    data: Any
    id: str | None


@dataclass
class Following:
    """A stream that is open."""

    answer: httpx.Response
    last_id: str | None = None
    comments: int = 0
    retry: int | None = None
    _fields: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lines = self.answer.aiter_lines()

    async def __aiter__(self) -> AsyncIterator[Heard]:
        async for line in self._lines:
            heard = self._take(line)
            if heard is not None:
                yield heard

    async def next(self) -> Heard:
        """What comes next."""
        async for line in self._lines:
            heard = self._take(line)
            if heard is not None:
                return heard
        raise EOFError("the stream has ended")

    async def until(self, kind: str, **wanted: Any) -> list[Heard]:
        """All that comes up to one of a kind that says this."""
        heard = [await self.next()]
        while not (heard[-1].kind == kind and heard[-1].data.items() >= wanted.items()):
            heard.append(await self.next())
        return heard

    async def rest(self) -> list[Heard]:
        """All that comes until the server ends it."""
        return [heard async for heard in self]

    def _take(self, line: str) -> Heard | None:
        name, _, value = line.partition(": ")
        if line:
            self.comments += line.startswith(":")
            self._fields[name] = value
            return None
        fields, self._fields = self._fields, {}
        self.last_id = fields.get("id", self.last_id)
        self.retry = int(fields["retry"]) if "retry" in fields else self.retry
        return Heard(fields["event"], json.loads(fields["data"]), fields.get("id")) if "data" in fields else None


@asynccontextmanager
async def following(
    api: Server, role: str, path: str = "/api/v1/events", last_id: str | None = None
) -> AsyncIterator[Following]:
    """A stream as somebody gets it."""
    headers = {**EVENT_STREAM, **({} if last_id is None else {"Last-Event-ID": last_id})}
    async with (await api.client(role)).stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, (await answer.aread()).decode()
        yield Following(answer)
