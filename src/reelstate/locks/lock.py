"""What a lock is: it has one holder and a time to live, is renewed in the background, and reports when it is lost.

A lock only saves work. A holder that was paused for too long may believe for a moment that it still has the lock. So
every acquisition has a fencing number, larger than all before it, and a write that must not happen twice compares it:

    UPDATE targets SET value = …, fence = :fence WHERE name = … AND fence <= :fence
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import logging
import time
from types import TracebackType
from typing import Self

from reelstate.connections.backoff import retry_delays
from reelstate.core.errors import LockLost, LockTaken, ReelstateError
from reelstate.runtime.cancellation import cancel_and_wait

logger = logging.getLogger("reelstate.locks")

RENEWALS = 3
"""How often a lock is renewed within its time to live."""
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.02, 0.5
"""Between two attempts to acquire a lock."""


class Lock(abc.ABC):
    """`async with lock:` waits up to `timeout` seconds for it, and raises `LockTaken` if another has it.

    If the lock is lost, the body is cancelled and leaving raises `LockLost`. An object is one holder: tasks do not
    share it.
    """

    def __init__(self, name: str, *, ttl: float = 30.0, timeout: float = 0.0) -> None:
        self.name = name
        self.ttl = ttl
        self.lost = asyncio.Event()
        """Set when the lock is lost, not when it is released."""
        self._timeout = timeout
        self._fence: int | None = None
        self._renewed_at = 0.0
        self._renewing: asyncio.Task[None] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        """Marks the lock as lost unless it is renewed before, however long a renewal takes."""
        self._body: asyncio.Task[object] | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock, as far as this process can know."""
        return self._fence is not None and not self.lost.is_set() and time.monotonic() < self._renewed_at + self.ttl

    @property
    def fence(self) -> int:
        """The fencing number of this acquisition. Raises `LockLost` if the lock is not held."""
        if self._fence is None or not self.held:
            raise LockLost(self.name)
        return self._fence

    async def acquire(self, seconds: float | None = None) -> bool:
        """Wait up to `seconds` (default: the timeout) for the lock; return whether it was acquired."""
        if self._renewing is not None:
            raise RuntimeError(f"lock {self.name!r} is held by this object already")
        end = time.monotonic() + (self._timeout if seconds is None else seconds)
        for delay in retry_delays(FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS):
            began = time.monotonic()
            fence = await self._take()
            if fence is not None:
                self._start(fence, began)
                return True
            if time.monotonic() + delay > end:
                break
            await asyncio.sleep(delay)
        return False

    async def release(self) -> None:
        """Release the lock; do nothing if it is not held any more."""
        if self._renewing is None:
            return
        await cancel_and_wait(self._renewing)
        self._renewing = self._fence = None
        self._cancel_expiry()
        with contextlib.suppress(ReelstateError):  # it expires by itself
            await self._release()

    async def __aenter__(self) -> Self:
        if not await self.acquire():
            raise LockTaken(self.name)
        self._body = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        body, self._body = self._body, None
        lost = self.lost.is_set()
        if lost and body is not None:
            if not isinstance(error, asyncio.CancelledError):
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0)  # consume the cancellation, which comes too late for the body
            others = body.uncancel()
            await self.release()
            if others == 0:
                raise LockLost(self.name) from error
        await self.release()

    def _start(self, fence: int, at: float) -> None:
        self.lost.clear()
        self._fence = fence
        self._extend(at)
        self._renewing = asyncio.get_running_loop().create_task(self._run_renewals())

    async def _run_renewals(self) -> None:
        while not self.lost.is_set():
            await asyncio.sleep(self.ttl / RENEWALS)
            began = time.monotonic()
            try:
                async with asyncio.timeout(self.ttl / RENEWALS):
                    is_ours = await self._renew()
            except (ReelstateError, TimeoutError) as error:
                logger.debug("lock not renewed lock=%s error=%s", self.name, error)
                continue  # no other holder can have it before it expires
            if not is_ours:
                self._lose()
            elif not self.lost.is_set():
                self._extend(began)

    def _extend(self, at: float) -> None:
        self._cancel_expiry()
        self._renewed_at = at
        self._expiry = asyncio.get_running_loop().call_later(max(0.0, at + self.ttl - time.monotonic()), self._lose)

    def _cancel_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()

    def _lose(self) -> None:
        self._cancel_expiry()
        if self.lost.is_set():
            return
        logger.warning("lock lost lock=%s", self.name)
        self.lost.set()
        if self._body is not None:
            self._body.cancel(f"lock {self.name} is lost")

    @abc.abstractmethod
    async def _take(self) -> int | None:
        """Return the fencing number, or None if another holds the lock."""

    @abc.abstractmethod
    async def _renew(self) -> bool:
        """Renew the lock; return False if it is not held any more."""

    @abc.abstractmethod
    async def _release(self) -> None: ...
