"""The composition root: an address becomes a store, a store becomes an engine. Alone in importing every layer."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reelstate.config import DEFAULTS, Settings
from reelstate.core.document import DocumentLimits
from reelstate.core.errors import InvalidRequest, ReelstateError
from reelstate.core.pipeline import Graph
from reelstate.dispatch.dispatch import Dispatch
from reelstate.dispatch.poll import PollDispatch
from reelstate.dispatch.signal import SignalDispatch
from reelstate.engine import Engine
from reelstate.keeper import Duty, Keeper
from reelstate.library.extension import LibraryExtension
from reelstate.media import TRANSCODE
from reelstate.pipelines.declaration import Pipeline
from reelstate.runtime.cancellation import cancel_and_wait
from reelstate.services.doctor import check_at_open
from reelstate.services.keys import Keys
from reelstate.stores.sqlite.address import database_path, database_url
from reelstate.stores.sqlite.store import SQLiteStore
from reelstate.stores.store import Clock, Store
from reelstate.worker.link import Link
from reelstate.worker.loop import WorkerLoop
from reelstate.worker.process import LOADING_VARIABLE
from reelstate.worker.settings import worker_settings

if TYPE_CHECKING:
    from reelstate.remote.server import ServerClient

logger = logging.getLogger("reelstate")

REMOTE_POLL = 5.0
LOOK_FOR_REMOTE_WORKERS = 5.0
"""Seconds after which a worker looks again whether a remote one was registered."""
"""How often a remote worker looks though no bell rings: each look is a request to the server."""


def store_at(url: str, *, clock: Clock | None = None, **options: Any) -> Store:
    """The store behind an address: `sqlite:///jobs.db` or `postgresql://user@host/name`; options are its own.

    A plain path is that of a SQLite file.
    """
    url = database_url(url)
    scheme, separator, _ = url.partition("://")
    if separator and scheme in {"postgresql", "postgres"}:
        from reelstate.stores.postgres.store import PostgresStore  # noqa: PLC0415 - its driver is slow to load

        return PostgresStore(url, clock=clock, **options)
    if separator and scheme == "sqlite":
        return SQLiteStore(url, clock=clock, **options)
    raise InvalidRequest(
        "database_url",
        f"{scheme + separator!r} is no kind of store",
        hint="sqlite:///jobs.db or postgresql://user@host/name",
    )


def dispatch_at(url: str, kind: str = "database", settings: Settings = DEFAULTS) -> Dispatch:
    """The wake-ups that go with the store at an address; `poll` does without any between processes."""
    url = database_url(url)
    if kind == "poll":
        return PollDispatch()
    if kind in {"redis", "hybrid"}:
        return _redis_dispatch(kind, settings)
    if kind != "database":
        raise InvalidRequest("dispatch", f"{kind!r} is no kind of dispatch", hint="database, poll, redis or hybrid")
    if url.startswith("sqlite:"):
        return SignalDispatch(database_path(url))
    from reelstate.dispatch.notify import NotifyDispatch  # noqa: PLC0415 - its driver is slow to load

    return NotifyDispatch(url)


def _redis_dispatch(kind: str, settings: Settings) -> Dispatch:
    from reelstate.connections.redis import RedisSettings  # noqa: PLC0415 - same
    from reelstate.dispatch.redis import RedisDispatch, RedisUse  # noqa: PLC0415 - its driver is slow to load

    if not settings.redis_url:
        raise InvalidRequest(
            "redis_url", f"dispatch {kind} needs a Redis, and none is named", hint="set REEL_REDIS_URL=redis://…"
        )
    terms = RedisSettings(
        url=settings.redis_url,
        prefix=settings.redis_prefix,
        pool=settings.redis_pool,
        timeout=settings.redis_timeout,
        ca=settings.redis_ca,
        certificate=settings.redis_cert,
        key=settings.redis_key,
    )
    use = RedisUse(
        strict=kind == "redis",
        queue=settings.redis_queue,
        max_hints=settings.redis_mirror,
        look_interval=settings.redis_reconcile,
        skip_seconds=settings.poll,
    )
    return RedisDispatch(terms, use)


@asynccontextmanager
async def open_engine(
    url: str,
    *,
    pipelines: Iterable[Pipeline | Graph] = (),
    workers: int = 0,
    settings: Settings | None = None,
    migrate: bool | None = None,
    clock: Clock | None = None,
    dispatch: str | None = None,
    limits: DocumentLimits | None = None,
    **options: Any,
) -> AsyncIterator[Engine]:
    """An engine on the store at this address, its quick invariants checked.

    `migrate` brings the schema up to date first; left out, `REEL_MIGRATE` in the settings decides: SQLite is migrated,
    PostgreSQL is left to `reel migrate`. A schema of a newer release is used as it is, if that release allows it.

    With `workers` it also runs tasks, so many at once, and the keeper; on leaving they finish within the grace.
    Options are the store's: `connections` and `patience` (seconds to wait for a database that went away) for
    PostgreSQL, `patience` and `synchronous` for SQLite.
    """
    if LOADING_VARIABLE in os.environ:
        raise InvalidRequest(
            "__main__",
            "the file of a process=True handler opens a store as soon as it is loaded, and so in every such process",
            hint='put what your program does under `if __name__ == "__main__":`',
        )
    url = database_url(url)
    declared = list(pipelines)
    chosen = settings or Settings(database_url=url)
    store = store_at(url, clock=clock, **{**_store_options(url, settings), **options})
    bells = dispatch_at(url, dispatch or chosen.dispatch, chosen)
    engine = Engine(store, dispatch=bells, limits=limits or chosen.limits, extension=LibraryExtension())
    try:
        if _migrates(url, chosen) if migrate is None else migrate:
            await store.migrate()
        await store.open()
        await bells.open()
        await check_at_open(store)
        await engine.declare(*declared)
        if workers:
            handled = [each for each in declared if isinstance(each, Pipeline)]
            terms = replace(chosen, database_url=url, worker_concurrency=workers)
            async with _at_work(engine, handled, terms):
                yield engine
        else:
            yield engine
    finally:
        try:
            await engine.close()
            await bells.close()
        finally:
            await store.close()


def _migrates(url: str, settings: Settings) -> bool:
    """Whether opening a store may change its schema: by default only where one process owns it."""
    return settings.migrate == "auto" or (settings.migrate == "default" and url.startswith("sqlite:"))


def built_in(settings: Settings) -> list[Pipeline]:
    """The pipelines that every worker has; those of a remote worker have their files from its server."""
    from reelstate.media.pipeline import transcode_pipeline  # noqa: PLC0415 - a program without films needs none of it
    from reelstate.media.tools import MediaTools  # noqa: PLC0415 - same

    if not settings.server_url:
        return [transcode_pipeline(MediaTools.from_settings(settings))]
    from reelstate.remote.files import HttpFiles, HttpSource  # noqa: PLC0415 - httpx is slow to load

    files = HttpFiles(settings.server_url)
    return [transcode_pipeline(MediaTools.from_settings(settings, storage=files, served=HttpSource(files)))]


def _server(settings: Settings) -> ServerClient:
    """The server that a remote worker works for."""
    from reelstate.remote.server import ServerClient  # noqa: PLC0415 - httpx is slow to load

    return ServerClient(settings.server_url, _server_key(settings), timeout=settings.database_timeout)


def _server_key(settings: Settings) -> str:
    if settings.server_key or not settings.server_key_file:
        return settings.server_key
    try:
        return Path(settings.server_key_file).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(
            "server_key_file",
            f"it can't be read: {error}",
            hint="a file with the key that `reel workers register` gave",
        ) from error


def keeper_for(engine: Engine, settings: Settings, *, library: bool = True) -> Keeper:
    """Return the keeper of an engine, with the duties of the video library or without."""
    duties: list[Duty] = []
    if library:
        from reelstate.library.duties import library_duties  # noqa: PLC0415 - a program without videos needs none of it

        duties += library_duties(engine, settings)
    redis = getattr(engine.dispatch, "redis", None)
    if redis is None:
        return Keeper(engine, settings, duties)
    from reelstate.locks.redis import RedisLock  # noqa: PLC0415 - its driver is slow to load

    mirror = Duty("mirror", settings.redis_reconcile, engine.mirror)
    return Keeper(engine, settings, [*duties, mirror], lambda ttl: RedisLock(redis, "keeper", ttl=ttl))


def worker_for(engine: Engine, pipelines: Iterable[Pipeline], settings: Settings) -> WorkerLoop:
    """A worker on this engine; its heartbeat has a link of its own."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Link]:
        if isinstance(engine.store, SQLiteStore):
            yield Engine(engine.store, limits=engine.limits)  # its thread serves every loop, its dispatch only one
            return
        store = store_at(settings.database_url, timeout=settings.database_timeout, connections=1)
        try:
            await store.open()
            yield Engine(store, limits=engine.limits)
        finally:
            await store.close()

    return WorkerLoop(engine, connect, engine.dispatch, pipelines, worker_settings(settings), limits=engine.limits)


async def confine_tools(engine: Engine, pipelines: Iterable[Pipeline], settings: Settings) -> bool:
    """Require the sandbox for ffmpeg where remote workers are registered; gives whether there are any.

    What they return reaches the commands of other workers. It is checked, and the sandbox is the second wall.
    """
    if not await Keys(engine.store).has_workers():
        return False
    _require_sandbox(pipelines, settings)
    return True


async def keep_tools_confined(engine: Engine, pipelines: Iterable[Pipeline], settings: Settings) -> None:
    """The same, for as long as a worker runs: a remote worker may be registered at any time."""
    while True:
        with suppress(ReelstateError):  # a store that is unreachable is told by others
            if await confine_tools(engine, pipelines, settings):
                return
        await asyncio.sleep(LOOK_FOR_REMOTE_WORKERS)


def _require_sandbox(pipelines: Iterable[Pipeline], settings: Settings) -> None:
    from reelstate.media.pipeline import require_sandbox  # noqa: PLC0415 - a program without films needs none of it

    if settings.sandbox == "off":
        logger.warning("remote workers are registered, and REEL_SANDBOX=off lets ffmpeg run without a sandbox")
    for pipeline in pipelines:
        require_sandbox(pipeline)


@asynccontextmanager
async def remote_worker(pipelines: Iterable[Pipeline], settings: Settings) -> AsyncIterator[WorkerLoop]:
    """A worker that has neither a database nor a folder of the house, only the address of a server and a key."""
    from reelstate.remote.link import HttpLink, LinkState, heartbeat_connector  # noqa: PLC0415 - same
    from reelstate.remote.wakeups import HttpDispatch  # noqa: PLC0415 - httpx is slow to load

    _require_sandbox(pipelines, settings)
    server, state = _server(settings), LinkState()
    connect = heartbeat_connector(lambda: _server(settings), state)
    terms = worker_settings(settings)
    if settings.poll == DEFAULTS.poll:
        terms = replace(terms, poll=REMOTE_POLL)
    bells = HttpDispatch(server, state)
    try:
        yield WorkerLoop(
            HttpLink(server, state), connect, bells, pipelines, terms, limits=settings.limits,
            known_as=lambda: state.name or terms.name,
        )  # fmt: skip
    finally:
        await bells.close()


@asynccontextmanager
async def _at_work(engine: Engine, pipelines: list[Pipeline], settings: Settings) -> AsyncIterator[None]:
    """A worker and a keeper beside whatever else this process does."""
    await confine_tools(engine, pipelines, settings)
    worker = worker_for(engine, pipelines, settings)
    running = asyncio.create_task(worker.run())
    running.add_done_callback(_tell_of_end)
    library = any(pipeline.name == TRANSCODE for pipeline in pipelines)
    beside = [keeper_for(engine, settings, library=library).run(), keep_tools_confined(engine, pipelines, settings)]
    tasks = [asyncio.create_task(each) for each in beside]
    try:
        yield
    finally:
        try:
            await _stopped(worker, running)
        finally:
            await cancel_and_wait(*tasks)


async def _stopped(worker: WorkerLoop, running: asyncio.Task[None]) -> None:
    """Let a worker finish; whoever is cancelled while waiting for that does not wait for the grace any more."""
    worker.stop()
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        worker.stop()
        await running
        raise


def _tell_of_end(running: asyncio.Task[None]) -> None:
    """A worker beside other work that ends by itself is told at once; it is raised where the engine is closed."""
    if not running.cancelled() and (error := running.exception()):
        logger.error("the worker has ended and runs nothing more: %s", error)


def _store_options(url: str, settings: Settings | None) -> dict[str, Any]:
    if settings is None:
        return {}
    options: dict[str, Any] = {"timeout": settings.database_timeout}
    return options if url.startswith("sqlite:") else {**options, "connections": settings.database_connections}
