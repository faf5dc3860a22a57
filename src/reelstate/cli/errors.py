"""An error of ours at the command line: what was wrong, and what to type next."""

from __future__ import annotations

import errno
import os
from typing import Final

from rich.text import Text

from reelstate.cli.terminal import console
from reelstate.core.errors import InvalidTransition, NotFound, ReelstateError
from reelstate.core.machine import FINISHED_JOBS

FULL: Final = (errno.ENOSPC, errno.EDQUOT)
HINTS: Final = {
    **dict.fromkeys(FULL, "free space on that disk"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "let this user read and write there, or name another place"),
    errno.EROFS: "that disk can only be read: name another place",
}


def print_error(error: ReelstateError) -> None:
    """One line for the error and one for the hint, on the side of errors."""
    stderr = console(stderr=True)
    stderr.print(Text.assemble(("error: ", "bold red"), error.message), soft_wrap=True)
    if hint := hint_for(error):
        stderr.print(Text.assemble(("hint:  ", "dim"), hint), soft_wrap=True)


def from_os_error(error: OSError) -> ReelstateError | None:
    """What the system refused, with the place; None for an error that nobody at a command line could mend."""
    if error.filename is None and error.errno not in FULL:
        return None
    place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    return ReelstateError(f"{place}{error.strerror}", hint=HINTS.get(error.errno or 0, "check the path"))


def hint_for(error: ReelstateError) -> str:
    """The error's own hint, or a better one that only a command line can give."""
    if isinstance(error, NotFound) and error.entity == "job":
        return "`reel jobs` lists those that there are"
    if isinstance(error, NotFound) and error.entity == "video":
        return "`reel videos` lists those that there are"
    if isinstance(error, InvalidTransition) and error.entity == "job" and error.origin in FINISHED_JOBS:
        return f"a {error.origin} job never changes again; submit a new one"
    return error.hint
