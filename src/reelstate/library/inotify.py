"""Changes in folders, reported by inotify on Linux."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

MODIFY: Final = 0x2
CLOSE_WRITE: Final = 0x8
MOVED_FROM: Final = 0x40
MOVED_TO: Final = 0x80
CREATE: Final = 0x100
DELETE: Final = 0x200
OVERFLOW: Final = 0x4000
IGNORED: Final = 0x8000
ONLY_FOLDERS: Final = 0x1000000
IS_FOLDER: Final = 0x40000000
WANTED: Final = MODIFY | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | ONLY_FOLDERS
HEADER: Final = struct.Struct("iIII")
READ_SIZE: Final = 65536


@dataclass(frozen=True, slots=True)
class Notice:
    """A change of a file or folder; without a path, notices were lost."""

    path: Path | None
    mask: int

    @property
    def folder(self) -> bool:
        """Whether it is a folder."""
        return bool(self.mask & IS_FOLDER)

    @property
    def writing(self) -> bool:
        """Whether a process writes to it and has not closed it."""
        return bool(self.mask & MODIFY)

    @property
    def settled(self) -> bool:
        """Whether it was closed after writing, renamed or deleted."""
        return bool(self.mask & (CLOSE_WRITE | MOVED_TO | MOVED_FROM | DELETE))


class Inotify:
    """Watches on folders; `fileno` becomes readable when there are notices."""

    def __init__(self) -> None:
        self._call = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._checked(self._call.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify")
        self._folders: dict[int, Path] = {}

    @classmethod
    def open(cls) -> Self | None:
        """Return an instance; None where inotify is not available."""
        if sys.platform != "linux":
            return None
        try:
            return cls()
        except (OSError, AttributeError):
            return None

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._descriptor

    def add(self, folder: Path) -> None:
        """Watch a folder without its subfolders; a missing or unreadable folder is ignored."""
        try:
            number = self._call.inotify_add_watch(self._descriptor, os.fsencode(folder), WANTED)
            self._folders[self._checked(number, str(folder))] = folder
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.EACCES}:
                raise

    def read(self) -> Iterator[Notice]:
        """Return the notices since the last call."""
        while True:
            try:
                data = os.read(self._descriptor, READ_SIZE)
            except BlockingIOError:
                return
            yield from self._notices(data)

    def close(self) -> None:
        """Release the descriptor and all watches."""
        os.close(self._descriptor)

    def _notices(self, data: bytes) -> Iterator[Notice]:
        offset = 0
        while offset < len(data):
            number, mask, _, length = HEADER.unpack_from(data, offset)
            name = data[offset + HEADER.size : offset + HEADER.size + length].rstrip(b"\0")
            offset += HEADER.size + length
            if mask & OVERFLOW:
                yield Notice(None, mask)
            elif mask & IGNORED:
                self._folders.pop(number, None)
            elif number in self._folders:
                yield Notice(self._folders[number] / os.fsdecode(name), mask)

    @staticmethod
    def _checked(result: int, what: str) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), what)
        return result
