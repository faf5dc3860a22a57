"""What a lock is: held by one until a time, kept alive by a task of its own, and its holder learns when it is lost.

A lock only saves work. A holder that was paused for too long may go on believing in it for a moment, whatever the lock
does; so every acquisition has a fencing number, larger than all before it, and what must not be written twice compares
that number where it is written:

    UPDATE targets SET value = …, fence = :fence WHERE name = … AND fence <= :fence
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import logging
import random
import time
from types import TracebackType
from typing import Self

from reelstate.core.errors import LockLost, LockTaken, ReelstateError
from reelstate.runtime.cancellation import cancel_and_wait

logger = logging.getLogger("reelstate.locks")

RENEWALS = 3
"""A lock is renewed so often before it would run out."""
FIRST_LOOK, LONGEST_LOOK = 0.02, 0.5
"""Between two tries of one who waits for a lock."""


class Lock(abc.ABC):
    """`async with lock:` waits up to `patience` seconds for it; a body whose lock is lost is cancelled and the leaving
    raises `LockLost`. One object is one holder: it is not shared between tasks.
    """

    def __init__(self, name: str, *, ttl: float = 30.0, timeout: float = 0.0) -> None:
        self.name = name
        self.ttl = ttl
        self.lost = asyncio.Event()
        """Set when the lock was lost, not when it was given back."""
        self._timeout = timeout
        self._fence: int | None = None
        self._renewed = 0.0
        self._keeping: asyncio.Task[None] | None = None
        self._end: asyncio.TimerHandle | None = None
        """When it is lost, unless it is renewed before: however long a try to do so takes."""
        self._inside: asyncio.Task[object] | None = None

    @property
    def held(self) -> bool:
        """Whether it is ours as far as this process can know: no renewal has failed, and the last is not too old."""
        return self._fence is not None and not self.lost.is_set() and time.monotonic() < self._renewed + self.ttl

    @property
    def fence(self) -> int:
        """The number of this acquisition; raises `LockLost` when the lock is not held any more."""
        if self._fence is None or not self.held:
            raise LockLost(self.name)
        return self._fence

    async def acquire(self, seconds: float | None = None) -> bool:
        """Take the lock, waiting for it so many seconds; gives whether that succeeded."""
        if self._keeping is not None:
            raise RuntimeError(f"lock {self.name!r} is held by this object already")
        end = time.monotonic() + (self._timeout if seconds is None else seconds)
        pause = FIRST_LOOK
        while True:
            began = time.monotonic()
            fence = await self._take()
            if fence is not None:
                self._begin(fence, began)
                return True
            if time.monotonic() + pause > end:
                return False
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(LONGEST_LOOK, pause * 2)

    async def release(self) -> None:
        """Give it back; one that is not held any more is somebody else's, and is left alone."""
        if self._keeping is None:
            return
        await cancel_and_wait(self._keeping)
        self._keeping = self._fence = None
        self._expect_no_end()
        with contextlib.suppress(ReelstateError):  # it runs out by itself
            await self._give()

    async def __aenter__(self) -> Self:
        if not await self.acquire():
            raise LockTaken(self.name)
        self._inside = asyncio.current_task()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        inside, self._inside = self._inside, None
        lost = self.lost.is_set()
        if lost and inside is not None:
            if not isinstance(error, asyncio.CancelledError):
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0)  # the cancel comes too late for the body, and not for anybody else
            others = inside.uncancel()
            await self.release()
            if others == 0:
                raise LockLost(self.name) from error
        await self.release()

    def _begin(self, fence: int, at: float) -> None:
        self.lost.clear()
        self._fence = fence
        self._renew(at)
        self._keeping = asyncio.get_running_loop().create_task(self._keep_for_ever())

    async def _keep_for_ever(self) -> None:
        while not self.lost.is_set():
            await asyncio.sleep(self.ttl / RENEWALS)
            began = time.monotonic()
            try:
                async with asyncio.timeout(self.ttl / RENEWALS):
                    kept = await self._keep()
            except (ReelstateError, TimeoutError) as error:
                logger.debug("lock %s could not be renewed: %s", self.name, error)
                continue  # nobody else can have it before its end
            if not kept:
                self._lose()
            elif not self.lost.is_set():
                self._renew(began)

    def _renew(self, at: float) -> None:
        self._expect_no_end()
        self._renewed = at
        self._end = asyncio.get_running_loop().call_later(max(0.0, at + self.ttl - time.monotonic()), self._lose)

    def _expect_no_end(self) -> None:
        if self._end is not None:
            self._end.cancel()

    def _lose(self) -> None:
        self._expect_no_end()
        if self.lost.is_set():
            return
        logger.warning("lock %s is lost: it was not renewed in time, or taken away", self.name)
        self.lost.set()
        if self._inside is not None:
            self._inside.cancel(f"lock {self.name} is lost")

    @abc.abstractmethod
    async def _take(self) -> int | None:
        """The fencing number, or None where another holds the lock."""

    @abc.abstractmethod
    async def _keep(self) -> bool:
        """Renew; False where it is ours no more."""

    @abc.abstractmethod
    async def _give(self) -> None: ...
