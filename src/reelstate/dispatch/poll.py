"""The dispatch without wake-ups between processes: the others find work when they poll."""

from __future__ import annotations

from collections.abc import Collection

from reelstate.dispatch.dispatch import WORKER_WAKEUPS, DispatchHealth, HintlessDispatch, Listener, Wakeup
from reelstate.dispatch.wakeups import LocalWakeups


class PollDispatch(HintlessDispatch):
    """Wakes the listeners of its own process only."""

    def __init__(self) -> None:
        self._local = LocalWakeups()

    async def open(self) -> None:
        """Do nothing: there is no connection."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    def notify(self, wakeup: Wakeup) -> None:
        self._local.notify(wakeup)

    def listen(self, wakeups: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:
        return self._local.listen(wakeups)

    def health(self) -> DispatchHealth:
        return DispatchHealth("poll")
