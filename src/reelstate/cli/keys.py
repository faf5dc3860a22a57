"""`reel keys`: who may ask over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database
from reelstate.cli.session import opened, operator, run, settings_for
from reelstate.cli.terminal import age, console, moment, table
from reelstate.documents import key_document
from reelstate.services.keys import Key, Keys, MadeKey, Scope

DAY = 86_400.0
keys = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")
KeyId = Annotated[str, typer.Argument(metavar="KEY", help="The key's id, as `reel keys` lists it.")]
Days = Annotated[float | None, typer.Option(min=0, help="Days until it expires; never if left out.")]


@keys.callback(invoke_without_command=True)
def show(context: typer.Context, database: Database = None, as_json: AsJson = False) -> None:
    """List keys; or create, rotate or revoke them.

    Example: `reel keys --json`
    """
    if context.invoked_subcommand is None:
        listing(database=database, as_json=as_json)


@keys.command("list")
def listing(database: Database = None, as_json: AsJson = False) -> None:
    """List keys with what they are for and when they were last used. Their secrets are not known to anybody.

    Example: `reel keys list`
    """
    found = run(_list(database))
    if as_json:
        print_json([key_document(key) for key in found])
        return
    made = table("id", "name", "user", "scopes", "used", "until", flexible=["name"])
    for key in found:
        made.add_row(key.id, key.name, key.user_id, " ".join(sorted(key.scopes)), age(key.used_at), _until(key))
    console().print(made if found else "no key yet; `reel keys create` makes one")


@keys.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who or what will use it.")],
    scope: Annotated[list[Scope], typer.Option(help="What it is for; may be given several times.")],
    user: Annotated[str, typer.Option(help="The user whose jobs it sees; an admin key sees everybody's.")] = "",
    days: Days = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a key. It is shown once: only a hash of it is stored.

    Example: `reel keys create ada-laptop --user ada --scope jobs:read --scope jobs:write`
    """
    _tell(run(_create(database, name, scope, user, days)), as_json=as_json)


@keys.command()
def rotate(
    key: KeyId,
    overlap: Annotated[float, typer.Option(min=0, help="Hours for which the old key still works.")] = 24.0,
    days: Days = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a new key that may do the same; the old one ends after the overlap.

    Example: `reel keys rotate 4f1e0c9a77b2 --overlap 1`
    """
    _tell(run(_rotate(database, key, overlap * 3600, days)), as_json=as_json)


@keys.command()
def revoke(key: KeyId, database: Database = None, as_json: AsJson = False) -> None:
    """End a key now; servers refuse it within five seconds.

    Example: `reel keys revoke 4f1e0c9a77b2`
    """
    revoked = run(_revoke(database, key))
    if as_json:
        print_json({"id": key, "revoked": revoked})
    else:
        console().print(f"key {key}: {'revoked' if revoked else 'nothing to do, it is so already'}")


async def _list(database: str | None) -> list[Key]:
    async with _opened(database) as found:
        return await found.all()


async def _create(database: str | None, name: str, scopes: Sequence[Scope], user: str, days: float | None) -> MadeKey:
    async with _opened(database) as found:
        return await found.create(name, scopes=scopes, user_id=user, lifetime=_seconds(days), actor=operator())


async def _rotate(database: str | None, key: str, overlap: float, days: float | None) -> MadeKey:
    async with _opened(database) as found:
        return await found.rotate(key, overlap=overlap, lifetime=_seconds(days), actor=operator())


async def _revoke(database: str | None, key: str) -> bool:
    async with _opened(database) as found:
        return await found.revoke(key, actor=operator())


@asynccontextmanager
async def _opened(database: str | None) -> AsyncIterator[Keys]:
    async with opened(database, patient=True) as engine:
        yield Keys(engine.store, pepper=settings_for(database).key_pepper)


def _seconds(days: float | None) -> float | None:
    return None if days is None else days * DAY


def _tell(made: MadeKey, *, as_json: bool) -> None:
    if as_json:
        print_json({**key_document(made.key), "key": made.text})
        return
    typer.echo(made.text)
    typer.echo("keep it: it is not stored and can't be shown again", err=True)


def _until(key: Key) -> str:
    if key.revoked_at is not None:
        return f"revoked {moment(key.revoked_at)}"
    return moment(key.expires_at) if key.expires_at else ""
