"""`reel paused`: list what is paused."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database
from reelstate.cli.plain import echo
from reelstate.cli.session import call
from reelstate.documents import pause_document


def paused(
    lifted: Annotated[bool, typer.Option("--lifted", help="Include pauses that have been lifted.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List what is paused, by whom and why, newest first.

    Example: `reel paused --lifted`
    """
    found = call(database, lambda engine: engine.pauses(lifted=lifted))
    if as_json:
        print_json([pause_document(each) for each in found])
        return
    if not found:
        echo("nothing is paused")
    for each in found:
        since = f"{each.paused_at:%Y-%m-%d %H:%M:%S} "
        until = f", resumed {each.resumed_at:%Y-%m-%d %H:%M:%S} by {each.resumed_by}" if each.resumed_at else ""
        echo(f"{since}{each}{until}")
