"""The bell inside one process, and the rule that merges rings on their way to the others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection

from reelstate.dispatch.dispatch import Wakeup


class LocalWakeups:
    """Rings for everybody in this process who listens."""

    def __init__(self) -> None:
        self._ears: set[WakeupListener] = set()

    @property
    def heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._ears)

    def notify(self, *bells: Wakeup) -> None:
        for ears in self._ears:
            ears.hear(bells)

    def listen(self, bells: Collection[Wakeup]) -> WakeupListener:
        ears = WakeupListener(bells, self._ears.discard)
        self._ears.add(ears)
        return ears


class WakeupListener:
    """One listener: it keeps what was rung until it is asked, so nothing is lost between two waits."""

    def __init__(self, bells: Collection[Wakeup], leave: Callable[[WakeupListener], None]) -> None:
        self._bells = frozenset(bells)
        self._leave = leave
        self._rung: set[Wakeup] = set()
        self._woken = asyncio.Event()

    def hear(self, bells: Collection[Wakeup]) -> None:
        rung = self._bells.intersection(bells)
        if rung:
            self._rung |= rung
            self._woken.set()

    async def wait(self, seconds: float) -> frozenset[Wakeup]:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()
        rung, self._rung = self._rung, set()
        return frozenset(rung)

    def close(self) -> None:
        self._leave(self)


class WakeupBatch:
    """Sends the first ring at once, and those of the following `interval` together at its end."""

    def __init__(self, send: Callable[[Collection[Wakeup]], None], interval: float = 0.05) -> None:
        self._send = send
        self._interval = interval
        self._rung: set[Wakeup] = set()
        self._timer: asyncio.TimerHandle | None = None

    def notify(self, bell: Wakeup) -> None:
        self._rung.add(bell)
        if self._timer is None:
            self._over()

    def flush(self) -> None:
        """Send what waits, without waiting: nothing comes after it."""
        if self._timer is not None:
            self._timer.cancel()
            self._over()
        if self._timer is not None:
            self._timer.cancel()

    def _over(self) -> None:
        self._timer = None
        if self._rung:
            rung, self._rung = self._rung, set()
            self._timer = asyncio.get_running_loop().call_later(self._interval, self._over)
            self._send(rung)
