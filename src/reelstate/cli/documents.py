"""Print JSON documents."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from textwrap import indent
from typing import Any

import typer

from reelstate.documents import Document, json_value


def print_json(document: Any) -> None:
    """Print a document, indented."""
    typer.echo(json.dumps(document, indent=2, default=json_value))


async def print_json_items(documents: AsyncIterator[Document]) -> None:
    """Print a list of documents as `print_json` does, each as soon as it is there."""
    before = "["
    async for document in documents:
        typer.echo(before + indent("\n" + json.dumps(document, indent=2, default=json_value), "  "), nl=False)
        before = ","
    typer.echo("[]" if before == "[" else "\n]")


def print_line(document: Document) -> None:
    """Print a document on one line."""
    typer.echo(json.dumps(document, default=json_value))
