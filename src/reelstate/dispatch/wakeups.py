"""Wake-ups within one process, and the batching of those sent to other processes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection

from reelstate.dispatch.dispatch import Wakeup


class LocalWakeups:
    """Wakes the listeners of this process."""

    def __init__(self) -> None:
        self._listeners: set[WakeupListener] = set()

    @property
    def has_listeners(self) -> bool:
        return bool(self._listeners)

    def notify(self, *wakeups: Wakeup) -> None:
        for listener in self._listeners:
            listener.receive(wakeups)

    def listen(self, wakeups: Collection[Wakeup]) -> WakeupListener:
        listener = WakeupListener(wakeups, self._listeners.discard)
        self._listeners.add(listener)
        return listener


class WakeupListener:
    """Keeps the wake-ups it receives until the next `wait`, so that none is lost between two."""

    def __init__(self, wakeups: Collection[Wakeup], remove: Callable[[WakeupListener], None]) -> None:
        self._wakeups = frozenset(wakeups)
        self._remove = remove
        self._received: set[Wakeup] = set()
        self._woken = asyncio.Event()

    def receive(self, wakeups: Collection[Wakeup]) -> None:
        wanted = self._wakeups.intersection(wakeups)
        if wanted:
            self._received |= wanted
            self._woken.set()

    async def wait(self, seconds: float) -> frozenset[Wakeup]:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()
        received, self._received = self._received, set()
        return frozenset(received)

    def close(self) -> None:
        self._remove(self)


class WakeupBatch:
    """Sends the first wake-up at once, and those of the following `interval` seconds together at its end."""

    def __init__(self, send: Callable[[Collection[Wakeup]], None], interval: float = 0.05) -> None:
        self._send = send
        self._interval = interval
        self._waiting: set[Wakeup] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether the next wake-up is sent at once."""
        return self._timer is None

    def notify(self, wakeup: Wakeup) -> None:
        self._waiting.add(wakeup)
        if self._timer is None:
            self._send_waiting()

    def flush(self) -> None:
        """Send what waits and stop the timer; no wake-up may follow."""
        if self._timer is not None:
            self._timer.cancel()
            self._send_waiting()
        if self._timer is not None:
            self._timer.cancel()

    def _send_waiting(self) -> None:
        self._timer = None
        if self._waiting:
            waiting, self._waiting = self._waiting, set()
            self._timer = asyncio.get_running_loop().call_later(self._interval, self._send_waiting)
            self._send(waiting)
