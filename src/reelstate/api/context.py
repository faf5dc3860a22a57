"""The objects that every route needs, created once per application."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from reelstate.api.rate import Buckets
from reelstate.config import Settings
from reelstate.engine import Engine
from reelstate.services.keys import Keys

Check = Callable[[], Awaitable[None]]
"""Raises when something that requests need is unavailable."""


@dataclass(frozen=True, slots=True)
class Context:
    engine: Engine
    settings: Settings
    keys: Keys
    per_key: Buckets
    per_address: Buckets
    checks: dict[str, Check] = field(default_factory=dict)
    """The checks of `/readyz`, by name."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server stops: endless responses end then."""


def context_of(connection: HTTPConnection) -> Context:
    context: Context = connection.app.state.context
    return context


async def _context(connection: HTTPConnection) -> Context:
    """Async, because FastAPI runs a plain function in a thread for each request."""
    return context_of(connection)


async def _engine(connection: HTTPConnection) -> Engine:
    return context_of(connection).engine


InContext = Annotated[Context, Depends(_context)]
OnEngine = Annotated[Engine, Depends(_engine)]
