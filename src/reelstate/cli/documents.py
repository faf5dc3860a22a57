"""Print JSON documents."""

from __future__ import annotations

import json
from typing import Any

import typer

from reelstate.documents import Document, json_value


def print_json(document: Any) -> None:
    """Print a document, indented."""
    typer.echo(json.dumps(document, indent=2, default=json_value))


def print_line(document: Document) -> None:
    """Print a document on one line."""
    typer.echo(json.dumps(document, default=json_value))
