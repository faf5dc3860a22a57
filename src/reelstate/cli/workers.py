"""`reel workers`: list them; register a remote one; drain, enable, disable or revoke a name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.key_file import new_key_file
from reelstate.cli.options import AsJson, Database, Reason
from reelstate.cli.page import workers_table
from reelstate.cli.plain import echo
from reelstate.cli.session import connect, operator, run, settings_for
from reelstate.cli.terminal import console
from reelstate.core.errors import NotFound
from reelstate.core.machine import WorkerStatus
from reelstate.core.model import Worker
from reelstate.documents import Document, worker_document
from reelstate.engine import Engine
from reelstate.services.keys import Keys, MadeKey
from reelstate.services.workers import require_worker_name

DAY = 86_400.0
workers = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The workers' name; it may have several instances.")]
All = Annotated[bool, typer.Option("--all", "-a", help="Also instances that are gone.")]


@workers.callback(invoke_without_command=True)
def show(context: typer.Context, everyone: All = False, database: Database = None, as_json: AsJson = False) -> None:
    """List workers; or register, drain, enable, disable or revoke them by name.

    Example: `reel workers --json`
    """
    if context.invoked_subcommand is None:
        listing(everyone=everyone, database=database, as_json=as_json)


@workers.command("list")
def listing(everyone: All = False, database: Database = None, as_json: AsJson = False) -> None:
    """List workers with what they run and when they were last heard of.

    Example: `reel workers list --all`
    """
    found = run(_read(database))
    if as_json:
        print_json([worker_document(worker) for worker in found])
        return
    shown = [worker for worker in found if everyone or worker.status is not WorkerStatus.OFFLINE]
    gone = len(found) - len(shown)
    console().print(workers_table(shown) if shown else "no worker is running; start one with `reel worker`")
    if gone:
        console().print(f"{gone} more {'is' if gone == 1 else 'are'} offline; --all shows them", style="dim")


@workers.command()
def drain(name: Name, reason: Reason = None, database: Database = None, as_json: AsJson = False) -> None:
    """Let the workers of a name finish what they run and take nothing new.

    Example: `reel workers drain encoder-7 --reason "new driver"`
    """
    changed = run(_drain(database, name, reason))
    words = f"draining ({_instances(len(changed))})" if changed else "nothing to do, none of them is active"
    _tell(name, words, {"changed": changed}, as_json=as_json)


@workers.command()
def enable(name: Name, reason: Reason = None, database: Database = None, as_json: AsJson = False) -> None:
    """Let the workers of a name take work again, after a drain or a disable.

    Example: `reel workers enable encoder-7`
    """
    changed = run(_enable(database, name, reason))
    words = "may take work" + (f" ({_instances(len(changed))} no longer draining)" if changed else "")
    _tell(name, words, {"changed": changed}, as_json=as_json)


@workers.command()
def disable(name: Name, reason: Reason = None, database: Database = None, as_json: AsJson = False) -> None:
    """Refuse work to a name, now and after a restart, until it is enabled; what its workers run is given to others.

    Keys of the name stay: a remote worker goes on once the name is enabled. `reel workers revoke` ends them.

    Example: `reel workers disable encoder-7 --reason "writes broken files"`
    """
    released = run(_disable(database, name, reason))
    _tell(name, f"disabled (tasks given back: {released})", {"released": released}, as_json=as_json)


@workers.command()
def register(
    name: Name,
    days: Annotated[float | None, typer.Option(min=0, help="Days until the key expires; never if left out.")] = None,
    key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The new file that the key is written to; else NAME.key.")
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make the key of a remote worker and write it to a file that only you can read; --json prints it instead.

    Example: `reel workers register encoder-7 --key-file encoder-7.key`
    """
    require_worker_name(name)
    if as_json:
        made = run(_register(database, name, days))
        print_json({"name": name, "id": made.key.id, "key": made.text})
        return
    path = key_file or Path(f"{name}.key")
    with new_key_file(path) as file:
        file.write(run(_register(database, name, days)).text + "\n")
    echo(f"the key of {name} is in {path}; it is stored nowhere else")
    echo(f"next: copy it to the other machine, and there: reel worker --server URL --key-file {path.name}")


@workers.command()
def revoke(name: Name, database: Database = None, as_json: AsJson = False) -> None:
    """End the keys of a remote worker: it stops within seconds, and what it runs is given to others, uncharged.

    Example: `reel workers revoke encoder-7`
    """
    keys, tasks = run(_revoke(database, name))
    words = f"keys revoked: {keys}; tasks given back: {tasks}" if keys else "nothing to do, it has no key in force"
    _tell(name, words, {"keys": keys, "released": tasks}, as_json=as_json)


async def _register(database: str | None, name: str, days: float | None) -> MadeKey:
    async with connect(database, wait=True) as engine:
        keys = Keys(engine.store, pepper=settings_for(database).key_pepper)
        lifetime = None if days is None else days * DAY
        return await keys.register_worker(name, actor=operator(), lifetime=lifetime)


async def _revoke(database: str | None, name: str) -> tuple[int, int]:
    async with connect(database, wait=True) as engine:
        return await engine.revoke(name, actor=operator())


async def _read(database: str | None) -> list[Worker]:
    async with connect(database) as engine:
        return await engine.workers()


async def _drain(database: str | None, name: str, reason: str | None) -> list[int]:
    async with connect(database, wait=True) as engine:
        await _require(engine, name)
        return await engine.drain(name, actor=operator(), reason=reason)


async def _enable(database: str | None, name: str, reason: str | None) -> list[int]:
    async with connect(database, wait=True) as engine:
        await _require(engine, name)
        return await engine.enable(name, actor=operator(), reason=reason)


async def _disable(database: str | None, name: str, reason: str | None) -> int:
    async with connect(database, wait=True) as engine:
        await _require(engine, name)
        return await engine.disable(name, actor=operator(), reason=reason)


async def _require(engine: Engine, name: str) -> None:
    """Raise for a name that no worker was ever registered under."""
    known = await engine.worker_names()
    if name not in known:
        raise NotFound("worker", repr(name), hint=_names(known))


def _names(known: Sequence[str]) -> str:
    return f"there are: {', '.join(known)}" if known else "no worker has registered yet; start one with `reel worker`"


def _tell(name: str, words: str, document: Document, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": name, **document})
    else:
        console().print(Text(f"{name}: {words}"), soft_wrap=True)


def _instances(count: int) -> str:
    return "1 instance" if count == 1 else f"{count} instances"
