"""One live stream: an answer of server-sent events without an end, or with that of a job.

```text
 engine.subscribe ──▶ Stream ──▶ send, waiting for the client ──▶ the client
                        ▲ beat: a bookmark or a comment · end: the key is over, the server stops · cut: nothing is taken
                      Streams (one timer for all)
```

While the client takes nothing the stream waits in `send`, and what happens meanwhile waits in the subscriber's buffer,
which is bounded: the stream then ends with `overflow`. Nothing is lost, because the client goes on from its last id.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from reelstate.api.auth import Principal
from reelstate.api.server import ABORT
from reelstate.core.document import readable
from reelstate.core.errors import AccessRefused, StoreError
from reelstate.core.machine import INACTIVE_JOBS
from reelstate.core.model import Entity, Event, TaskProgress
from reelstate.core.pipeline import Graph
from reelstate.core.state import State
from reelstate.documents import Document, feed_document
from reelstate.feed.subscriber import FeedMessage, MessageKind
from reelstate.services.feed import FeedItem
from reelstate.services.watch import NOTHING, Change, change_of, last_change

if TYPE_CHECKING:
    from reelstate.api.streams import Streams

logger = logging.getLogger("reelstate.stream")

NAME: Final = "stream"
"""The name of every asyncio task of a stream."""
MEDIA_TYPE: Final = "text/event-stream"
HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""Proxies must neither cache nor buffer a stream."""
END_TIMEOUT: Final = 1.0
"""Seconds that the client has to take the end of a stream."""
FRAMES_PER_TURN: Final = 4
"""Frames after which other tasks run, and a disconnect is noticed."""
COMMENT: Final = b":\n\n"
CAN_FAIL: Final = (dict, list, str)
"""Types of values that may not be serialisable."""
CAUGHT_UP: Final = frozenset({MessageKind.REPLAY_COMPLETE, MessageKind.BOOKMARK})


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRequest:
    """What a client wants to receive."""

    job_id: int | None = None
    user_id: str | None = None
    """Only events of this user's jobs."""
    pipeline: str | None = None
    only: Sequence[str] | None = None
    statuses: Sequence[str] | None = None
    progress: bool | None = None
    after: str | None = None
    follow: bool = False
    """Whether to continue when the job has become inactive."""
    bookmarks: bool = False
    """Whether to send a bookmark whenever every readable event was sent."""

    def wants(self, item: FeedItem, graph: Graph | None) -> bool:
        if self.statuses is not None and not (isinstance(item, Event) and item.target in self.statuses):
            return False
        return self.pipeline is None or (graph is not None and graph.name == self.pipeline)


class Stream(Response):
    """A response that streams events."""

    def __init__(self, streams: Streams, principal: Principal, requested: StreamRequest) -> None:
        super().__init__(headers=HEADERS, media_type=MEDIA_TYPE)
        del self.headers["content-length"]
        self.key_id, self.account = principal.key_id, principal.account
        self._streams = streams
        self._request = requested
        self._send_lock = asyncio.Lock()
        self._limit = asyncio.timeout(None)
        self._heartbeat: asyncio.Task[None] | None = None
        self._sending_since: float | None = None
        self._sent_at = 0.0
        self._acknowledged = self._reached = ""
        self._last: Change = NOTHING
        self._started = self._left = False
        self._refused: AccessRefused | None = None
        self._sent = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send, self._abort = send, scope.get("state", {}).get(ABORT)
        with self._streams.room(self):
            disconnect = asyncio.create_task(self._await_disconnect(receive), name=NAME)
            try:
                async with self._limit:
                    await self._send_all(scope, receive)
            except TimeoutError:
                if not self._limit.expired():
                    raise
            except StoreError as error:
                if not self._started:
                    raise
                logger.info("stream ended, the client may resume error=%s", error)
            finally:
                for task in filter(None, (disconnect, self._heartbeat)):
                    task.cancel()
            if self._refused is not None and not self._started and not self._left:
                raise self._refused
            await self._finish()

    def end(self, refused: AccessRefused | None = None) -> None:
        """End the stream; the client may reconnect, unless it is refused."""
        self._refused = refused
        with contextlib.suppress(RuntimeError):  # it has ended already
            self._limit.reschedule(0)

    def beat(self, now: float) -> None:
        """Send a heartbeat when the stream was quiet, and disconnect a client that takes nothing."""
        if self._sending_since is not None:
            if now - self._sending_since > self._streams.timeout:
                self._abort_connection()
        elif self._started and now - self._sent_at >= self._streams.heartbeat:
            self._heartbeat = asyncio.create_task(self._write(self._bookmark() or COMMENT), name=NAME)

    async def _await_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._left = True
        self.end()

    async def _send_all(self, scope: Scope, receive: Receive) -> None:
        """Send every message. The response starts with the first one, so that an earlier error gets its status."""
        requested = self._request
        resumed = requested.job_id is not None and requested.after is not None
        if requested.job_id is not None and resumed:
            self._last = await last_change(self._streams.engine.store, self._streams.engine.catalogue, requested.job_id)
        async with contextlib.aclosing(self._messages()) as messages:
            message = await anext(messages)
            if resumed and message.kind is MessageKind.REPLAY_COMPLETE and self._is_over(message):
                self._left = True
                await Response(status_code=204)(scope, receive, self._send)
                return
            await self._start()
            await self._send_message(message)
            while not self._is_over(message):
                message = await anext(messages)
                await self._send_message(message)
            if message.kind is not MessageKind.OVERFLOW:
                await self._write(self._bookmark())

    def _messages(self) -> AsyncGenerator[FeedMessage[FeedItem], None]:
        requested = self._request
        return self._streams.engine.subscribe(
            requested.job_id,
            user_id=requested.user_id,
            after=requested.after,
            only=cast("Sequence[Entity] | None", requested.only),  # checked there
            progress=requested.progress,
            settle=requested.job_id is not None or requested.bookmarks,
        )

    def _is_over(self, message: FeedMessage[FeedItem]) -> bool:
        """Return whether the stream ends: the reader was too slow, or the job is inactive and every event was sent."""
        if self._request.job_id is None or self._request.follow or message.kind not in CAUGHT_UP:
            return message.kind is MessageKind.OVERFLOW
        return self._last[1] in INACTIVE_JOBS

    async def _start(self) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        self._started = True
        await self._write(f"retry: {round(self._streams.retry * 1000)}\n\n".encode())

    async def _send_message(self, message: FeedMessage[FeedItem]) -> None:
        if isinstance(message.item, Event):
            self._last = max(self._last, change_of(message.item))
        if message.item is not None:
            await self._send_item(message.item, message.cursor)
        elif message.kind is not MessageKind.BOOKMARK or self._request.bookmarks:
            await self._write(frame(message.kind, {"cursor": message.cursor}, message.cursor))
            self._acknowledged = message.cursor
        self._reached = message.cursor or self._reached

    async def _send_item(self, item: FeedItem, cursor: str) -> None:
        is_needed = self._request.pipeline or isinstance(item, TaskProgress)
        graph = await self._streams.graph(job_of(item)) if is_needed else None
        if self._request.wants(item, graph):
            document = feed_document(item, cursor, tuple(graph.index) if graph else ())
            await self._write(frame(document["kind"], document, cursor))
            self._acknowledged = cursor or self._acknowledged

    def _bookmark(self) -> bytes:
        """Return a bookmark frame when the client's cursor is behind."""
        if self._reached == self._acknowledged:
            return b""
        self._acknowledged = self._reached
        return frame(MessageKind.BOOKMARK, {"cursor": self._reached}, self._reached)

    async def _write(self, text: bytes) -> None:
        if not text:
            return
        async with self._send_lock:
            loop = asyncio.get_running_loop()
            self._sending_since = loop.time()
            try:
                await self._send({"type": "http.response.body", "body": text, "more_body": True})
            finally:
                self._sending_since = None
            self._sent_at = loop.time()
        self._sent += 1
        if self._sent % FRAMES_PER_TURN == 0:
            await asyncio.sleep(0)

    async def _finish(self) -> None:
        """End the response. A stream without a message starts first, so that the client reconnects."""
        if self._left:
            return
        try:
            async with asyncio.timeout(END_TIMEOUT):
                if not self._started:
                    await self._start()
                self._started = False
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            self._abort_connection()

    def _abort_connection(self) -> None:
        self._left = True
        if self._abort is not None:
            self._abort()
        self.end()


def frame(kind: str, document: Document, cursor: str) -> bytes:
    """Return one server-sent event. The cursor is its id; without one the client keeps its cursor."""
    event_id = f"id: {cursor}\n" if cursor else ""
    try:
        data = to_json(document)
    except ValueError:  # one bad value must not end the stream at every resume
        data = to_json(
            {name: readable(value) if isinstance(value, CAN_FAIL) else value for name, value in document.items()}
        )
    return b"%bevent: %b\ndata: %b\n\n" % (event_id.encode(), kind.encode(), data)


def job_of(item: FeedItem) -> int | None:
    """Return the id of the job that an item belongs to."""
    if isinstance(item, TaskProgress):
        return item.key.job_id
    if isinstance(item, State):
        number = item.job_id.partition(".")[0]
        return int(number) if number.isdecimal() and number.isascii() else None
    return item.job_id
