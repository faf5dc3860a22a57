"""A folder for files that arrive in parts: one per name, locked by its writer; files of dead processes stay."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from reelstate.artifacts.faults import folder_faults
from reelstate.artifacts.folder import Folder
from reelstate.artifacts.storage import Storage
from reelstate.core.errors import StorageFull, StorageMissing
from reelstate.runtime.private_files import FILE_MODE, make_folder

BESIDE: Final = ".uploads"
"""In the folder of a storage: no key begins with a dot, and a file that is whole is linked to its place, not copied."""
ELSEWHERE: Final = "reelstate-uploads"


class Spool:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        return self.folder / name

    @contextmanager
    def held(self, name: str) -> Iterator[int | None]:
        """Open a file for exclusive writing and return its descriptor; None while another process has it."""
        with folder_faults(str(self.folder)):
            self._make()
            descriptor = os.open(self.path(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            yield descriptor if _locked(descriptor) else None
        finally:
            os.close(descriptor)

    def _make(self) -> None:
        """Create the folder, and the one of the storage that it stands in, if this is the first upload of all."""
        if self.folder.name == BESIDE:
            make_folder(self.folder.parent)
        make_folder(self.folder)

    def require_room(self, size: int) -> None:
        """Refuse what does not fit on the disk before any of it has come."""
        with folder_faults(str(self.folder)):
            self._make()
            free = shutil.disk_usage(self.folder).free
        if size > free:
            raise StorageFull(f"{self.folder}: {size:,} bytes don't fit, {free:,} are free", hint="make room")

    def remove(self, name: str) -> None:
        with folder_faults(str(self.folder)):
            self.path(name).unlink(missing_ok=True)

    def names(self, *, older: float) -> list[str]:
        """Return the files that were not written to for this many seconds."""
        before = time.time() - older
        found = []
        with suppress(StorageMissing), folder_faults(str(self.folder)), os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.stat().st_mtime < before:
                        found.append(entry.name)
        return found


def spool_for(storage: Storage, chosen: str, scratch: Path) -> Spool:
    """Where uploads to a storage wait: in the chosen folder, else beside what is kept, else in the scratch folder."""
    if chosen:
        return Spool(Path(chosen).expanduser().absolute())
    return Spool(storage.root / BESIDE if isinstance(storage, Folder) else scratch / ELSEWHERE)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True
