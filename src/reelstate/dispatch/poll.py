"""The dispatch without wake-ups between processes: a ring is heard in its own, the others find out when they look."""

from __future__ import annotations

from collections.abc import Collection

from reelstate.dispatch.dispatch import WORKER_BELLS, Bell, DispatchHealth, Listener, Unhinted
from reelstate.dispatch.wakeups import Doorbell


class PollDispatch(Unhinted):
    def __init__(self) -> None:
        self._doorbell = Doorbell()

    async def open(self) -> None:
        """There is nothing to open."""

    async def close(self) -> None:
        """Nor to close."""

    def ring(self, bell: Bell) -> None:
        self._doorbell.ring(bell)

    def listen(self, bells: Collection[Bell] = WORKER_BELLS) -> Listener:
        return self._doorbell.listen(bells)

    def health(self) -> DispatchHealth:
        return DispatchHealth("poll")
