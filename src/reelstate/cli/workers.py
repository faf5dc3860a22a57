"""`reel workers`: list, register, drain, enable, disable or revoke workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.keys import call_keys, lifetime, new_key_file
from reelstate.cli.options import AsJson, Database, Reason
from reelstate.cli.page import workers_table
from reelstate.cli.plain import echo
from reelstate.cli.session import call, operator
from reelstate.cli.signatures import list_by_default
from reelstate.cli.terminal import console
from reelstate.cli.verbs import EngineVerbs
from reelstate.core.errors import NotFound
from reelstate.core.machine import WorkerStatus
from reelstate.documents import Document, worker_document
from reelstate.services.keys import MadeKey
from reelstate.services.workers import require_worker_name

T = TypeVar("T")
workers = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the worker, which may have several instances.")]
All = Annotated[bool, typer.Option("--all", "-a", help="Include offline instances.")]


@list_by_default(
    workers, "List workers; or register, drain, enable, disable or revoke them by name.", "reel workers --json"
)
def listing(everyone: All = False, database: Database = None, as_json: AsJson = False) -> None:
    """List workers with their tasks and when they were last seen.

    Example: `reel workers list --all`
    """
    found = call(database, lambda engine: engine.workers())
    if as_json:
        print_json([worker_document(worker) for worker in found])
        return
    shown = [worker for worker in found if everyone or worker.status is not WorkerStatus.OFFLINE]
    gone = len(found) - len(shown)
    console().print(workers_table(shown) if shown else "no running workers; start one with `reel worker`")
    if gone:
        console().print(f"{gone} offline; --all lists them", style="dim")


@workers.command()
def drain(name: Name, reason: Reason = None, database: Database = None, as_json: AsJson = False) -> None:
    """Drain the workers of a name: they finish their tasks and claim no more.

    Example: `reel workers drain encoder-7 --reason "new driver"`
    """
    changed = _change(database, name, lambda engine: engine.drain(name, actor=operator(), reason=reason))
    text = f"draining ({_instances(len(changed))})" if changed else "no active instances"
    _print_result(name, text, {"changed": changed}, as_json=as_json)


@workers.command()
def enable(name: Name, reason: Reason = None, database: Database = None, as_json: AsJson = False) -> None:
    """Enable the workers of a name again, after a drain or disable.

    Example: `reel workers enable encoder-7`
    """
    changed = _change(database, name, lambda engine: engine.enable(name, actor=operator(), reason=reason))
    text = "enabled" + (f" ({_instances(len(changed))} no longer draining)" if changed else "")
    _print_result(name, text, {"changed": changed}, as_json=as_json)


@workers.command()
def disable(name: Name, reason: Reason = None, database: Database = None, as_json: AsJson = False) -> None:
    """Disable the workers of a name until it is enabled, also after a restart, and release their tasks.

    Keys of the name stay valid: a remote worker continues once the name is enabled. `reel workers revoke` revokes them.

    Example: `reel workers disable encoder-7 --reason "writes broken files"`
    """
    released = _change(database, name, lambda engine: engine.disable(name, actor=operator(), reason=reason))
    _print_result(name, f"disabled (tasks released: {released})", {"released": released}, as_json=as_json)


@workers.command()
def register(
    name: Name,
    days: Annotated[float | None, typer.Option(min=0, help="Days until the key expires; never by default.")] = None,
    key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The new file for the key; NAME.key by default.")
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Create the key of a remote worker and write it to a file readable by you only; --json prints it instead.

    Example: `reel workers register encoder-7 --key-file encoder-7.key`
    """
    require_worker_name(name)

    def make() -> MadeKey:
        actor = operator()
        return call_keys(database, lambda keys: keys.register_worker(name, actor=actor, lifetime=lifetime(days)))

    if as_json:
        made = make()
        print_json({"name": name, "id": made.key.id, "key": made.text})
        return
    path = key_file or Path(f"{name}.key")
    with new_key_file(path) as file:
        file.write(make().text + "\n")
    echo(f"key of {name} written to {path}; it is stored nowhere else")
    echo(f"next: copy it to the other machine, and there: reel worker --server URL --key-file {path.name}")


@workers.command()
def revoke(name: Name, database: Database = None, as_json: AsJson = False) -> None:
    """Revoke the keys of a remote worker: it stops within seconds, and its tasks are released.

    Example: `reel workers revoke encoder-7`
    """
    keys, tasks = call(database, lambda engine: engine.revoke(name, actor=operator()), wait=True)
    text = f"keys revoked: {keys}; tasks released: {tasks}" if keys else "no valid key"
    _print_result(name, text, {"keys": keys, "released": tasks}, as_json=as_json)


def _change(database: str | None, name: str, verb: Callable[[EngineVerbs], Awaitable[T]]) -> T:
    async def change(engine: EngineVerbs) -> T:
        await _require(engine, name)
        return await verb(engine)

    return call(database, change, wait=True)


async def _require(engine: EngineVerbs, name: str) -> None:
    """Raise `NotFound` for a name that no worker registered under."""
    known = await engine.worker_names()
    if name not in known:
        raise NotFound("worker", repr(name), hint=_list_names(known))


def _list_names(known: Sequence[str]) -> str:
    return f"workers: {', '.join(known)}" if known else "no worker registered; start one with `reel worker`"


def _print_result(name: str, text: str, document: Document, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": name, **document})
    else:
        console().print(Text(f"{name}: {text}"), soft_wrap=True)


def _instances(count: int) -> str:
    return "1 instance" if count == 1 else f"{count} instances"
