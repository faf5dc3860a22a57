"""The dispatch without wake-ups between processes: a ring is heard in its own, the others find out when they look."""

from __future__ import annotations

from collections.abc import Collection

from reelstate.dispatch.dispatch import WORKER_WAKEUPS, DispatchHealth, HintlessDispatch, Listener, Wakeup
from reelstate.dispatch.wakeups import LocalWakeups


class PollDispatch(HintlessDispatch):
    def __init__(self) -> None:
        self._doorbell = LocalWakeups()

    async def open(self) -> None:
        """There is nothing to open."""

    async def close(self) -> None:
        """Nor to close."""

    def notify(self, bell: Wakeup) -> None:
        self._doorbell.notify(bell)

    def listen(self, bells: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:
        return self._doorbell.listen(bells)

    def health(self) -> DispatchHealth:
        return DispatchHealth("poll")
