"""The composition root: an address becomes a store, a store becomes an engine. Alone in importing every layer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from reelstate.core.document import LIMITS, Limits
from reelstate.core.errors import InvalidRequest
from reelstate.core.pipeline import Graph
from reelstate.services.doctor import check_at_open
from reelstate.services.engine import Engine
from reelstate.stores.postgres.store import PostgresStore
from reelstate.stores.sqlite.store import SQLiteStore
from reelstate.stores.store import Clock, Store


def store_at(url: str, *, clock: Clock | None = None, **options: Any) -> Store:
    """The store behind an address: `sqlite:///jobs.db` or `postgresql://user@host/name`; options are its own."""
    scheme, separator, _ = url.partition("://")
    if separator and scheme in {"postgresql", "postgres"}:
        return PostgresStore(url, clock=clock, **options)
    if separator and scheme == "sqlite":
        return SQLiteStore(url, clock=clock, **options)
    raise InvalidRequest(
        "database_url",
        f"{scheme + separator!r} is no kind of store",
        hint="sqlite:///jobs.db or postgresql://user@host/name",
    )


@asynccontextmanager
async def open_engine(
    url: str,
    *,
    pipelines: Iterable[Graph] = (),
    migrate: bool = True,
    clock: Clock | None = None,
    limits: Limits = LIMITS,
    **options: Any,
) -> AsyncIterator[Engine]:
    """An engine on the store at this address, its schema brought up to date, its quick invariants checked.

    Options are the store's: `connections` and `patience` (seconds to wait for a database that went away) for
    PostgreSQL, `patience` and `synchronous` for SQLite.
    """
    store = store_at(url, clock=clock, **options)
    try:
        if migrate:
            await store.migrate()
        await store.open()
        engine = Engine(store, limits=limits)
        await check_at_open(store)
        await engine.declare(*pipelines)
        yield engine
    finally:
        await store.close()
