"""Sources at hand on this machine, by their content. Any number of processes share one folder.

Each source has a lock file: readers hold it shared, and a process that fetches or removes the source exclusively.
A process that dies lets go of its locks, so nothing of it stays behind.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

from reelstate.artifacts.faults import folder_faults
from reelstate.artifacts.keys import source
from reelstate.artifacts.storage import Storage
from reelstate.runtime.private_files import FILE_MODE, make_folder
from reelstate.telemetry.facts import CacheRead, emit

LOCK: Final = ".lock"
PART: Final = ".part"
SHORTEST_WAIT: Final = 0.01
LONGEST_WAIT: Final = 0.5


class SourceCache:
    """Keeps up to `limit` bytes of sources in a folder; the one used longest ago goes first."""

    def __init__(self, storage: Storage, folder: Path, limit: int) -> None:
        self._storage = storage
        self._folder = folder
        self._limit = limit

    def held(self, sha256: str) -> AbstractAsyncContextManager[Path]:
        """The source as a file that stays while the context lasts: `async with cache.held(sha256) as path`."""
        stored = self._storage.local_path(source(sha256))
        return self._held(sha256) if stored is None else _as_it_is(stored)

    @asynccontextmanager
    async def _held(self, sha256: str) -> AsyncIterator[Path]:
        path = self._folder / sha256
        with folder_faults(str(self._folder)):
            await asyncio.to_thread(make_folder, self._folder)
        try:
            async with self._settled(path):
                yield path
        finally:
            await asyncio.to_thread(self._trim, 0)

    @asynccontextmanager
    async def _settled(self, path: Path) -> AsyncIterator[None]:
        """The file, with its lock held shared.

        No lock is waited for in a thread, which a task that is stopped would leave behind; and whoever waits to fetch
        looks again each time, because another may have fetched meanwhile and go on holding what it reads.
        """
        wait, hit = SHORTEST_WAIT, True
        while True:
            with _locked(path, fcntl.LOCK_SH) as locked:
                if locked and await asyncio.to_thread(_used, path):
                    emit(CacheRead("sources", hit))
                    yield
                    return
            with _locked(path, fcntl.LOCK_EX) as locked:
                if locked and not await asyncio.to_thread(path.exists):
                    await self._fetch(path)
                    hit = False
                    continue
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _fetch(self, path: Path) -> None:
        key = source(path.name)
        await asyncio.to_thread(self._trim, await self._storage.size(key) or 0)
        await self._storage.download(key, path, sha256=path.name)

    def _trim(self, wanted: int) -> None:
        """Remove what was used longest ago and is not in use, until there is room. Work comes before the limit."""
        with folder_faults(str(self._folder)):
            entries = _entries(self._folder)
            excess = sum(size for _, size, _ in entries) + wanted - self._limit
            for _, size, path in sorted(entries):
                if excess <= 0:
                    return
                if _removed(path):
                    excess -= size


@asynccontextmanager
async def _as_it_is(path: Path) -> AsyncIterator[Path]:
    yield path


@contextmanager
def _locked(path: Path, kind: int) -> Iterator[bool]:
    """The lock of a source, and whether we have got it; its last holder may have removed the one that we opened."""
    descriptor = os.open(f"{path}{LOCK}", os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        yield _flocked(descriptor, kind) and _current(path, descriptor)
    finally:
        os.close(descriptor)


def _flocked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _current(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(f"{path}{LOCK}"), os.fstat(descriptor))  # noqa: PTH116 - beside fstat
    except FileNotFoundError:
        return False


def _used(path: Path) -> bool:
    """Whether the file is there; if so, note that it is used now."""
    try:
        os.utime(path, (time.time(), path.stat().st_mtime))
    except FileNotFoundError:
        return False
    return True


def _entries(folder: Path) -> list[tuple[float, int, Path]]:
    """Return the last use, size and path of each file, including abandoned partial downloads."""
    found = []
    for path in folder.iterdir():
        if path.suffix != LOCK:
            with suppress(FileNotFoundError):
                state = path.stat()
                found.append((state.st_atime, state.st_size, path))
    return found


def _removed(path: Path) -> bool:
    """Remove a source that no process holds, with its lock file."""
    entry = path.with_suffix("") if path.suffix == PART else path
    with _locked(entry, fcntl.LOCK_EX) as locked:
        if not locked:
            return False
        path.unlink(missing_ok=True)
        if not entry.exists():
            Path(f"{entry}{LOCK}").unlink(missing_ok=True)
    return True
