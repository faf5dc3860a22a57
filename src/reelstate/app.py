"""The composition root: builds store, dispatch, engine, worker and keeper from settings. It may import every layer."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reelstate.alerting import Alerting
from reelstate.config import DEFAULTS, Settings
from reelstate.connections.breaker import Circuit
from reelstate.core.document import DocumentLimits
from reelstate.core.errors import InvalidRequest, ReelstateError
from reelstate.core.pipeline import Graph
from reelstate.dispatch.dispatch import Dispatch
from reelstate.dispatch.poll import PollDispatch
from reelstate.dispatch.signal import SignalDispatch
from reelstate.engine import Engine
from reelstate.keeper import PRUNE_EVERY, Duty, Keeper
from reelstate.library.extension import LibraryExtension
from reelstate.media import TRANSCODE
from reelstate.pipelines.declaration import Pipeline
from reelstate.runtime.cancellation import cancel_and_wait
from reelstate.services.doctor import check_at_open
from reelstate.services.keys import Keys
from reelstate.services.webhooks.address import AddressRules
from reelstate.services.webhooks.event_types import event_types
from reelstate.stores.sqlite.address import database_path, database_url
from reelstate.stores.sqlite.store import SQLiteStore
from reelstate.stores.store import Clock, Store
from reelstate.telemetry.declarations import PREFIX
from reelstate.telemetry.exporter import exporting
from reelstate.telemetry.metrics import Metrics, Sample, counting
from reelstate.telemetry.tracing import exporting_traces
from reelstate.worker.link import Link
from reelstate.worker.loop import WorkerLoop
from reelstate.worker.process import LOADING_VARIABLE
from reelstate.worker.settings import worker_settings

if TYPE_CHECKING:
    from reelstate.remote.server import ServerClient
    from reelstate.sender import Sender

logger = logging.getLogger("reelstate")

DELIVER_EVERY = 1.0
"""Seconds between looks for due deliveries."""
REMOTE_POLL = 5.0
"""Seconds between the polls of an idle remote worker; each is a request to the server."""
BREAKER_STATES = (Circuit.CLOSED, Circuit.HALF_OPEN, Circuit.OPEN)
"""The states of the circuit breaker in the order of the numbers that stand for them in metrics."""
REMOTE_CHECK_INTERVAL = 5.0
"""Seconds between checks whether a remote worker was registered."""


def store_at(url: str, *, clock: Clock | None = None, **options: Any) -> Store:
    """Return the store at an address: `sqlite:///jobs.db`, a path, or `postgresql://user@host/name`.

    The options are those of the store. Raises `InvalidRequest`.
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
        f"unknown kind of store {scheme + separator!r}",
        hint="expected sqlite:///jobs.db or postgresql://user@host/name",
    )


def dispatch_at(url: str, kind: str = "database", settings: Settings = DEFAULTS) -> Dispatch:
    """Return the dispatch of a kind for the store at an address; `poll` sends no wake-ups between processes."""
    url = database_url(url)
    if kind == "poll":
        return PollDispatch()
    if kind in {"redis", "hybrid"}:
        return _redis_dispatch(kind, settings)
    if kind != "database":
        raise InvalidRequest("dispatch", f"invalid value {kind!r}", hint="expected database, poll, redis or hybrid")
    if url.startswith("sqlite:"):
        return SignalDispatch(database_path(url))
    from reelstate.dispatch.notify import NotifyDispatch  # noqa: PLC0415 - its driver is slow to load

    return NotifyDispatch(url)


def _redis_dispatch(kind: str, settings: Settings) -> Dispatch:
    from reelstate.connections.redis import RedisSettings  # noqa: PLC0415 - same
    from reelstate.dispatch.redis import RedisDispatch, RedisUse  # noqa: PLC0415 - its driver is slow to load

    if not settings.redis_url:
        raise InvalidRequest("redis_url", f"missing for dispatch {kind}", hint="set REEL_REDIS_URL=redis://…")
    connection = RedisSettings(
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
    return RedisDispatch(connection, use)


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
    """Open the store at an address, run the quick invariant checks and declare `pipelines`.

    `migrate` updates the schema first; by default `REEL_MIGRATE` in the settings decides: SQLite is migrated,
    PostgreSQL is left to `reel migrate`. The schema of a newer release is accepted if that release allows it.

    With `workers`, run that many tasks at once and a keeper; on exit running tasks may finish within the grace period.
    `clock` replaces the store's clock in tests. The options are those of the store: `timeout` (seconds to wait for an
    unreachable database), `connections` (PostgreSQL), `synchronous` (SQLite).
    """
    if LOADING_VARIABLE in os.environ:
        raise InvalidRequest(
            "__main__",
            "the module of a process=True handler opens a store when it is imported",
            hint='move the main program under `if __name__ == "__main__":`',
        )
    url = database_url(url)
    declared = list(pipelines)
    chosen = settings or Settings(database_url=url)
    store = store_at(url, clock=clock, **{**_store_options(url, settings), **options})
    wakeups = dispatch_at(url, dispatch or chosen.dispatch, chosen)
    engine = Engine(
        store,
        dispatch=wakeups,
        limits=limits or chosen.limits,
        extension=LibraryExtension(),
        callbacks=AddressRules.parse(chosen.webhook_allow),
    )
    try:
        if _migrates(url, chosen) if migrate is None else migrate:
            await store.migrate()
        await store.open()
        await wakeups.open()
        await check_at_open(store)
        await engine.declare(*declared)
        if workers:
            handled = [each for each in declared if isinstance(each, Pipeline)]
            worker_terms = replace(chosen, database_url=url, worker_concurrency=workers)
            async with _run_worker_and_keeper(engine, handled, worker_terms):
                yield engine
        else:
            yield engine
    finally:
        try:
            await engine.close()
            await wakeups.close()
        finally:
            await store.close()


def _migrates(url: str, settings: Settings) -> bool:
    """Whether opening a store migrates it: by default only SQLite, which one deployment owns."""
    return settings.migrate == "auto" or (settings.migrate == "default" and url.startswith("sqlite:"))


def built_in_pipelines(settings: Settings) -> list[Pipeline]:
    """Return the pipelines that every worker has; a remote worker reads and writes files through its server."""
    from reelstate.media.pipeline import transcode_pipeline  # noqa: PLC0415 - not needed without videos
    from reelstate.media.tools import MediaTools  # noqa: PLC0415 - same

    if not settings.server_url:
        return [transcode_pipeline(MediaTools.from_settings(settings))]
    from reelstate.remote.files import HttpFiles, HttpSource  # noqa: PLC0415 - httpx is slow to load

    files = HttpFiles(settings.server_url)
    return [transcode_pipeline(MediaTools.from_settings(settings, storage=files, served=HttpSource(files)))]


def _server(settings: Settings) -> ServerClient:
    """Return a client of the remote worker's server."""
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
            f"unreadable: {error}",
            hint="expected a file with the key that `reel workers register` created",
        ) from error


def keeper_for(engine: Engine, settings: Settings, *, library: bool = True) -> Keeper:
    """Return the keeper of an engine, with the duties of the video library or without."""
    duties: list[Duty] = []
    if library:
        from reelstate.library.duties import library_duties  # noqa: PLC0415 - not needed without videos

        duties += library_duties(engine, settings)
    duties += webhook_duties(engine, settings)
    redis = getattr(engine.dispatch, "redis", None)
    if redis is None:
        return Keeper(engine, settings, duties)
    from reelstate.locks.redis import RedisLock  # noqa: PLC0415 - its driver is slow to load

    mirror = Duty("mirror", settings.redis_reconcile, engine.mirror)
    return Keeper(engine, settings, [*duties, mirror], lambda ttl: RedisLock(redis, "keeper", ttl=ttl))


def sender_for(engine: Engine, settings: Settings) -> Sender:
    """Return the sender of webhooks, callbacks and alerts."""
    from reelstate.sender import Sender, SenderSettings  # noqa: PLC0415 - httpx is slow to load

    terms = SenderSettings(
        timeout=settings.webhook_timeout,
        concurrency=settings.webhook_concurrency,
        bound=settings.webhook_per_endpoint,
        disable_after=settings.webhook_disable_after,
        alert_url=settings.alert_url,
        alert_format=settings.alert_format,
        alert_timeout=settings.alert_timeout,
    )
    return Sender(engine.store, event_types(engine.extension), engine.callbacks, terms)


def webhook_duties(engine: Engine, settings: Settings) -> list[Duty]:
    """Return the duties of every keeper that deliver webhooks, and the one that deletes old deliveries."""
    sender = sender_for(engine, settings)

    async def prune() -> int:
        return await sender.prune(older=settings.webhook_keep)

    alerting = Alerting(engine, settings).duties() if settings.alert_url else []
    return [
        *alerting,
        Duty("deliver", DELIVER_EVERY, sender.deliver, leader_only=False),
        Duty("prune deliveries", PRUNE_EVERY, prune),
    ]


def worker_for(engine: Engine, pipelines: Iterable[Pipeline], settings: Settings) -> WorkerLoop:
    """Return a worker on this engine; its heartbeat has a separate connection."""

    @asynccontextmanager
    async def connect() -> AsyncIterator[Link]:
        if isinstance(engine.store, SQLiteStore):
            yield Engine(
                engine.store, limits=engine.document_limits
            )  # its thread serves every loop, its dispatch only one
            return
        store = store_at(settings.database_url, timeout=settings.database_timeout, connections=1)
        try:
            await store.open()
            yield Engine(store, limits=engine.document_limits)
        finally:
            await store.close()

    return WorkerLoop(
        engine, connect, engine.dispatch, pipelines, worker_settings(settings), limits=engine.document_limits
    )


async def confine_tools(engine: Engine, pipelines: Iterable[Pipeline], settings: Settings) -> bool:
    """Require the sandbox for ffmpeg if remote workers are registered; returns whether there are any.

    Their results reach the commands of other workers. They are checked, and the sandbox is the second barrier.
    """
    if not await Keys(engine.store).has_workers():
        return False
    _require_sandbox(pipelines, settings)
    return True


async def keep_tools_confined(engine: Engine, pipelines: Iterable[Pipeline], settings: Settings) -> None:
    """Call `confine_tools` until a remote worker is registered."""
    while True:
        with suppress(ReelstateError):  # the worker logs that the store is unreachable
            if await confine_tools(engine, pipelines, settings):
                return
        await asyncio.sleep(REMOTE_CHECK_INTERVAL)


def _require_sandbox(pipelines: Iterable[Pipeline], settings: Settings) -> None:
    from reelstate.media.pipeline import require_sandbox  # noqa: PLC0415 - not needed without videos

    if settings.sandbox == "off":
        logger.warning("sandbox off while remote workers are registered (unset REEL_SANDBOX)")
    for pipeline in pipelines:
        require_sandbox(pipeline)


@asynccontextmanager
async def remote_worker(pipelines: Iterable[Pipeline], settings: Settings) -> AsyncIterator[WorkerLoop]:
    """Open a worker without access to database and storage, which needs only a server and a key."""
    from reelstate.remote.link import HttpLink, LinkState, heartbeat_connector  # noqa: PLC0415 - same
    from reelstate.remote.wakeups import HttpDispatch  # noqa: PLC0415 - httpx is slow to load

    _require_sandbox(pipelines, settings)
    server, state = _server(settings), LinkState()
    connect = heartbeat_connector(lambda: _server(settings), state)
    terms = worker_settings(settings)
    if settings.poll == DEFAULTS.poll:
        terms = replace(terms, poll=REMOTE_POLL)
    wakeups = HttpDispatch(server, state)
    try:
        yield WorkerLoop(
            HttpLink(server, state), connect, wakeups, pipelines, terms, limits=settings.limits,
            known_as=lambda: state.name or terms.name,
        )  # fmt: skip
    finally:
        await wakeups.close()


@contextmanager
def metered(settings: Settings, *, handlers: bool = False) -> Iterator[Metrics]:
    """Count the facts of this process while the context is open; serve metrics and send traces as the settings say.

    `handlers` says whether the process runs handlers, which may have spans of their own.
    """
    with ExitStack() as stack:
        if settings.traces == "otlp":
            stack.enter_context(exporting_traces("reelstate", handlers=handlers, parts_per_stage=settings.trace_parts))
        metrics = stack.enter_context(counting(Metrics("" if settings.metrics_names == "bare" else PREFIX)))
        if settings.metrics_port:
            stack.enter_context(exporting(metrics, settings.metrics_host, settings.metrics_port))
        yield metrics


def read_engine(engine: Engine) -> Iterator[Sample]:
    """Yield samples of the connections and the dispatch of an engine."""
    pool = engine.store.pool()
    yield Sample("database_pool_size", pool.size)
    yield Sample("database_pool_waiting", pool.waiting)
    yield Sample("database_pool_errors_total", pool.errors)
    circuit = engine.dispatch.health().circuit
    if circuit is not None:
        yield Sample("dispatch_breaker_state", BREAKER_STATES.index(circuit.state))
        yield Sample("dispatch_breaker_opened_total", circuit.opened)


def read_worker(worker: WorkerLoop) -> Iterator[Sample]:
    """Yield samples of a worker of this process."""
    yield Sample("worker_load", worker.load, (worker.name,))
    yield Sample("worker_outbox", worker.unsent, (worker.name,))


@asynccontextmanager
async def _run_worker_and_keeper(engine: Engine, pipelines: list[Pipeline], settings: Settings) -> AsyncIterator[None]:
    """Run a worker and a keeper in the background."""
    await confine_tools(engine, pipelines, settings)
    worker = worker_for(engine, pipelines, settings)
    running = asyncio.create_task(worker.run())
    running.add_done_callback(_log_worker_exit)
    library = any(pipeline.name == TRANSCODE for pipeline in pipelines)
    background = [keeper_for(engine, settings, library=library).run(), keep_tools_confined(engine, pipelines, settings)]
    tasks = [asyncio.create_task(each) for each in background]
    try:
        yield
    finally:
        try:
            await _stop_worker(worker, running)
        finally:
            await cancel_and_wait(*tasks)


async def _stop_worker(worker: WorkerLoop, running: asyncio.Task[None]) -> None:
    """Stop a worker and wait for it; when cancelled, stop it again, which ends the grace period."""
    worker.stop()
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        worker.stop()
        await running
        raise


def _log_worker_exit(running: asyncio.Task[None]) -> None:
    """Log the error of a worker that ended by itself; it is raised when the engine is closed."""
    if not running.cancelled() and (error := running.exception()):
        logger.error("worker stopped error=%s", error)


def _store_options(url: str, settings: Settings | None) -> dict[str, Any]:
    if settings is None:
        return {}
    options: dict[str, Any] = {"timeout": settings.database_timeout}
    return options if url.startswith("sqlite:") else {**options, "connections": settings.database_connections}
