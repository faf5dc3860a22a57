"""Folders for the files of running tasks. Each is locked by its process, so folders of dead processes are found."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from reelstate.media.sandbox.confine import NOBODY

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NAME: Final = re.compile(r"reel-\d+-[^/]+-\d+-\d+-\w+")


@contextmanager
def scratch_folder(parent: Path, job_id: int, stage: str, part: int, token: int) -> Iterator[Path]:
    """Create a folder for one run of a task, and delete it at the end; if the process is killed, the next one does."""
    parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(parent)
    folder, lock = _create_locked(parent, f"reel-{job_id}-{stage}-{part}-{token}-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _create_locked(parent: Path, prefix: str) -> tuple[Path, int]:
    """Create and lock a folder, again if another process removed it as abandoned before it was locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(folder, _FOLDER)
        except FileNotFoundError:
            continue
        with contextlib.suppress(OSError):  # a file system without locks: no folder is ever removed as abandoned
            fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)


def _remove_abandoned(parent: Path) -> None:
    """Delete folders of killed processes; the kernel has released their locks."""
    for path in parent.iterdir():
        if _NAME.fullmatch(path.name):
            with contextlib.suppress(OSError):  # gone, not a folder, or locked
                _remove_if_abandoned(path)


def _remove_if_abandoned(folder: Path) -> None:
    lock = os.open(folder, _FOLDER)
    try:
        if _is_own(os.fstat(lock).st_uid):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _is_own(owner: int) -> bool:
    """Whether a folder of this owner was created here; root gives the folder of a confined tool to nobody."""
    user = os.geteuid()
    return owner == user or (user == 0 and owner == NOBODY)
