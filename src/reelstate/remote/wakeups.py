"""The bells as a remote worker hears them: the server answers a question as soon as one rings."""

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

WAIT: Final = 25.0
"""How long the server keeps a question: proxies on the way often give up after 30 or 60 seconds."""
SLACK: Final = 15.0
PAUSE: Final = 1.0


class HttpDispatch(HintlessDispatch):
    """Hears what rings at the server. Nothing is rung from here: the server does that for what it is told."""

    def __init__(self, server: ServerClient, state: LinkState) -> None:
        self._server = server
        self._state = state

    async def open(self) -> None:
        """A question is asked when somebody listens."""

    async def close(self) -> None:
        await self._server.close()

    def notify(self, bell: Wakeup) -> None:
        """The server has rung already."""

    def listen(self, bells: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:  # noqa: ARG002 - they are a worker's
        return HttpListener(self._server, self._state)


class HttpListener:
    """One question is always under way, whether anybody waits for its answer or not."""

    def __init__(self, server: ServerClient, state: LinkState) -> None:
        self._server = server
        self._state = state
        self._asking: asyncio.Task[frozenset[Wakeup]] | None = None
        self._is_news = LogThrottle()

    async def wait(self, seconds: float) -> frozenset[Wakeup]:
        if self._asking is None:
            self._asking = asyncio.create_task(self._asked())
        done, _ = await asyncio.wait([self._asking], timeout=seconds)
        if not done:
            return frozenset()
        rung, self._asking = self._asking.result(), None
        return rung

    def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    async def _asked(self) -> frozenset[Wakeup]:
        """The bells that rang; all of them where nobody can say."""
        try:
            answer = await self._server.get(
                "/wakeups", WakeupsAnswer, worker_id=self._state.worker_id, wait=WAIT, seconds=WAIT + SLACK
            )
        except KeyNotAccepted:
            await asyncio.sleep(PAUSE)
            return frozenset(WORKER_WAKEUPS)
        except ReelstateError as error:
            if self._is_news(str(error)):
                logger.warning("no bells are heard: %s", error)
            await asyncio.sleep(PAUSE)
            return frozenset(WORKER_WAKEUPS)
        return frozenset(answer.wakeups)
