"""A client of live streams: it parses the events and resumes at its last id."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from tests.api.api_server import Server

EVENT_STREAM: Final = {"Accept": "text/event-stream"}
RECORDED: Final = frozenset({"event", "state"})
"""The kinds that are stored, and sent once."""


@dataclass(frozen=True)
class StreamEvent:
    """One server-sent event."""

    kind: str
    data: Any
    id: str | None


@dataclass
class EventStream:
    """An open stream."""

    answer: httpx.Response
    last_id: str | None = None
    comments: int = 0
    retry: int | None = None
    _fields: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lines = self.answer.aiter_lines()

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        async for line in self._lines:
            received = self._take(line)
            if received is not None:
                yield received

    async def next(self) -> StreamEvent:
        """Return the next event."""
        async for line in self._lines:
            received = self._take(line)
            if received is not None:
                return received
        raise EOFError("the stream has ended")

    async def until(self, kind: str, **wanted: Any) -> list[StreamEvent]:
        """Return the events up to one of this kind with this data."""
        received = [await self.next()]
        while not (received[-1].kind == kind and received[-1].data.items() >= wanted.items()):
            received.append(await self.next())
        return received

    async def rest(self) -> list[StreamEvent]:
        """Return the events until the server ends the stream."""
        return [received async for received in self]

    def _take(self, line: str) -> StreamEvent | None:
        name, _, value = line.partition(": ")
        if line:
            self.comments += line.startswith(":")
            self._fields[name] = value
            return None
        fields, self._fields = self._fields, {}
        self.last_id = fields.get("id", self.last_id)
        self.retry = int(fields["retry"]) if "retry" in fields else self.retry
        return StreamEvent(fields["event"], json.loads(fields["data"]), fields.get("id")) if "data" in fields else None


@asynccontextmanager
async def event_stream(
    api: Server, role: str, path: str = "/api/v1/events", last_id: str | None = None
) -> AsyncIterator[EventStream]:
    """Open a stream as a role."""
    headers = {**EVENT_STREAM, **({} if last_id is None else {"Last-Event-ID": last_id})}
    async with (await api.client(role)).stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, (await answer.aread()).decode()
        yield EventStream(answer)
