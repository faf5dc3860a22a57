"""The terminal: how wide it is, and how instants, durations, states and bars are shown on it."""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

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


def console(*, stderr: bool = False) -> Console:
    """Where people read. Numbers and names keep the colour that we give them."""
    found = Console(stderr=stderr, highlight=False)
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
