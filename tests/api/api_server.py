"""A real server on a free port, with a key for each role of the tests."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import httpx

from reelstate.api.app import create_app
from reelstate.api.context import Context
from reelstate.api.server import HttpServer, TimedConfig, listen, url_of
from reelstate.config import Settings
from reelstate.engine import Engine
from reelstate.services.keys import MadeKey, Scope
from reelstate.telemetry.metrics import Metrics
from tests.engines import engine_at

ROLES: Final[Mapping[str, tuple[str, tuple[Scope, ...]]]] = {
    "admin": ("", (Scope.ADMIN,)),
    "ada": ("ada", (Scope.READ, Scope.WRITE)),
    "reader": ("ada", (Scope.READ,)),
    "writer": ("ada", (Scope.WRITE,)),
    "bob": ("bob", (Scope.READ, Scope.WRITE)),
    "worker": ("", (Scope.WORKER,)),
    "metrics": ("", (Scope.METRICS,)),
}
"""The roles: the user and the scopes of the key of each."""
NOBODY: Final = "nobody"
"""Sends no key."""
SETTINGS: Final = Settings(
    serve_port=0, rate_per_key=1e6, rate_per_address=1e6, serve_grace=1.0, storage_url="/nonexistent/reelstate"
)
"""Rates that no test exceeds."""
PLAIN: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Has no certificates: reading them takes longer than most tests."""


@dataclass(frozen=True)
class Server:
    """A server, its engine, and clients for each role."""

    url: str
    engine: Engine
    context: Context
    server: HttpServer
    keys: dict[str, MadeKey]
    _clients: AsyncExitStack
    _made: dict[str, httpx.AsyncClient] = field(default_factory=dict)

    def set_timings(self, **seconds: float) -> None:
        """Change when connections are closed; it applies to new timers."""
        config = self.server.config
        assert isinstance(config, TimedConfig)
        config.timings = replace(config.timings, **seconds)

    async def client(self, role: str) -> httpx.AsyncClient:
        """Return the client of a role; it is closed with the server."""
        if role not in self._made:
            client = httpx.AsyncClient(
                base_url=self.url, headers=self.headers(role), verify=PLAIN, timeout=300, trust_env=False
            )
            self._made[role] = await self._clients.enter_async_context(client)
        return self._made[role]

    def headers(self, role: str) -> dict[str, str]:
        return {} if role == NOBODY else {"Authorization": f"Bearer {self.keys[role].text}"}

    async def ask(self, role: str, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request as a role."""
        return await (await self.client(role)).request(method, path, **options)

    async def submit(self, role: str = "ada", pipeline: str = "simple", **body: Any) -> int:
        """Submit a job as a role; return its id."""
        answer = await self.ask(role, "POST", "/api/v1/jobs", json={"pipeline": pipeline, **body})
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])


@asynccontextmanager
async def api_server(
    engine: Engine, database_url: str, counted: Metrics | None = None, /, **changes: Any
) -> AsyncIterator[Server]:
    """Serve an engine on the event loop of the test."""
    settings = replace(SETTINGS, database_url=database_url, **changes)
    app = create_app(engine, settings, counted)
    context: Context = app.state.context
    keys = {
        role: await context.keys.create(role, scopes=scopes, user_id=user, actor="operator:test")
        for role, (user, scopes) in ROLES.items()
    }
    server = HttpServer(app, settings)
    async with AsyncExitStack() as clients:
        made = listen(settings)
        clients.callback(made.close)
        running = asyncio.create_task(server.serve([made]))
        await server.ready()
        try:
            yield Server(url_of(settings, made), engine, context, server, keys, clients)
        finally:
            server.stop()
            await running


@contextmanager
def api_server_in_thread(database_url: str, **changes: Any) -> Iterator[Server]:
    """Serve a new engine in a thread, for tests without an event loop."""
    started = threading.Event()
    found: list[Server] = []
    failed: list[BaseException] = []
    ending: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def live() -> None:
        async with engine_at(database_url) as engine, api_server(engine, database_url, **changes) as made:
            end = asyncio.Event()
            ending.append((asyncio.get_running_loop(), end))
            found.append(made)
            started.set()
            await end.wait()

    def run() -> None:
        try:
            asyncio.run(live())
        except BaseException as error:  # noqa: BLE001 - raised in the thread of the test
            failed.append(error)
            started.set()

    thread = threading.Thread(target=run, name="server")
    thread.start()
    started.wait()
    try:
        if failed:
            raise failed[0]
        yield found[0]
    finally:
        for loop, end in ending:
            loop.call_soon_threadsafe(end.set)
        thread.join()
