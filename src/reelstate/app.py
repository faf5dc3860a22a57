"""The composition root: an address becomes a store, a store becomes an engine. Alone in importing every layer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from reelstate.core.document import LIMITS, Limits
from reelstate.core.errors import InvalidRequest
from reelstate.core.pipeline import Graph
from reelstate.dispatch.dispatch import Dispatch
from reelstate.dispatch.notify import NotifyDispatch
from reelstate.dispatch.poll import PollDispatch
from reelstate.dispatch.signal import SignalDispatch
from reelstate.services.doctor import check_at_open
from reelstate.services.engine import Engine
from reelstate.stores.postgres.store import PostgresStore
from reelstate.stores.sqlite.address import database_path
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


def dispatch_at(url: str, kind: str = "database") -> Dispatch:
    """The wake-ups that go with the store at an address; `poll` does without any between processes."""
    if kind == "poll":
        return PollDispatch()
    if kind != "database":
        raise InvalidRequest("dispatch", f"{kind!r} is no kind of dispatch", hint="database or poll")
    return SignalDispatch(database_path(url)) if url.startswith("sqlite:") else NotifyDispatch(url)


@asynccontextmanager
async def open_engine(
    url: str,
    *,
    pipelines: Iterable[Graph] = (),
    migrate: bool = True,
    clock: Clock | None = None,
    dispatch: str = "database",
    limits: Limits = LIMITS,
    **options: Any,
) -> AsyncIterator[Engine]:
    """An engine on the store at this address, its schema brought up to date, its quick invariants checked.

    Options are the store's: `connections` and `patience` (seconds to wait for a database that went away) for
    PostgreSQL, `patience` and `synchronous` for SQLite.
    """
    store = store_at(url, clock=clock, **options)
    bells = dispatch_at(url, dispatch)
    try:
        if migrate:
            await store.migrate()
        await store.open()
        await bells.open()
        engine = Engine(store, dispatch=bells, limits=limits)
        await check_at_open(store)
        await engine.declare(*pipelines)
        yield engine
    finally:
        try:
            await bells.close()
        finally:
            await store.close()
