"""Folders for the files of running tasks. Each is locked by its process, so that those of dead ones can be told."""

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
_OURS: Final = re.compile(r"reel-\d+-[^/]+-\d+-\d+-\w+")


@contextmanager
def scratch_folder(place: Path, job_id: int, stage: str, part: int, token: int) -> Iterator[Path]:
    """A folder that only this run of a task uses, and that goes with it; if its process is killed, with the next."""
    place.mkdir(parents=True, exist_ok=True)
    _tidy(place)
    folder, lock = _held(place, f"reel-{job_id}-{stage}-{part}-{token}-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _held(place: Path, prefix: str) -> tuple[Path, int]:
    """A new folder and its lock, made again if another process took it for abandoned before it was locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        try:
            lock = os.open(folder, _FOLDER)
        except FileNotFoundError:
            continue
        with contextlib.suppress(OSError):  # a disk that knows no locks: then nobody takes it for abandoned
            fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)


def _tidy(place: Path) -> None:
    """Throw away what killed processes have left; the kernel has dropped their locks."""
    for path in place.iterdir():
        if _OURS.fullmatch(path.name):
            with contextlib.suppress(OSError):  # it is gone, is no folder, or somebody holds it
                _remove_if_abandoned(path)


def _remove_if_abandoned(folder: Path) -> None:
    lock = os.open(folder, _FOLDER)
    try:
        if _is_ours(os.fstat(lock).st_uid):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _is_ours(owner: int) -> bool:
    """Return whether a folder of this owner was made here. A tool that runs as nobody is given its folder by root."""
    user = os.geteuid()
    return owner == user or (user == 0 and owner == NOBODY)
