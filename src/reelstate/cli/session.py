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
from reelstate.config import Settings, from_environment
from reelstate.core.errors import StoreUnavailable
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


def call(database: str | None, verb: Callable[[Engine], Awaitable[T]], *, wait: bool = False) -> T:
    """Open the engine of a database as `connect` does, and return the result of a verb."""

    async def main() -> T:
        async with connect(database, wait=wait) as engine:
            return await verb(engine)

    return run(main())


def settings_for(database: str | None = None, app: str | None = None) -> Settings:
    """Return the settings of the environment with these options."""
    return from_environment(os.environ, database_url=database, app=app)


@asynccontextmanager
async def connect(database: str | None, *, app: str | None = None, wait: bool = False) -> AsyncIterator[Engine]:
    """Open an engine on an existing store, with the pipelines of `app` declared.

    With `wait` it waits for an unreachable database for REEL_DATABASE_TIMEOUT seconds.
    """
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
            hint="create one with `reel up` or `reel migrate`, or choose another with --database",
        )


def operator() -> str:
    """Return the actor for the history: the user of the command line."""
    try:
        return f"{Actor.OPERATOR}:{getpass.getuser()}"
    except (KeyError, OSError):  # in a container the user may have no name
        return str(Actor.OPERATOR)
