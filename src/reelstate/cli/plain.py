"""Print plain text without importing rich."""

from __future__ import annotations

import typer

from reelstate.core.printable import printable_text


def echo(text: object, *, err: bool = False, nl: bool = True) -> None:
    """Print text as it is, however long, with control characters escaped; `err` prints to stderr."""
    typer.echo(printable_text(str(text)), err=err, nl=nl)
