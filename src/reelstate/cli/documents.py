"""Documents on the way to programs: how commands print JSON."""

from __future__ import annotations

import json
from typing import Any

import typer

from reelstate.documents import Document, json_value


def print_json(document: Any) -> None:
    """One document over several lines."""
    typer.echo(json.dumps(document, indent=2, default=json_value))


def print_line(document: Document) -> None:
    """One document on one line, at once: for streams."""
    typer.echo(json.dumps(document, default=json_value))
