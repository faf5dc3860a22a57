"""Terminal output: the console, tables, bars, times and durations.

Every command prints on a `Screen`, which escapes control characters; plain lines go through `plain`, JSON through
`documents`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from reelstate.core.printable import printable_text

WIDE = 160
"""Columns of output to a pipe or a file."""
STYLES: Final = {
    "completed": "green",
    "done": "green",
    "failed": "bold red",
    "error": "bold red",
    "quarantined": "bold magenta",
    "cancelled": "dim",
    "skipped": "dim",
    "pending": "yellow",
    "ready": "yellow",
    "new": "dim",
    "idle": "green",
    "busy": "cyan",
    "draining": "yellow",
    "offline": "dim",
    "disabled": "bold red",
}
IN_PROGRESS = "cyan"
SHORT = 9.95
"""Durations below this many seconds are shown with tenths."""
UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


class Screen(Console):
    """A console without markup that escapes control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **options})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with control characters escaped; also called for the contents of tables, groups and live pages."""
        if isinstance(renderable, str):
            return super().render(printable_text(renderable), options)
        if isinstance(renderable, Text) and printable_text(renderable.plain) != renderable.plain:
            return super().render(self._escaped(renderable), options)
        return super().render(renderable, options)

    def _escaped(self, text: Text) -> Text:
        """Return a text with the same styles and its control characters escaped."""
        made = text.blank_copy()
        for piece in text.render(self):
            made.append(printable_text(piece.text), piece.style)
        return made


def console(*, stderr: bool = False) -> Console:
    """Return a console on standard output or standard error."""
    screen = Screen(stderr=stderr)
    if not screen.is_terminal and not os.environ.get("COLUMNS"):
        screen.width = WIDE
    return screen


def status(name: str) -> Text:
    return Text(name, style=STYLES.get(name, IN_PROGRESS))


def table(*heads: str, flexible: Collection[str] = ()) -> Table:
    """Return an empty table with these columns. If it is too wide, only flexible columns shrink."""
    made = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), header_style="dim", show_edge=False, pad_edge=False)
    for head in heads:
        made.add_column(cut(head), no_wrap=head not in flexible, overflow="fold")
    return made


def cut(text: str) -> Text:
    """Return a cell of a flexible column, cut to one line."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def bar(percent: float, status: str, width: int = 20) -> ProgressBar:
    """Return a progress bar in the colour of a status."""
    style = STYLES.get(status, IN_PROGRESS)
    return ProgressBar(total=100, completed=percent, width=width, complete_style=style, finished_style=style)


def share(percent: float) -> str:
    """Return a percentage, rounded down."""
    return f"{int(percent)} %"


def now() -> datetime:
    return datetime.now(UTC)


def age(at: datetime | None) -> str:
    return "" if at is None else f"{rough((now() - at).total_seconds())} ago"


def moment(at: datetime) -> str:
    """Return a time in the local time zone."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def rough(seconds: float) -> str:
    """Return a duration in one unit, for lists."""
    return " ".join(span(seconds).split(" ")[:2])


def span(seconds: float) -> str:
    """Return a duration in at most two units."""
    if seconds < SHORT:
        return f"{max(0.0, seconds):.1f} s"
    remainder, pieces = round(seconds), list[str]()
    for unit, size in UNITS:
        count, remainder = divmod(remainder, size)
        if count or pieces:
            pieces.append(f"{count} {unit}" if count else "")
    return " ".join(piece for piece in pieces[:2] if piece)
