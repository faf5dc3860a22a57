"""An error of ours at the command line: what was wrong, and what to type next."""

from __future__ import annotations

from rich.text import Text

from reelstate.cli.terminal import console
from reelstate.core.errors import InvalidTransition, NotFound, ReelstateError
from reelstate.core.machine import ENDED_JOBS


def show(error: ReelstateError) -> None:
    """One line for the error and one for the hint, on the side of errors."""
    stderr = console(stderr=True)
    stderr.print(Text.assemble(("error: ", "bold red"), error.message), soft_wrap=True)
    if hint := hint_for(error):
        stderr.print(Text.assemble(("hint:  ", "dim"), hint), soft_wrap=True)


def hint_for(error: ReelstateError) -> str:
    """The error's own hint, or a better one that only a command line can give."""
    if isinstance(error, NotFound) and error.entity == "job":
        return "`reel jobs` lists those that there are"
    if isinstance(error, NotFound) and error.entity == "video":
        return "`reel videos` lists those that there are"
    if isinstance(error, InvalidTransition) and error.entity == "job" and error.origin in ENDED_JOBS:
        return f"a {error.origin} job never changes again; submit a new one"
    return error.hint
