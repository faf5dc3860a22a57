"""The terminal: how wide it is, and how instants, durations, states and bars are shown on it.

Every command prints on a `Screen`, which escapes the text of others; plain lines go through `plain`, JSON through
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
"""Columns where nobody looks: a pipe or a file is not cut at what a terminal would have."""
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
AT_WORK = "cyan"
SHORT = 9.95
UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


class Screen(Console):
    """A console on which text is text: no markup, no control characters of whoever wrote it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **options})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Every text on its way to the terminal passes here, also those in tables, groups and live pages."""
        if isinstance(renderable, str):
            return super().render(printable_text(renderable), options)
        if isinstance(renderable, Text) and printable_text(renderable.plain) != renderable.plain:
            return super().render(self._escaped(renderable), options)
        return super().render(renderable, options)

    def _escaped(self, text: Text) -> Text:
        """The same text, piece by piece in its styles, with control characters as escapes."""
        made = text.blank_copy()
        for piece in text.render(self):
            made.append(printable_text(piece.text), piece.style)
        return made


def console(*, stderr: bool = False) -> Console:
    """Where people read. Numbers and names keep the colour that we give them."""
    found = Screen(stderr=stderr)
    if not found.is_terminal and not os.environ.get("COLUMNS"):
        found.width = WIDE
    return found


def status(word: str) -> Text:
    return Text(word, style=STYLES.get(word, AT_WORK))


def table(*heads: str, flexible: Collection[str] = ()) -> Table:
    """A listing with no more lines than it needs. Where there is no room, only flexible columns give way."""
    made = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), header_style="dim", show_edge=False, pad_edge=False)
    for head in heads:
        made.add_column(cut(head), no_wrap=head not in flexible, overflow="fold")
    return made


def cut(text: str) -> Text:
    """A cell of a flexible column that stays on its line."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def bar(percent: float, word: str, width: int = 20) -> ProgressBar:
    """A bar in the colour of what it belongs to."""
    style = STYLES.get(word, AT_WORK)
    return ProgressBar(total=100, completed=percent, width=width, complete_style=style, finished_style=style)


def share(percent: float) -> str:
    """A percentage that says 100 only at the end."""
    return f"{int(percent)} %"


def now() -> datetime:
    return datetime.now(UTC)


def age(at: datetime | None) -> str:
    return "" if at is None else f"{rough((now() - at).total_seconds())} ago"


def moment(at: datetime) -> str:
    """An instant in the time zone of whoever looks."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def rough(seconds: float) -> str:
    """A duration in one unit, for lists."""
    return " ".join(span(seconds).split(" ")[:2])


def span(seconds: float) -> str:
    """A duration in at most two units; tenths while it is short."""
    if seconds < SHORT:
        return f"{max(0.0, seconds):.1f} s"
    rest, pieces = round(seconds), list[str]()
    for unit, size in UNITS:
        count, rest = divmod(rest, size)
        if count or pieces:
            pieces.append(f"{count} {unit}" if count else "")
    return " ".join(piece for piece in pieces[:2] if piece)
