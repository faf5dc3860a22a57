"""The blocking façade: the engine's verbs for scripts, Django and Flask, which have no event loop.

A connection has a thread with a loop of its own; a call is handed to it and waited for. Any thread may call.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from reelstate.app import open_engine
from reelstate.core.errors import InvalidRequest, ReelstateError, StoreUnavailable
from reelstate.engine import Engine

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def blocking(
    verb: Callable[Concatenate[Engine, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Connection, P], R]:
    """The same verb for callers that wait."""

    @functools.wraps(verb)
    def call(connection: Connection, /, *arguments: P.args, **options: P.kwargs) -> R:
        return connection.run(lambda engine: verb(engine, *arguments, **options))

    return call


def blocking_iterator(
    verb: Callable[Concatenate[Engine, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Connection, P], Iterator[T]]:
    """The same for a verb that gives one thing after another."""

    @functools.wraps(verb)
    def call(connection: Connection, /, *arguments: P.args, **options: P.kwargs) -> Iterator[T]:
        steps = _Steps(lambda engine: verb(engine, *arguments, **options))
        try:
            while found := connection.run(steps.next):
                yield from found
        finally:
            with contextlib.suppress(ReelstateError):  # closed together with the connection
                connection.run(steps.close)

    return call


class Connection:
    """Every verb of `Engine`, each call of which returns when it is done. Close it, or use it with `with`."""

    def __init__(self, opening: AbstractAsyncContextManager[Engine]) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._lock = threading.Lock()
        self._closed = False
        self._process = os.getpid()
        self._ended: Future[None] = Future()
        opened: Future[Engine] = Future()
        self._thread = threading.Thread(target=self._live, args=(opening, opened), name="reelstate", daemon=True)
        self._thread.start()
        _open.add(self)
        try:
            self._engine = opened.result()
        except BaseException:
            self._abandon()
            raise

    declare = blocking(Engine.declare)
    pipelines = blocking(Engine.pipelines)
    use_pipeline = blocking(Engine.use_pipeline)
    submit = blocking(Engine.submit)
    submit_many = blocking(Engine.submit_many)
    orchestrate = blocking(Engine.orchestrate)
    relax = blocking(Engine.relax)
    claim = blocking(Engine.claim)
    claimed = blocking(Engine.claimed)
    report = blocking(Engine.report)
    complete = blocking(Engine.complete)
    fail = blocking(Engine.fail)
    release = blocking(Engine.release)
    reclaim = blocking(Engine.reclaim)
    flag_stalled = blocking(Engine.flag_stalled)
    reclaim_workers = blocking(Engine.reclaim_workers)
    lead = blocking(Engine.lead)
    leave = blocking(Engine.leave)
    keepers = blocking(Engine.keepers)
    neighbours = blocking(Engine.neighbours)
    prune_workers = blocking(Engine.prune_workers)
    prune_states = blocking(Engine.prune_states)
    worker_names = blocking(Engine.worker_names)
    check = blocking(Engine.check)
    mirror = blocking(Engine.mirror)
    cancel = blocking(Engine.cancel)
    cancel_many = blocking(Engine.cancel_many)
    retry = blocking(Engine.retry)
    retry_many = blocking(Engine.retry_many)
    reprioritise = blocking(Engine.reprioritise)
    reprioritise_many = blocking(Engine.reprioritise_many)
    quarantine = blocking(Engine.quarantine)
    quarantine_many = blocking(Engine.quarantine_many)
    force = blocking(Engine.force)
    force_many = blocking(Engine.force_many)
    submit_video = blocking(Engine.submit_video)
    retranscode = blocking(Engine.retranscode)
    unpublished = blocking(Engine.unpublished)
    published = blocking(Engine.published)
    videos = blocking(Engine.videos)
    video = blocking(Engine.video)
    pin = blocking(Engine.pin)
    unpin = blocking(Engine.unpin)
    rollback = blocking(Engine.rollback)
    delete_video = blocking(Engine.delete_video)
    remove_versions = blocking(Engine.remove_versions)
    swept_versions = blocking(Engine.swept_versions)
    needed_sources = blocking(Engine.needed_sources)
    job = blocking(Engine.job)
    jobs = blocking(Engine.jobs)
    tasks = blocking(Engine.tasks)
    results = blocking(Engine.results)
    events = blocking(Engine.events)
    ready = blocking(Engine.ready)
    stage_names = blocking(Engine.stage_names)
    graph = blocking(Engine.graph)
    queue = blocking(Engine.queue)
    count_jobs = blocking(Engine.count_jobs)
    head = blocking(Engine.head)
    history = blocking(Engine.history)
    subscribe = blocking_iterator(Engine.subscribe)
    watch = blocking_iterator(Engine.watch)
    wait = blocking(Engine.wait)
    worker_history = blocking(Engine.worker_history)
    logs = blocking(Engine.logs)
    steps = blocking(Engine.steps)
    states = blocking(Engine.states)
    state_manager = blocking(Engine.state_manager)
    register = blocking(Engine.register)
    workers = blocking(Engine.workers)
    move_worker = blocking(Engine.move_worker)
    drain = blocking(Engine.drain)
    enable = blocking(Engine.enable)
    disable = blocking(Engine.disable)
    revoke = blocking(Engine.revoke)
    publish_busy = blocking(Engine.publish_busy)
    doctor = blocking(Engine.doctor)

    def run(self, call: Callable[[Engine], Coroutine[Any, Any, R]]) -> R:
        """Wait for whatever `call` does with the engine, on the connection's loop. An interrupt cancels it."""
        future = self._handed_over(call)
        try:
            return future.result()
        except CancelledError:
            raise StoreUnavailable("the connection was closed during the call", hint="connect again") from None
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End calls that are under way, close the engine and wait until it is closed."""
        if os.getpid() == self._process:
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._stop.set)
            self._ended.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _handed_over(self, call: Callable[[Engine], Coroutine[Any, Any, R]]) -> Future[R]:
        if threading.current_thread() is self._thread:
            raise InvalidRequest(
                "connection", "a call from its own loop would wait for itself", hint="await the engine's verb there"
            )
        if os.getpid() != self._process:
            raise StoreUnavailable("the connection was made before this process was forked", hint="connect after it")
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the connection is closed", hint="connect again")
            return asyncio.run_coroutine_threadsafe(call(self._engine), self._loop)

    def _live(self, opening: AbstractAsyncContextManager[Engine], opened: Future[Engine]) -> None:
        """The thread's whole life."""
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._hold(opening, opened))
            self._ended.set_result(None)
        except BaseException as error:  # noqa: BLE001 - whoever waits for this thread is told
            for future in (opened, self._ended):
                if not future.done():
                    future.set_exception(error)

    async def _hold(self, opening: AbstractAsyncContextManager[Engine], opened: Future[Engine]) -> None:
        """Open and close the engine in one task, as task groups inside it want it."""
        async with opening as engine:
            opened.set_result(engine)
            try:
                await self._stop.wait()
            finally:
                with self._lock:
                    self._closed = True
                await asyncio.sleep(0)  # calls that were handed over before become tasks now, and end with the loop

    def _abandon(self) -> None:
        """Somebody gave up waiting for the engine to open."""

        def end() -> None:
            self._stop.set()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()

        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(end)


class _Steps(Generic[T]):
    """An async iterator, taken step by step. Closing it waits for a step that was interrupted to come to its end."""

    def __init__(self, start: Callable[[Engine], AsyncGenerator[T, None]]) -> None:
        self._start = start
        self._items: AsyncGenerator[T, None] | None = None
        self._turn = asyncio.Lock()

    async def next(self, engine: Engine) -> list[T]:
        async with self._turn:
            self._items = self._items or self._start(engine)
            async for item in self._items:
                return [item]
            return []

    async def close(self, _: Engine) -> None:
        async with self._turn:
            if self._items is not None:
                await self._items.aclose()


def _connecting(opening: Callable[P, AbstractAsyncContextManager[Engine]]) -> Callable[P, Connection]:
    def connect(*arguments: P.args, **options: P.kwargs) -> Connection:
        """A connection to the store at an address. It takes what `rs.open` takes."""
        return Connection(opening(*arguments, **options))

    connect.__signature__ = inspect.signature(opening)  # type: ignore[attr-defined]  # inspect looks for it
    return connect


connect = _connecting(open_engine)

_open: weakref.WeakSet[Connection] = weakref.WeakSet()


def _close_all() -> None:
    for connection in list(_open):
        with contextlib.suppress(Exception):
            connection.close()


# Not `atexit`: when that runs, the threads that a store works with have been ended, and it can't be closed any more.
threading._register_atexit(_close_all)  # type: ignore[attr-defined]  # noqa: SLF001
