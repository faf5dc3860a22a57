"""`reel login`: check a key at a server, and store both as a profile."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Final

import typer

from reelstate.cli.plain import echo
from reelstate.cli.profile_file import Profile, read_profiles, require_profile_name, write_profiles
from reelstate.cli.session import run
from reelstate.config import from_environment, variable
from reelstate.core.errors import InvalidRequest

DEFAULT: Final = "default"
MAX_LINE: Final = 1000


def login(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address of the server, https://…")],
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="The name of the profile, for `--server NAME`.")
    ] = DEFAULT,
    insecure_http: Annotated[
        bool, typer.Option("--insecure-http", help="Send the key unencrypted, where the network itself is trusted.")
    ] = False,
) -> None:
    """Log in to a server: check a key, and store both as the profile that commands use by default.

    The key is asked for, read from standard input, or taken from REEL_KEY; it is never an argument. It is stored in
    reel/profiles.json in $XDG_CONFIG_HOME or ~/.config, readable by you only.

    Example: `reel login https://reel.example.org --profile prod`
    """
    from reelstate.client.account import read_account  # noqa: PLC0415 - httpx and pydantic are slow to load
    from reelstate.client.transport import SOFTWARE, ServerAddress  # noqa: PLC0415 - same

    settings = from_environment(os.environ)
    name, address = require_profile_name(profile), url.rstrip("/")
    insecure = insecure_http or settings.insecure_http == "allow"
    ServerAddress(address, "-", insecure)  # refuses the address before a key is asked for
    server = ServerAddress(address, settings.key or _read_key(address), insecure)
    account = run(read_account(server))
    path = write_profiles(read_profiles().with_profile(Profile(name, address, server.key, insecure)))
    echo(f"logged in to {address} as {account.name} ({', '.join(account.scopes)}); profile {name} in {path}")
    if account.version != SOFTWARE:
        echo(f"the server runs version {account.version}, this command is {SOFTWARE}", err=True)


def _read_key(address: str) -> str:
    """Ask for the key on a terminal without showing it, or read it from standard input."""
    if sys.stdin.isatty():
        return str(typer.prompt(f"key for {address}", hide_input=True, err=True)).strip()
    key = sys.stdin.readline(MAX_LINE).strip()
    if not key:
        raise InvalidRequest("key", "standard input is empty", hint=f"pipe the key in, or set {variable('key')}")
    return key
