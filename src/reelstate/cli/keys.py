"""`reel keys`: manage the keys of the HTTP API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Annotated, TextIO

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.key_file import new_key_file
from reelstate.cli.options import AsJson, Database
from reelstate.cli.plain import echo
from reelstate.cli.session import connect, operator, run, settings_for
from reelstate.cli.state_files import key_file
from reelstate.cli.terminal import age, console, moment, table
from reelstate.documents import key_document
from reelstate.services.keys import Key, Keys, MadeKey, Scope

DAY = 86_400.0
keys = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")
KeyId = Annotated[str, typer.Argument(metavar="KEY", help="The id of the key, see `reel keys`.")]
KeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the key to this new file, readable by you only, instead of printing it."),
]
Days = Annotated[float | None, typer.Option(min=0, help="Days until it expires; never by default.")]


@keys.callback(invoke_without_command=True)
def show(context: typer.Context, database: Database = None, as_json: AsJson = False) -> None:
    """List keys; or create, rotate or revoke them.

    Example: `reel keys --json`
    """
    if context.invoked_subcommand is None:
        listing(database=database, as_json=as_json)


@keys.command("list")
def listing(database: Database = None, as_json: AsJson = False) -> None:
    """List keys with their scopes and when they were last used. The keys themselves are not stored.

    Example: `reel keys list`
    """
    found = run(_list(database))
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
        _print_key(run(_create(database, name, scope, user, days)), file, as_json=as_json)


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
        _print_key(run(_rotate(database, key, overlap * 3600, days)), file, as_json=as_json)


@keys.command()
def revoke(key: KeyId, database: Database = None, as_json: AsJson = False) -> None:
    """Revoke a key; servers refuse it within five seconds.

    Example: `reel keys revoke 4f1e0c9a77b2`
    """
    revoked = run(_revoke(database, key))
    if as_json:
        print_json({"id": key, "revoked": revoked})
    else:
        console().print(f"key {key}: {'revoked' if revoked else 'already revoked'}")


@keys.command()
def path(database: Database = None) -> None:
    """Print the path of the first admin key of this deployment.

    Example: `cat "$(reel keys path)"`
    """
    echo(key_file(settings_for(database)))


async def _list(database: str | None) -> list[Key]:
    async with _open_keys(database) as found:
        return await found.all()


async def _create(database: str | None, name: str, scopes: Sequence[Scope], user: str, days: float | None) -> MadeKey:
    async with _open_keys(database) as found:
        return await found.create(name, scopes=scopes, user_id=user, lifetime=_seconds(days), actor=operator())


async def _rotate(database: str | None, key: str, overlap: float, days: float | None) -> MadeKey:
    async with _open_keys(database) as found:
        return await found.rotate(key, overlap=overlap, lifetime=_seconds(days), actor=operator())


async def _revoke(database: str | None, key: str) -> bool:
    async with _open_keys(database) as found:
        return await found.revoke(key, actor=operator())


@asynccontextmanager
async def _open_keys(database: str | None) -> AsyncIterator[Keys]:
    async with connect(database, wait=True) as engine:
        yield Keys(engine.store, pepper=settings_for(database).key_pepper)


def _seconds(days: float | None) -> float | None:
    return None if days is None else days * DAY


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
