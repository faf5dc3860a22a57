"""What every route works with, made once for an application."""

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
"""Raises when something that requests need is not there."""


@dataclass(frozen=True, slots=True)
class Context:
    engine: Engine
    settings: Settings
    keys: Keys
    per_key: Buckets
    per_address: Buckets
    checks: dict[str, Check] = field(default_factory=dict)
    """What `/readyz` looks at, by name; whoever adds a part of the house adds its check."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is told to stop: an answer without an end ends then."""


def context_of(connection: HTTPConnection) -> Context:
    context: Context = connection.app.state.context
    return context


async def _context(connection: HTTPConnection) -> Context:
    """Not a plain function: FastAPI would run one in a thread, for each request."""
    return context_of(connection)


async def _engine(connection: HTTPConnection) -> Engine:
    return context_of(connection).engine


InContext = Annotated[Context, Depends(_context)]
OnEngine = Annotated[Engine, Depends(_engine)]
