"""`reel logout`: forget a server and its key."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.cli.plain import echo
from reelstate.cli.profile_file import read_profiles, write_profiles
from reelstate.core.errors import InvalidRequest


def logout(
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="The profile; the default one if left out.")
    ] = None,
) -> None:
    """Forget a server and its key. The key stays valid: `reel keys revoke` ends it.

    Example: `reel logout --profile prod`
    """
    found = read_profiles()
    name = profile or found.default
    if name is None:
        raise InvalidRequest("profile", "there is no default profile", hint="`reel profiles` lists them")
    forgotten = found.get(name)
    write_profiles(found.without(name))
    echo(f"profile {name}: forgot the key {forgotten.key_id} for {forgotten.server}")
