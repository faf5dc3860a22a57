"""The ears of a log: open while it is read."""

from __future__ import annotations

from collections.abc import Collection

from reelstate.dispatch.dispatch import Dispatch, Listener, Wakeup


class LogSubscription:
    """Opened before the first look, so that what is rung after it is heard."""

    def __init__(self, dispatch: Dispatch, bells: Collection[Wakeup]) -> None:
        self._dispatch = dispatch
        self._bells = bells
        self._listener: Listener | None = None

    def open(self) -> Listener:
        if self._listener is None:
            self._listener = self._dispatch.listen(self._bells)
        return self._listener

    async def wait(self, seconds: float) -> bool:
        return bool(await self.open().wait(seconds))

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
