"""Print errors with a hint for the command line."""

from __future__ import annotations

import errno
import os
from typing import Final

from rich.text import Text

from reelstate.cli.terminal import console
from reelstate.core.errors import InvalidTransition, NotFound, ReelstateError
from reelstate.core.machine import FINISHED_JOBS

DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
HINTS: Final = {
    **dict.fromkeys(DISK_FULL, "free space on that disk"),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM), "give this user permission to read and write there, or choose another path"
    ),
    errno.EROFS: "the disk is read-only: choose another path",
}


def print_error(error: ReelstateError) -> None:
    """Print an error, its hint and its notes to stderr, one line each."""
    stderr = console(stderr=True)
    stderr.print(Text.assemble(("error: ", "bold red"), error.message), soft_wrap=True)
    if hint := hint_for(error):
        stderr.print(Text.assemble(("hint:  ", "dim"), hint), soft_wrap=True)
    for note in getattr(error, "__notes__", ()):
        stderr.print(Text.assemble(("at:    ", "dim"), note), soft_wrap=True)


def from_os_error(error: OSError) -> ReelstateError | None:
    """Convert an error of the system with its path; return None if a user can't fix it."""
    if error.filename is None and error.errno not in DISK_FULL:
        return None
    path = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    return ReelstateError(f"{path}{error.strerror}", hint=HINTS.get(error.errno or 0, "check the path"))


def hint_for(error: ReelstateError) -> str:
    """Return the hint of an error, or a better one for the command line."""
    if isinstance(error, NotFound) and error.entity == "job":
        return "`reel jobs` lists jobs"
    if isinstance(error, NotFound) and error.entity == "video":
        return "`reel videos` lists videos"
    if isinstance(error, InvalidTransition) and error.entity == "job" and error.origin in FINISHED_JOBS:
        return f"a {error.origin} job can't change; submit a new one"
    return error.hint
