"""A thread with an event loop, for callers that have none: each call is handed to the loop and waited for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from reelstate.core.errors import InvalidRequest, ReelstateError, StoreUnavailable

R = TypeVar("R")
T = TypeVar("T")


class LoopThread:
    """Holds a context manager open on the loop of its own thread and runs coroutines there. Any thread may call."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._lock = threading.Lock()
        self._closed = False
        self._process = os.getpid()
        self._finished: Future[None] = Future()
        self._thread: threading.Thread | None = None

    def open(self, opening: AbstractAsyncContextManager[T]) -> T:
        """Start the thread, enter the context manager there and return its value. Call it once."""
        opened: Future[T] = Future()
        self._thread = threading.Thread(target=self._main, args=(opening, opened), name="reelstate", daemon=True)
        self._thread.start()
        _open_threads.add(self)
        try:
            return opened.result()
        except BaseException:
            self._cancel_all()
            raise

    def run(self, start: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Run a coroutine on the loop and return its result. An interrupt of the caller cancels it."""
        future = self._schedule(start)
        try:
            return future.result()
        except CancelledError:
            raise StoreUnavailable("the connection was closed during the call", hint="connect again") from None
        except BaseException:
            future.cancel()
            raise

    def iterate(self, start: Callable[[], AsyncGenerator[T, None]]) -> Iterator[T]:
        """Yield the items of an async generator that runs on the loop."""
        items = StepwiseIterator(start)
        try:
            while found := self.run(items.next):
                yield from found
        finally:
            with contextlib.suppress(ReelstateError):  # closed together with the connection
                self.run(items.close)

    def close(self) -> None:
        """Cancel calls in progress, exit the context manager and wait for the thread. Repeated calls do nothing."""
        if os.getpid() == self._process:
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._stop.set)
            self._finished.result()

    def _schedule(self, start: Callable[[], Coroutine[Any, Any, R]]) -> Future[R]:
        if threading.current_thread() is self._thread:
            raise InvalidRequest(
                "connection", "a call from its own loop would wait for itself", hint="await the engine's verb there"
            )
        if os.getpid() != self._process:
            raise StoreUnavailable(
                "the connection was opened before this process was forked", hint="connect after the fork"
            )
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the connection is closed", hint="connect again")
            return asyncio.run_coroutine_threadsafe(start(), self._loop)

    def _main(self, opening: AbstractAsyncContextManager[T], opened: Future[T]) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._hold(opening, opened))
            self._finished.set_result(None)
        except BaseException as error:  # noqa: BLE001 - raised in the threads that wait for this one
            for future in (opened, self._finished):
                if not future.done():
                    future.set_exception(error)

    async def _hold(self, opening: AbstractAsyncContextManager[T], opened: Future[T]) -> None:
        """Enter and exit in one task, as task groups inside the context manager require."""
        async with opening as value:
            opened.set_result(value)
            try:
                await self._stop.wait()
            finally:
                with self._lock:
                    self._closed = True
                await asyncio.sleep(0)  # calls that were scheduled before become tasks now, and end with the loop

    def _cancel_all(self) -> None:
        """Stop the loop after its opener was interrupted."""

        def stop() -> None:
            self._stop.set()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()

        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(stop)


class StepwiseIterator(Generic[T]):
    """An async generator that is advanced one item per call. Closing it waits for a step that was interrupted."""

    def __init__(self, start: Callable[[], AsyncGenerator[T, None]]) -> None:
        self._start = start
        self._items: AsyncGenerator[T, None] | None = None
        self._step = asyncio.Lock()

    async def next(self) -> list[T]:
        """Return the next item in a list, or an empty list at the end."""
        async with self._step:
            self._items = self._items or self._start()
            async for item in self._items:
                return [item]
            return []

    async def close(self) -> None:
        """Close the generator."""
        async with self._step:
            if self._items is not None:
                await self._items.aclose()


_open_threads: weakref.WeakSet[LoopThread] = weakref.WeakSet()


def _close_all() -> None:
    for thread in list(_open_threads):
        with contextlib.suppress(Exception):
            thread.close()


# Not `atexit`: when that runs, the threads that a store works with have ended, and the store can't be closed any more.
threading._register_atexit(_close_all)  # type: ignore[attr-defined]  # noqa: SLF001
