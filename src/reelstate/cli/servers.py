"""Which server a command uses in place of a database, and the option `--server` of all commands that can.

`--server` wins over REEL_SERVER, which wins over the default profile of `reel login`. A database that is named with
`--database` or REEL_DATABASE_URL wins over the profile. A key is only sent to the server that it was given for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Annotated, Any, Final

import typer

from reelstate.cli.profile_file import Profiles, read_profiles
from reelstate.cli.signatures import make_command, parameters_of
from reelstate.config import Settings, from_environment, variable
from reelstate.core.errors import InvalidRequest, InvalidSetting, ReelstateError

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL|PROFILE",
        help="A server instead of a database: its address, or a profile of `reel login`. Else `REEL_SERVER`.",
    ),
]
NoServer = Annotated[str | None, typer.Option("--server", metavar="URL|PROFILE", hidden=True)]
OPTION: Final = "server"
DATABASE: Final = variable("database_url")
LOCAL: Final = frozenset(
    {"archive", "archive drop", "demo", "doctor", "ingest", "keys path", "migrate", "purge", "serve", "up"}
)
"""Commands that need the database or this machine."""
_named: ContextVar[str | None] = ContextVar("server", default=None)


@dataclass(frozen=True, slots=True)
class ChosenServer:
    """The server of a command, its key, and what chose it."""

    url: str
    key: str = field(repr=False)
    source: str
    """--server, REEL_SERVER, or the name of a profile."""
    insecure: bool = False
    implied: bool = False
    """Whether it was chosen because a profile is the default."""

    def __str__(self) -> str:
        return f"{self.url} ({self.source})"


def choose_server(database: str | None) -> ChosenServer | None:
    """Return the server that a command uses; None for a database."""
    settings = from_environment(os.environ)
    given_here = database is not None and database != os.environ.get(DATABASE)
    if (name := _named.get()) is not None:
        if given_here:
            raise typer.BadParameter("expected either --server or --database", param_hint="--server")
        return _resolve(name, "--server", settings)
    if given_here:
        return None
    if settings.server and database is not None:
        raise InvalidSetting(
            variable("server"),
            settings.server,
            f"nothing beside {DATABASE}",
            hint="unset one of the two, or choose with --server or --database",
        )
    if settings.server:
        return _resolve(settings.server, variable("server"), settings)
    return None if database is not None else _default(settings)


def refuse_server(server: ChosenServer | None) -> None:
    """Raise `ReelstateError` if a command would use a server that can't offer it."""
    if server is not None:
        raise _not_offered(str(server))


def offer_server(name: str, command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option `--server`, beside `--database`; one that needs the database refuses it."""
    parameters = parameters_of(command)
    names = [each.name for each in parameters]
    local = name in LOCAL
    if OPTION in names or not (local or "database" in names):
        return command

    def run(**options: Any) -> Any:
        server = options.pop(OPTION)
        if server is not None and _has_subcommand(options):
            raise typer.BadParameter("expected after the subcommand", param_hint="--server")
        if server is not None and local:
            raise _not_offered(server)
        with _naming(server):
            return command(**options)

    option = Parameter(OPTION, Parameter.KEYWORD_ONLY, default=None, annotation=NoServer if local else Server)
    after = names.index("database") + 1 if "database" in names else len(names)
    return make_command(command, run, [*parameters[:after], option, *parameters[after:]])


@contextmanager
def _naming(server: str | None) -> Iterator[None]:
    before = _named.set(server)
    try:
        yield
    finally:
        _named.reset(before)


def _has_subcommand(options: dict[str, Any]) -> bool:
    return any(getattr(value, "invoked_subcommand", None) for value in options.values())


def _not_offered(server: str) -> ReelstateError:
    return ReelstateError(
        f"this command needs the database or this machine, and does not work over {server}",
        hint="run it on a machine of the deployment, without --server or with --database",
    )


def _resolve(name: str, source: str, settings: Settings) -> ChosenServer:
    """Return the server of an address or of a profile, with the key that belongs to it."""
    from_variable = source == variable("server")
    insecure = settings.insecure_http == "allow"
    if "://" not in name:
        profile = read_profiles().get(name)
        key = settings.key if from_variable and settings.key else profile.key
        return ChosenServer(profile.server, key, f"profile {name}", profile.insecure_http or insecure)
    url = name.rstrip("/")
    if settings.key and (from_variable or _address(settings.server) in {"", url}):
        return ChosenServer(url, settings.key, source, insecure)
    found = read_profiles().of_server(url)
    if found is None:
        raise InvalidRequest(
            "key", f"there is no key for {url}", hint=f"`reel login {url}` stores one; or set {variable('key')}"
        )
    return ChosenServer(url, found.key, source, found.insecure_http or insecure)


def _address(server: str) -> str:
    """Return the address that REEL_SERVER names; empty if it is not set."""
    return server.rstrip("/") if "://" in server or not server else read_profiles().get(server).server


def _default(settings: Settings) -> ChosenServer | None:
    found: Profiles = read_profiles()
    if found.default is None:
        return None
    profile = found.profiles[found.default]
    insecure = profile.insecure_http or settings.insecure_http == "allow"
    return ChosenServer(profile.server, profile.key, f"profile {profile.name}", insecure, implied=True)
