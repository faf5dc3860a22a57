"""The dispatch beside SQLite: a ring adds a line to the file `<database>-wakeup`, and listeners of other processes look
at the size of it. Nothing is read and nothing is sent while nobody rings.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Collection
from pathlib import Path

from reelstate.dispatch.dispatch import WORKER_WAKEUPS, HintlessDispatch, Listener, Wakeup
from reelstate.dispatch.wakeups import LocalWakeups, WakeupBatch
from reelstate.runtime.cancellation import cancel_and_wait

logger = logging.getLogger("reelstate.dispatch")

LOOK_EVERY = 0.05
LARGEST_FILE = 64 * 1024


class SignalDispatch(HintlessDispatch):
    """The bell file of a database; a database in memory (None) has no other processes to tell."""

    def __init__(self, database: Path | None) -> None:
        self._doorbell = LocalWakeups()
        self._file = None if database is None else WakeupFile(database)
        self._merged = None if self._file is None else WakeupBatch(self._file.write)
        self._looking: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """The file is made by the first ring."""

    async def close(self) -> None:
        if self._merged is not None:
            self._merged.flush()
        if self._looking is not None:
            await cancel_and_wait(self._looking)

    def notify(self, bell: Wakeup) -> None:
        self._doorbell.notify(bell)
        if self._merged is not None:
            self._merged.notify(bell)

    def listen(self, bells: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:
        ears = self._doorbell.listen(bells)
        if self._file is not None and (self._looking is None or self._looking.done()):
            self._file.skip()
            self._looking = asyncio.get_running_loop().create_task(self._look(self._file))
        return ears

    async def _look(self, file: WakeupFile) -> None:
        while self._doorbell.heard:
            await asyncio.sleep(LOOK_EVERY)
            self._doorbell.notify(*file.news())


class WakeupFile:
    """Lines of who rang which bell. Adding one is a single write, so rings of several processes do not mix."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}-wakeup")
        self._database = database
        self._name = os.urandom(8).hex()
        self._seen = 0
        self._told = False

    def write(self, bells: Collection[Wakeup]) -> None:
        lines = "".join(f"{self._name} {bell}\n" for bell in bells)
        try:
            self._append(lines.encode())
        except OSError as error:
            if not self._told:
                self._told = True
                logger.warning("can't ring: %s; other processes find work when they look for it", error)

    def skip(self) -> None:
        """What was rung before one listens does not matter."""
        self._seen = self._size()

    def news(self) -> set[Wakeup]:
        """The bells that others have rung since the last look."""
        size = self._size()
        if size == self._seen:
            return set()
        if size < self._seen:  # it was begun anew, and what stood at its old end is gone
            self._seen = size
            return set(Wakeup)
        lines = self._read(size)
        self._seen = size
        rung = {bell for name, _, bell in (line.partition(" ") for line in lines) if name != self._name}
        return {bell for bell in Wakeup if bell in rung}

    def _append(self, lines: bytes) -> None:
        mode = self._database.stat().st_mode & 0o666
        # Opened each time: a file that somebody removed must not be written to unseen.
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
        try:
            if os.fstat(descriptor).st_size > LARGEST_FILE:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, lines)
        finally:
            os.close(descriptor)

    def _size(self) -> int:
        with contextlib.suppress(OSError):
            return os.stat(self.path).st_size  # noqa: PTH116 - twenty times a second: no object for it
        return 0

    def _read(self, size: int) -> list[str]:
        with contextlib.suppress(OSError), self.path.open("rb") as file:
            file.seek(self._seen)
            return file.read(size - self._seen).decode(errors="replace").splitlines()
        return []
