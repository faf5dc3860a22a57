"""The dispatch of SQLite: a wake-up appends a line to the file `<database>-wakeup`, whose size the listeners of other
processes watch. Without wake-ups nothing is read or written.
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

WATCH_INTERVAL = 0.05
MAX_FILE_BYTES = 64 * 1024


class SignalDispatch(HintlessDispatch):
    """Uses the wake-up file of a database; a database in memory (None) is used by one process only."""

    def __init__(self, database: Path | None) -> None:
        self._local = LocalWakeups()
        self._file = None if database is None else WakeupFile(database)
        self._batch = None if self._file is None else WakeupBatch(self._file.write)
        self._watching: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Do nothing: the first wake-up creates the file."""

    async def close(self) -> None:
        if self._batch is not None:
            self._batch.flush()
        if self._watching is not None:
            await cancel_and_wait(self._watching)

    def notify(self, wakeup: Wakeup) -> None:
        self._local.notify(wakeup)
        if self._batch is not None:
            self._batch.notify(wakeup)

    def listen(self, wakeups: Collection[Wakeup] = WORKER_WAKEUPS) -> Listener:
        listener = self._local.listen(wakeups)
        if self._file is not None and (self._watching is None or self._watching.done()):
            self._file.skip()
            self._watching = asyncio.get_running_loop().create_task(self._watch(self._file))
        return listener

    async def _watch(self, file: WakeupFile) -> None:
        while self._local.has_listeners:
            await asyncio.sleep(WATCH_INTERVAL)
            self._local.notify(*file.read_new())


class WakeupFile:
    """Lines with a sender and a wake-up. Each is appended by a single write, so that lines of processes do not mix."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}-wakeup")
        self._database = database
        self._sender = os.urandom(8).hex()
        self._offset = 0
        self._has_warned = False

    def write(self, wakeups: Collection[Wakeup]) -> None:
        lines = "".join(f"{self._sender} {wakeup}\n" for wakeup in wakeups)
        try:
            self._append(lines.encode())
        except OSError as error:
            if not self._has_warned:
                self._has_warned = True
                logger.warning("wake-up not sent error=%s; other processes find work by polling", error)

    def skip(self) -> None:
        """Ignore the lines that are in the file."""
        self._offset = self._size()

    def read_new(self) -> set[Wakeup]:
        """Return the wake-ups that other processes sent since the last call; all of them if the file was truncated."""
        size = self._size()
        if size == self._offset:
            return set()
        if size < self._offset:
            self._offset = size
            return set(Wakeup)
        lines = self._read(size)
        self._offset = size
        sent = {wakeup for sender, _, wakeup in (line.partition(" ") for line in lines) if sender != self._sender}
        return {wakeup for wakeup in Wakeup if wakeup in sent}

    def _append(self, lines: bytes) -> None:
        mode = self._database.stat().st_mode & 0o666
        # Opened for each write: the file may have been removed.
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
        try:
            if os.fstat(descriptor).st_size > MAX_FILE_BYTES:
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
            file.seek(self._offset)
            return file.read(size - self._offset).decode(errors="replace").splitlines()
        return []
