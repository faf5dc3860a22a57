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
"""Of every task that streams have."""
MEDIA_TYPE: Final = "text/event-stream"
HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""Nobody on the way may keep it, or hold it back until there is more of it."""
LAST_WORD: Final = 1.0
"""Seconds that a stream which ends has for the client to take the end of it."""
AT_ONCE: Final = 4
"""Frames after which others have their turn, and it is seen whether the client is still there."""
COMMENT: Final = b":\n\n"
CAN_FAIL: Final = (dict, list, str)
"""Values of a row that may be what JSON has no word for."""
ALL_TOLD: Final = frozenset({MessageKind.REPLAY_COMPLETE, MessageKind.BOOKMARK})


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRequest:
    """What somebody wants to be told."""

    job_id: int | None = None
    user_id: str | None = None
    """Only what is of this user's jobs."""
    pipeline: str | None = None
    only: Sequence[str] | None = None
    statuses: Sequence[str] | None = None
    progress: bool | None = None
    after: str | None = None
    follow: bool = False
    """Whether to go on when the job has come to rest."""

    def wants(self, item: FeedItem, graph: Graph | None) -> bool:
        if self.statuses is not None and not (isinstance(item, Event) and item.target in self.statuses):
            return False
        return self.pipeline is None or (graph is not None and graph.name == self.pipeline)


class Stream(Response):
    """An answer that tells what happens."""

    def __init__(self, streams: Streams, principal: Principal, wish: StreamRequest) -> None:
        super().__init__(headers=HEADERS, media_type=MEDIA_TYPE)
        del self.headers["content-length"]
        self.key_id, self.account = principal.key_id, principal.account
        self._streams = streams
        self._wish = wish
        self._turn = asyncio.Lock()
        self._limit = asyncio.timeout(None)
        self._beating: asyncio.Task[None] | None = None
        self._sending_since: float | None = None
        self._spoke_at = 0.0
        self._told = self._reached = ""
        self._last: Change = NOTHING
        self._started = self._left = False
        self._refused: AccessRefused | None = None
        self._sent = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send, self._abort = send, scope.get("state", {}).get(ABORT)
        with self._streams.room(self):
            listening = asyncio.create_task(self._listen(receive), name=NAME)
            try:
                async with self._limit:
                    await self._tell_all(scope, receive)
            except TimeoutError:
                if not self._limit.expired():
                    raise
            except StoreError as error:
                if not self._started:
                    raise
                logger.info("a stream ends, and may go on later: %s", error)
            finally:
                for task in filter(None, (listening, self._beating)):
                    task.cancel()
            if self._refused is not None and not self._started and not self._left:
                raise self._refused
            await self._finish()

    def end(self, refused: AccessRefused | None = None) -> None:
        """Tell nothing more: the client may come again, unless it is refused."""
        self._refused = refused
        with contextlib.suppress(RuntimeError):  # it is at its end already
            self._limit.reschedule(0)

    def beat(self, now: float) -> None:
        """Say something if nothing was said for long, and give up a client that takes nothing."""
        if self._sending_since is not None:
            if now - self._sending_since > self._streams.timeout:
                self._cut()
        elif self._started and now - self._spoke_at >= self._streams.heartbeat:
            self._beating = asyncio.create_task(self._say(self._bookmark() or COMMENT), name=NAME)

    async def _listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._left = True
        self.end()

    async def _tell_all(self, scope: Scope, receive: Receive) -> None:
        """Nothing is sent before the first message is there: until then an error can have a status."""
        wish = self._wish
        resumed = wish.job_id is not None and wish.after is not None
        if wish.job_id is not None and resumed:
            self._last = await last_change(self._streams.engine.store, self._streams.engine.catalogue, wish.job_id)
        async with contextlib.aclosing(self._messages()) as messages:
            message = await anext(messages)
            if resumed and message.kind is MessageKind.REPLAY_COMPLETE and self._over(message):
                self._left = True
                await Response(status_code=204)(scope, receive, self._send)
                return
            await self._start()
            await self._tell(message)
            while not self._over(message):
                message = await anext(messages)
                await self._tell(message)
            if message.kind is not MessageKind.OVERFLOW:
                await self._say(self._bookmark())

    def _messages(self) -> AsyncGenerator[FeedMessage[FeedItem], None]:
        wish = self._wish
        return self._streams.engine.subscribe(
            wish.job_id,
            user_id=wish.user_id,
            after=wish.after,
            only=cast("Sequence[Entity] | None", wish.only),  # it is checked there
            progress=wish.progress,
            settle=wish.job_id is not None,
        )

    def _over(self, message: FeedMessage[FeedItem]) -> bool:
        """Whether nothing follows: the reader was too slow, or the job rests and everything was told."""
        if self._wish.job_id is None or self._wish.follow or message.kind not in ALL_TOLD:
            return message.kind is MessageKind.OVERFLOW
        return self._last[1] in INACTIVE_JOBS

    async def _start(self) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        self._started = True
        await self._say(f"retry: {round(self._streams.retry * 1000)}\n\n".encode())

    async def _tell(self, message: FeedMessage[FeedItem]) -> None:
        if isinstance(message.item, Event):
            self._last = max(self._last, change_of(message.item))
        if message.item is not None:
            await self._tell_of(message.item, message.cursor)
        elif message.kind is not MessageKind.BOOKMARK:
            await self._say(frame(message.kind, {"cursor": message.cursor}, message.cursor))
            self._told = message.cursor
        self._reached = message.cursor or self._reached

    async def _tell_of(self, item: FeedItem, cursor: str) -> None:
        is_needed = self._wish.pipeline or isinstance(item, TaskProgress)
        graph = await self._streams.graph(job_of(item)) if is_needed else None
        if self._wish.wants(item, graph):
            document = feed_document(item, cursor, tuple(graph.index) if graph else ())
            await self._say(frame(document["kind"], document, cursor))
            self._told = cursor or self._told

    def _bookmark(self) -> bytes:
        """How far the client is, if it does not know."""
        if self._reached == self._told:
            return b""
        self._told = self._reached
        return frame(MessageKind.BOOKMARK, {"cursor": self._reached}, self._reached)

    async def _say(self, text: bytes) -> None:
        if not text:
            return
        async with self._turn:
            loop = asyncio.get_running_loop()
            self._sending_since = loop.time()
            try:
                await self._send({"type": "http.response.body", "body": text, "more_body": True})
            finally:
                self._sending_since = None
            self._spoke_at = loop.time()
        self._sent += 1
        if self._sent % AT_ONCE == 0:
            await asyncio.sleep(0)

    async def _finish(self) -> None:
        """Also of a stream that has said nothing yet: an empty one has the client come again."""
        if self._left:
            return
        try:
            async with asyncio.timeout(LAST_WORD):
                if not self._started:
                    await self._start()
                self._started = False
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            self._cut()

    def _cut(self) -> None:
        self._left = True
        if self._abort is not None:
            self._abort()
        self.end()


def frame(kind: str, document: Document, cursor: str) -> bytes:
    """One server-sent event; a cursor is its id, and what has none leaves the client's as it is."""
    place = f"id: {cursor}\n" if cursor else ""
    try:
        data = to_json(document)
    except ValueError:  # one that can't be written must not end the stream, at each resume anew
        data = to_json(
            {name: readable(value) if isinstance(value, CAN_FAIL) else value for name, value in document.items()}
        )
    return b"%bevent: %b\ndata: %b\n\n" % (place.encode(), kind.encode(), data)


def job_of(item: FeedItem) -> int | None:
    """The engine's job that something is about."""
    if isinstance(item, TaskProgress):
        return item.key.job_id
    if isinstance(item, State):
        number = item.job_id.partition(".")[0]
        return int(number) if number.isdecimal() and number.isascii() else None
    return item.job_id
