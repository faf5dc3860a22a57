"""The wake-ups that a log waits for."""

from __future__ import annotations

from collections.abc import Collection

from reelstate.dispatch.dispatch import Dispatch, Listener, Wakeup


class LogSubscription:
    """A listener that is opened before the log is read, so that no later wake-up is missed."""

    def __init__(self, dispatch: Dispatch, wakeups: Collection[Wakeup]) -> None:
        self._dispatch = dispatch
        self._wakeups = wakeups
        self._listener: Listener | None = None

    def open(self) -> Listener:
        if self._listener is None:
            self._listener = self._dispatch.listen(self._wakeups)
        return self._listener

    async def wait(self, seconds: float) -> bool:
        return bool(await self.open().wait(seconds))

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
