"""`reel keys`: manage the keys of the HTTP API."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, TextIO, TypeVar

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database
from reelstate.cli.plain import echo
from reelstate.cli.servers import choose_server, refuse_server
from reelstate.cli.session import call, operator, settings_for
from reelstate.cli.signatures import list_by_default
from reelstate.cli.state_files import key_file
from reelstate.cli.terminal import age, console, moment, table
from reelstate.cli.verbs import KeyVerbs, keys_of
from reelstate.core.errors import InvalidRequest
from reelstate.documents import key_document
from reelstate.services.keys import Key, MadeKey, Scope

T = TypeVar("T")
DAY = 86_400.0
keys = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")
KeyId = Annotated[str, typer.Argument(metavar="KEY", help="The id of the key, see `reel keys`.")]
KeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the key to this new file, readable by you only, instead of printing it."),
]
Days = Annotated[float | None, typer.Option(min=0, help="Days until it expires; never by default.")]


@list_by_default(keys, "List keys; or create, rotate or revoke them.", "reel keys --json")
def listing(database: Database = None, as_json: AsJson = False) -> None:
    """List keys with their scopes and when they were last used. The keys themselves are not stored.

    Example: `reel keys list`
    """
    found = call_keys(database, lambda found: found.all())
    if as_json:
        print_json([key_document(key) for key in found])
        return
    made = table("id", "name", "user", "scopes", "used", "until", flexible=["name"])
    for key in found:
        made.add_row(key.id, key.name, key.user_id, " ".join(sorted(key.scopes)), age(key.used_at), _until(key))
    console().print(made if found else "no keys; `reel keys create` creates one")


@keys.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the key.")],
    scope: Annotated[list[Scope], typer.Option(help="A permission of the key; can be repeated.")],
    user: Annotated[str, typer.Option(help="The user whose jobs it can access; an admin key can access all.")] = "",
    days: Days = None,
    key_file: KeyFile = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Create a key, and print it once or write it to a file; only its hash is stored.

    Example: `reel keys create ada-laptop --user ada --scope jobs:read --scope jobs:write --key-file ada.key`
    """
    with _open_key_file(key_file) as file:
        made = call_keys(
            database,
            lambda found: found.create(name, scopes=scope, user_id=user, lifetime=lifetime(days), actor=operator()),
        )
        _print_key(made, file, as_json=as_json)


@keys.command()
def rotate(
    key: KeyId,
    overlap: Annotated[
        float, typer.Option(min=0, metavar="HOURS", help="Hours for which the old key stays valid.")
    ] = 24.0,
    days: Days = None,
    key_file: KeyFile = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Create a key with the same scopes; the old one expires after the overlap.

    Example: `reel keys rotate 4f1e0c9a77b2 --overlap 1`
    """
    with _open_key_file(key_file) as file:
        made = call_keys(
            database,
            lambda found: found.rotate(key, overlap=overlap * 3600, lifetime=lifetime(days), actor=operator()),
        )
        _print_key(made, file, as_json=as_json)


@keys.command()
def revoke(key: KeyId, database: Database = None, as_json: AsJson = False) -> None:
    """Revoke a key; servers refuse it within five seconds.

    Example: `reel keys revoke 4f1e0c9a77b2`
    """
    revoked = call_keys(database, lambda found: found.revoke(key, actor=operator()))
    if as_json:
        print_json({"id": key, "revoked": revoked})
    else:
        console().print(f"key {key}: {'revoked' if revoked else 'already revoked'}")


@keys.command()
def path(database: Database = None) -> None:
    """Print the path of the first admin key of this deployment.

    Example: `cat "$(reel keys path)"`
    """
    refuse_server(choose_server(database))
    echo(key_file(settings_for(database)))


def call_keys(database: str | None, verb: Callable[[KeyVerbs], Awaitable[T]]) -> T:
    """Return the result of a verb on the keys of a deployment."""
    settings = settings_for(database)
    return call(database, lambda engine: verb(keys_of(engine, settings)), wait=True)


def lifetime(days: float | None) -> float | None:
    """Return the lifetime of a key in seconds."""
    return None if days is None else days * DAY


@contextmanager
def new_key_file(path: Path) -> Iterator[TextIO]:
    """Create a file with mode 0600, and remove it if the block raises."""
    try:
        file = open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
    except FileExistsError:
        raise InvalidRequest(
            "key_file", f"{path} exists already", hint="remove it, or choose another path with --key-file"
        ) from None
    except OSError as error:
        raise InvalidRequest(
            "key_file", f"{path} can't be written: {error.strerror}", hint="choose another path with --key-file"
        ) from None
    try:
        with file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _open_key_file(path: Path | None) -> AbstractContextManager[TextIO | None]:
    return nullcontext() if path is None else new_key_file(path)


def _print_key(made: MadeKey, file: TextIO | None, *, as_json: bool) -> None:
    document = key_document(made.key)
    if file is not None:
        file.write(made.text + "\n")
        print_json(document) if as_json else echo(f"key {made.key.id} written to {file.name}")
        return
    if as_json:
        print_json({**document, "key": made.text})
        return
    echo(made.text)
    echo("keep it: it is not stored and can't be printed again", err=True)


def _until(key: Key) -> str:
    if key.revoked_at is not None:
        return f"revoked {moment(key.revoked_at)}"
    return moment(key.expires_at) if key.expires_at else ""
