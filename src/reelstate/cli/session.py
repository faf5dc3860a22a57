"""Open an engine for a command from its options."""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import typer

from reelstate.app import open_engine
from reelstate.cli.application import load_pipelines
from reelstate.cli.servers import ChosenServer, choose_server, refuse_server
from reelstate.cli.verbs import EngineVerbs
from reelstate.config import Settings, from_environment
from reelstate.core.errors import InvalidRequest, ReelstateError, StoreUnavailable
from reelstate.core.machine import Actor
from reelstate.engine import Engine
from reelstate.stores.sqlite.address import database_path

T = TypeVar("T")
STORE_LOGGER = logging.getLogger("reelstate.store")
"""Logs that the database is unreachable; shown only if the command waits for it."""
INTERRUPTED = 130
READ_TIMEOUT = 3.0
"""Seconds that a command that only reads waits for an unreachable database."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a command; ctrl-C exits without a traceback."""
    try:
        return asyncio.run(main)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def call(database: str | None, verb: Callable[[EngineVerbs], Awaitable[T]], *, wait: bool = False) -> T:
    """Open the verbs of a deployment as `connect` does, and return the result of one."""

    async def main() -> T:
        async with connect(database, wait=wait) as engine:
            return await verb(engine)

    return run(main())


def settings_for(database: str | None = None, app: str | None = None) -> Settings:
    """Return the settings of the environment with these options."""
    return from_environment(os.environ, database_url=database, app=app)


@asynccontextmanager
async def connect(database: str | None, *, app: str | None = None, wait: bool = False) -> AsyncIterator[EngineVerbs]:
    """Open the verbs of a deployment: over the server that was chosen, or on an existing store.

    On a store the pipelines of `app` are declared, and with `wait` it waits for an unreachable database for
    REEL_DATABASE_TIMEOUT seconds. A server that is lost later is waited for as long.
    """
    server = choose_server(database)
    if server is None:
        async with _open_store(database, app=app, wait=wait) as engine:
            yield engine
    else:
        async with _open_server(server, app=app) as client:
            yield client


@asynccontextmanager
async def connect_store(database: str | None, *, wait: bool = False) -> AsyncIterator[Engine]:
    """Open an engine on an existing store, for commands that no server offers."""
    refuse_server(choose_server(database))
    async with _open_store(database, wait=wait) as engine:
        yield engine


@asynccontextmanager
async def _open_server(server: ChosenServer, *, app: str | None) -> AsyncIterator[EngineVerbs]:
    from reelstate.client.engine import connect_server  # noqa: PLC0415 - httpx and pydantic are slow to load
    from reelstate.client.transport import ServerAddress  # noqa: PLC0415 - same

    if app:
        raise InvalidRequest(
            "app", "can't be declared over a server", hint="leave --app out: a worker with its code declares it"
        )
    STORE_LOGGER.setLevel(logging.WARNING)
    address = ServerAddress(server.url, server.key, server.insecure)
    outage = settings_for().database_timeout
    try:
        async with connect_server(address, longest_outage=outage) as engine:
            yield engine
    except ReelstateError as error:
        if server.implied:
            error.add_note(f"{server}")
        raise


@asynccontextmanager
async def _open_store(database: str | None, *, app: str | None = None, wait: bool = False) -> AsyncIterator[Engine]:
    settings = settings_for(database, app)
    pipelines = load_pipelines(app) if app else []
    require_database(settings.database_url)
    if settings.dispatch == "redis":  # commands work while Redis is unreachable
        settings = replace(settings, dispatch="hybrid")
    timeout = settings.database_timeout if wait else min(READ_TIMEOUT, settings.database_timeout)
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # the store logs it
    STORE_LOGGER.setLevel(logging.WARNING if wait else logging.ERROR)
    async with open_engine(
        settings.database_url, pipelines=pipelines, settings=settings, migrate=False, timeout=timeout
    ) as engine:
        yield engine


def require_database(url: str) -> None:
    """Raise `StoreUnavailable` if the SQLite file does not exist: a command must not create an empty one."""
    if not url.startswith("sqlite:"):
        return
    path = database_path(url)
    if path is not None and path.parent.is_dir() and not path.exists():
        raise StoreUnavailable(
            f"there is no database at {path}",
            hint="create one with `reel up` or `reel migrate`, or choose another with --database, or --server",
        )


def operator() -> str:
    """Return the actor for the history: the user of the command line."""
    try:
        return f"{Actor.OPERATOR}:{getpass.getuser()}"
    except (KeyError, OSError):  # in a container the user may have no name
        return str(Actor.OPERATOR)
