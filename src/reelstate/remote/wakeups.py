"""Wake-ups for a remote worker, by long polling: the server answers a request as soon as there is one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Final

from reelstate.connections.timeouts import LogThrottle
from reelstate.core.errors import ReelstateError
from reelstate.dispatch.dispatch import WORKER_WAKEUPS, HintlessDispatch, Listener, Wakeup
from reelstate.remote.link import LinkState
from reelstate.remote.server import KeyNotAccepted, ServerClient
from reelstate.remote.wire import WakeupsAnswer

logger = logging.getLogger("reelstate.worker")

LONG_POLL: Final = 25.0
"""Seconds that the server holds a request; proxies often time out after 30 or 60."""
TIMEOUT_MARGIN: Final = 15.0
RETRY_DELAY: Final = 1.0


class HttpDispatch(HintlessDispatch):
    """Listens to the wake-ups of the server. It sends none: the server notifies after each request."""

    def __init__(self, server: ServerClient, state: LinkState) -> None:
        self._server = server
        self._state = state

    async def open(self) -> None:
        """Do nothing: a listener sends the requests."""

    async def close(self) -> None:
        await self._server.close()

    def notify(self, wakeup: Wakeup) -> None:
        """Do nothing: the server has notified already."""

    def listen(self, wakeups: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:  # noqa: ARG002 - always a worker's
        return HttpListener(self._server, self._state)


class HttpListener:
    """Keeps one request in progress between calls of `wait`, so that no wake-up is missed."""

    def __init__(self, server: ServerClient, state: LinkState) -> None:
        self._server = server
        self._state = state
        self._request: asyncio.Task[frozenset[Wakeup]] | None = None
        self._should_log = LogThrottle()

    async def wait(self, seconds: float) -> frozenset[Wakeup]:
        if self._request is None:
            self._request = asyncio.create_task(self._poll())
        done, _ = await asyncio.wait([self._request], timeout=seconds)
        if not done:
            return frozenset()
        wakeups, self._request = self._request.result(), None
        return wakeups

    def close(self) -> None:
        if self._request is not None:
            self._request.cancel()

    async def _poll(self) -> frozenset[Wakeup]:
        """Return the next wake-ups; all of them if the server can't be asked."""
        try:
            answer = await self._server.get(
                "/wakeups",
                WakeupsAnswer,
                worker_id=self._state.worker_id,
                wait=LONG_POLL,
                seconds=LONG_POLL + TIMEOUT_MARGIN,
            )
        except KeyNotAccepted:
            await asyncio.sleep(RETRY_DELAY)
            return frozenset(WORKER_WAKEUPS)
        except ReelstateError as error:
            if self._should_log(str(error)):
                logger.warning("wake-up request failed error=%s", error)
            await asyncio.sleep(RETRY_DELAY)
            return frozenset(WORKER_WAKEUPS)
        return frozenset(answer.wakeups)
