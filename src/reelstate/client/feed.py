"""The live feed of a server as the engine's: events and states in one order, without a gap or a repetition.

The id of each server-sent event is a cursor. A stream that breaks is opened again after the last one, so a restart of
the server or of a proxy costs time and nothing else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from reelstate.client.problems import NotUnderstood
from reelstate.client.records import Unreadable, event_of, record_of
from reelstate.client.transport import MAX_RESPONSE, SILENCE_TIMEOUT, Transport
from reelstate.connections.timeouts import RetryTimer
from reelstate.core.errors import TooManyRequests
from reelstate.core.state import State
from reelstate.feed.subscriber import FeedMessage, MessageKind
from reelstate.remote.server import ServerUnavailable
from reelstate.services.feed import FeedItem

EVENTS: Final = "/api/v1/events"
STREAM: Final = "text/event-stream"
RETRY: Final = 2.0
"""Seconds until a stream that ended is opened again, unless the server names others."""
MAX_RETRY: Final = 30.0
MAX_CURSOR: Final = 200
Message = FeedMessage[FeedItem]


@dataclass(slots=True)
class _Frame:
    """A server-sent event as far as it was read."""

    kind: str = ""
    cursor: str = ""
    data: bytes = b""


class Feed:
    """Subscriptions to the feed of one server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def follow(self, query: Mapping[str, Any], after: str | None) -> AsyncGenerator[Message, None]:
        """Yield messages after a cursor, without end; a lost stream is opened again within the timeout."""
        cursor, timer = after, RetryTimer(self._transport.longest_outage)
        while True:
            stream = _Stream(self._transport, query, cursor)
            try:
                async with aclosing(stream.messages()) as messages:
                    async for message in messages:
                        cursor = message.cursor or cursor
                        yield message
            except (ServerUnavailable, TooManyRequests) as error:
                if not stream.opened and not (self._transport.reached and await timer.wait(error, "stream lost")):
                    raise
            if stream.opened:
                await asyncio.sleep(stream.retry)
                timer = RetryTimer(self._transport.longest_outage)


class _Stream:
    """One open stream."""

    def __init__(self, transport: Transport, query: Mapping[str, Any], after: str | None) -> None:
        self._transport = transport
        self._query = query
        self._after = after
        self.retry = RETRY
        self.opened = False

    async def messages(self) -> AsyncGenerator[Message, None]:
        """Yield the messages of the stream until it ends."""
        headers = {"Accept": STREAM}
        query = {**self._query, "after": self._after}
        async with self._transport.open(
            "GET", EVENTS, query=query, headers=headers, silence=SILENCE_TIMEOUT
        ) as response:
            if not response.headers.get("content-type", "").startswith(STREAM):
                raise await self._transport.not_understood("did not answer with a stream of events")
            self.opened = True
            async for frame in self._frames(self._transport.lines(response)):
                try:
                    message = _message(frame)
                except (Unreadable, ValueError, RecursionError) as error:
                    raise await self._transport.not_understood(
                        f"sent an event that can't be read: {str(error)[:200]}"
                    ) from None
                if message is not None:
                    yield message

    async def _frames(self, lines: AsyncIterator[bytes]) -> AsyncIterator[_Frame]:
        frame = _Frame()
        async for line in lines:
            if not line:
                if frame.kind:
                    yield frame
                frame = _Frame()
                continue
            self._take(frame, *_field(line))

    def _take(self, frame: _Frame, name: str, value: bytes) -> None:
        match name:
            case "id":
                frame.cursor = value[:MAX_CURSOR].decode("ascii", "replace")
            case "event":
                frame.kind = value[:MAX_CURSOR].decode("ascii", "replace")
            case "data":
                frame.data += value
                if len(frame.data) > MAX_RESPONSE:
                    raise NotUnderstood(f"{self._transport.url} sent an event that is too large", hint="check its log")
            case "retry" if value.isdigit():
                self.retry = min(int(value[:9]) / 1000, MAX_RETRY)


def _field(line: bytes) -> tuple[str, bytes]:
    name, _, value = line.partition(b":")
    return name.decode("ascii", "replace"), value.removeprefix(b" ")


def _message(frame: _Frame) -> Message | None:
    """Return the message of a frame; None for one that this version does not know, or that ends a stream."""
    match frame.kind:
        case "event":
            return FeedMessage(MessageKind.ITEM, frame.cursor, event_of(json.loads(frame.data)))
        case "state":
            return FeedMessage(MessageKind.ITEM, frame.cursor, record_of(State, json.loads(frame.data)))
        case MessageKind.PROGRESS:
            return FeedMessage(MessageKind.PROGRESS, "")
        case MessageKind.OVERFLOW:
            return None
        case kind if kind in list(MessageKind):
            return FeedMessage(MessageKind(kind), frame.cursor)
    return None
