"""`reel profiles`: list the servers of `reel login`, or choose the default."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson
from reelstate.cli.plain import echo
from reelstate.cli.profile_file import read_profiles, write_profiles
from reelstate.cli.signatures import list_by_default
from reelstate.cli.terminal import console, table

profiles = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")


@list_by_default(profiles, "List the servers that you are logged in to, or choose the default.", "reel profiles --json")
def listing(as_json: AsJson = False) -> None:
    """List the servers that you are logged in to, with the ids of their keys. The keys themselves are not shown.

    Example: `reel profiles list`
    """
    found = read_profiles()
    shown = [found.profiles[name] for name in sorted(found.profiles)]
    if as_json:
        rows = [(each, each.name == found.default) for each in shown]
        print_json(
            [
                {"name": each.name, "server": each.server, "key_id": each.key_id, "default": default}
                for each, default in rows
            ]
        )
        return
    made = table("profile", "server", "key", "", flexible=["server"])
    for each in shown:
        made.add_row(each.name, each.server, each.key_id, "default" if each.name == found.default else "")
    console().print(made if shown else "no profiles; `reel login URL` makes one")


@profiles.command()
def use(name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the profile.")]) -> None:
    """Choose the profile that commands use by default.

    Example: `reel profiles use staging`
    """
    found = read_profiles()
    chosen = found.get(name)
    write_profiles(replace(found, default=name))
    echo(f"commands use {chosen.server} (profile {name}) unless a database or another server is named")
