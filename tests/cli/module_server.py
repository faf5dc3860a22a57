"""A server for all tests of a module, in a thread: each test has it serve an engine on a database of its own."""

from __future__ import annotations

import asyncio
import getpass
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from reelstate.api.app import create_app
from reelstate.api.context import Context
from reelstate.api.server import listen, url_of
from reelstate.services.keys import Scope as KeyScope
from tests.api.api_server import SETTINGS
from tests.engines import engine_at

T = TypeVar("T")


class ModuleServer:
    """A server on a free port of this machine."""

    def __init__(self) -> None:
        self._socket = listen(SETTINGS)
        self.url = url_of(SETTINGS, self._socket)
        self._app: ASGIApp | None = None
        self._loop = asyncio.new_event_loop()
        config = uvicorn.Config(
            self._answer, interface="asgi3", lifespan="off", log_config=None, access_log=False, ws="none"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="server")

    @contextmanager
    def running(self) -> Iterator[ModuleServer]:
        """Serve while the context is open."""
        self._thread.start()
        try:
            yield self
        finally:
            self._server.should_exit = True
            self._thread.join()
            self._socket.close()

    @contextmanager
    def serving(self, database_url: str, **settings: Any) -> Iterator[str]:
        """Serve an engine on a database while the context is open; yields an admin key."""
        stack = AsyncExitStack()
        try:
            yield self._call(self._serve(stack, database_url, settings))
        finally:
            self._call(stack.aclose())

    async def _serve(self, stack: AsyncExitStack, database_url: str, settings: dict[str, Any]) -> str:
        engine = await stack.enter_async_context(engine_at(database_url))
        app = create_app(engine, replace(SETTINGS, database_url=database_url, **settings))
        context: Context = app.state.context
        stack.callback(context.stopping.set)
        self._app = app
        made = await context.keys.create(getpass.getuser(), scopes=[KeyScope.ADMIN], actor="operator:test")
        return made.text

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._app is not None
        await self._app(scope, receive, send)

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._loop.run_until_complete(self._server.serve([self._socket]))
        self._loop.close()
