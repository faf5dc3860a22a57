"""The open event streams of a server: their limits, and one timer for all of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Annotated, Final

from fastapi import Depends
from starlette.requests import HTTPConnection

from reelstate.api.context import Context
from reelstate.api.stream import NAME, Stream
from reelstate.core.errors import KeyRefused, NotFound, StoreError, TooManyRequests
from reelstate.core.pipeline import Graph
from reelstate.engine import Engine

logger = logging.getLogger("reelstate.stream")

CHECK_INTERVAL: Final = 0.5
"""Seconds between checks of all streams. With the cache time of keys, a revoked key ends its streams within 5 s."""
RETRY_AFTER: Final = 5.0
"""Seconds after which a refused client may retry."""
MAX_CACHED_GRAPHS: Final = 10_000


class Streams:
    """The open streams of one application."""

    def __init__(self, context: Context) -> None:
        settings = context.settings
        self.engine: Engine = context.engine
        self.heartbeat = settings.stream_heartbeat
        self.retry = settings.stream_retry
        self.timeout = settings.stream_timeout
        self._context = context
        self._open: set[Stream] = set()
        self._per_account: Counter[str] = Counter()
        self._timers: list[asyncio.Task[None]] = []
        self._graphs: OrderedDict[int, Graph | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Stream]:
        return iter(tuple(self._open))

    @contextlib.contextmanager
    def room(self, stream: Stream) -> Iterator[None]:
        """Count a stream while it is open; raises `TooManyRequests` at a limit."""
        self._require_room(stream.account)
        self._open.add(stream)
        self._per_account[stream.account] += 1
        if not self._timers:
            self._timers = [asyncio.create_task(each, name=NAME) for each in (self._beat(), self._check_keys())]
        try:
            yield
        finally:
            self._open.discard(stream)
            self._per_account[stream.account] -= 1
            if not self._per_account[stream.account]:
                del self._per_account[stream.account]
            if not self._open:
                for task in self._timers:
                    task.cancel()
                self._timers = []

    async def graph(self, job_id: int | None) -> Graph | None:
        """Return the graph of a job, cached: it never changes."""
        if job_id is None:
            return None
        if job_id not in self._graphs:
            try:
                self._graphs[job_id] = await self.engine.graph(job_id)
            except NotFound:
                return None
            if len(self._graphs) > MAX_CACHED_GRAPHS:
                self._graphs.popitem(last=False)
        return self._graphs[job_id]

    def _require_room(self, account: str) -> None:
        settings = self._context.settings
        if self._per_account[account] >= settings.streams_per_key:
            raise TooManyRequests(
                f"this key has {settings.streams_per_key} open streams, the limit", retry_after=RETRY_AFTER
            )
        if len(self._open) >= settings.streams_per_server:
            raise TooManyRequests("the server has reached its limit of open streams", retry_after=RETRY_AFTER)

    async def _beat(self) -> None:
        """Send heartbeats at intervals, and end all streams when the server stops."""
        loop = asyncio.get_running_loop()
        while not self._context.stopping.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(CHECK_INTERVAL, self.heartbeat)):
                    await self._context.stopping.wait()
            for stream in self:
                stream.beat(loop.time())
        while self._open:
            for stream in self:
                stream.end()
            await asyncio.sleep(CHECK_INTERVAL)

    async def _check_keys(self) -> None:
        """End the streams of revoked and expired keys."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL)
            await asyncio.gather(*(self._check_key(key_id) for key_id in {stream.key_id for stream in self}))

    async def _check_key(self, key_id: str) -> None:
        try:
            if await self._context.keys.in_force(key_id):
                return
        except StoreError as error:
            logger.info("key not checked key=%s error=%s", key_id, error)
            return
        for stream in self:
            if stream.key_id == key_id:
                stream.end(KeyRefused("the key is no longer valid", hint="ask an admin for another"))


async def streams_of(connection: HTTPConnection) -> Streams:
    streams: Streams = connection.app.state.streams
    return streams


InStreams = Annotated[Streams, Depends(streams_of)]
