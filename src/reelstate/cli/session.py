"""From a command's options to an engine: the settings in force, the store they name, who asks, and how it ends."""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
from collections.abc import AsyncIterator, Coroutine
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
WAITING = logging.getLogger("reelstate.store")
"""Who tells, again and again, that a database is away: of interest only where the wait is long."""
INTERRUPTED = 130
READ_TIMEOUT = 3.0
"""How long a command that only looks waits for a database that is away: somebody sits before it."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end; ctrl-C ends it quietly."""
    try:
        return asyncio.run(main)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def settings_for(database: str | None = None, app: str | None = None) -> Settings:
    return from_environment(os.environ, database_url=database, app=app)


@asynccontextmanager
async def connect(database: str | None, *, app: str | None = None, wait: bool = False) -> AsyncIterator[Engine]:
    """An engine on a store that is there already, with the user's pipelines declared.

    A patient command waits for a database that is away as long as the settings say.
    """
    settings = settings_for(database, app)
    pipelines = load_pipelines(app) if app else []
    require_database(settings.database_url)
    if settings.dispatch == "redis":  # a command may look, and submit, while Redis is away
        settings = replace(settings, dispatch="hybrid")
    timeout = settings.database_timeout if wait else min(READ_TIMEOUT, settings.database_timeout)
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # the store says itself when the database is away
    WAITING.setLevel(logging.WARNING if wait else logging.ERROR)
    async with open_engine(
        settings.database_url, pipelines=pipelines, settings=settings, migrate=False, timeout=timeout
    ) as engine:
        yield engine


def require_database(url: str) -> None:
    """Refuse an address under which there is no file yet: a command that looks must not make an empty database."""
    if not url.startswith("sqlite:"):
        return
    path = database_path(url)
    if path is not None and path.parent.is_dir() and not path.exists():
        raise StoreUnavailable(
            f"there is no database at {path}",
            hint="start one with `reel up` or `reel migrate`, or name another with --database",
        )


def operator() -> str:
    """Who is at the command line, as the record names them."""
    try:
        return f"{Actor.OPERATOR}:{getpass.getuser()}"
    except (KeyError, OSError):  # a container may run under a number that has no name
        return str(Actor.OPERATOR)
