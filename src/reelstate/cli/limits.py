"""`reel limits`: how many tasks run at once or start in a period, and turns of users and other keys."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database, Reason
from reelstate.cli.session import call, operator
from reelstate.cli.terminal import console, table
from reelstate.core.limit import MAX_WEIGHTS, LimitRecord
from reelstate.documents import limit_document, limit_status_document

limits = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the limit, see `reel limits`.")]
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def rate(text: str) -> tuple[int, float]:
    """Parse `STARTS/PERIOD`, such as `100/1h` or `5/10s`."""
    starts, _, period = text.partition("/")
    number, unit = period[:-1] or "1", period[-1:]
    try:
        return int(starts), float(number) * UNITS[unit]
    except (KeyError, ValueError):
        raise typer.BadParameter(f"{text!r} is not a rate (expected such as 100/1h, 5/10s or 1/d)") from None


def weight(text: str) -> tuple[str, float]:
    """Parse `KEY=WEIGHT`."""
    key, separator, number = text.rpartition("=")
    try:
        if separator and key:
            return key, float(number)
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r} is not a weight (expected KEY=NUMBER, such as ada=2)")


@limits.callback(invoke_without_command=True)
def show_all(context: typer.Context, database: Database = None, as_json: AsJson = False) -> None:
    """List limits; or set, show or remove one.

    Example: `reel limits --json`
    """
    if context.invoked_subcommand is None:
        listing(database=database, as_json=as_json)


@limits.command("list")
def listing(
    removed: Annotated[bool, typer.Option("--removed", help="Include limits that were removed.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List the limits in force.

    Example: `reel limits list --removed`
    """
    found = call(database, lambda engine: engine.limits.all(removed=removed))
    if as_json:
        print_json([limit_document(each) for each in found])
        return
    made = table("name", "limit", "set by", "reason", flexible=["limit", "reason"])
    for each in found:
        made.add_row(each.limit.name, _text(each), each.actor, each.reason or "")
    console().print(made if found else "no limits; `reel limits set` sets one")


@limits.command()
def show(name: Name, database: Database = None, as_json: AsJson = False) -> None:
    """Show a limit, and the keys with most tasks.

    Example: `reel limits show customers`
    """
    status = call(database, lambda engine: engine.limits.get(name))
    if as_json:
        print_json(limit_status_document(status))
        return
    console().print(str(status.record.limit))
    made = table("key", "running", "started", "waiting")
    for use in status.uses:
        waiting = f"{use.waiting} or more" if use.waiting >= MAX_WEIGHTS else str(use.waiting)
        made.add_row(use.key or "all", str(use.running), str(use.starts), waiting)
    console().print(made if status.uses else "no task runs or waits under it")


@limits.command("set")
def put(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name; the limit of that name is replaced.")],
    running: Annotated[int | None, typer.Option(metavar="N", help="Tasks that may run at once.")] = None,
    starts: Annotated[
        str | None, typer.Option(metavar="N/PERIOD", help="Tasks that may start in any period, such as 100/1h.")
    ] = None,
    per: Annotated[
        str | None, typer.Option(metavar="KEY", help="Count each `user`, `job` or value such as `spec.customer` apart.")
    ] = None,
    pipeline: Annotated[str | None, typer.Option(help="Only tasks of this pipeline.")] = None,
    stage: Annotated[str | None, typer.Option(help="Only this stage of the pipeline.")] = None,
    user: Annotated[str | None, typer.Option(help="Only tasks of this user.")] = None,
    weights: Annotated[
        list[str] | None, typer.Option("--weight", metavar="KEY=N", help="Turns of a key for each turn of another.")
    ] = None,
    reason: Reason = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Limit tasks by how many run at once or start in a period. Tasks beyond the limit wait.

    With only --per, nothing is limited: users, or other keys, take turns.

    Example: `reel limits set encodes --pipeline transcode --stage encode --running 8`

    Example: `reel limits set customers --per spec.customer --running 4 --starts 100/1h`

    Example: `reel limits set turns --per user --weight ada=2`
    """
    count, period = (None, None) if starts is None else rate(starts)
    record = call(
        database,
        lambda engine: engine.limits.set(
            name,
            running=running,
            starts=count,
            period=period,
            per=per,
            pipeline=pipeline,
            stage=stage,
            user_id=user,
            weights=dict(map(weight, weights or [])),
            actor=operator(),
            reason=reason,
        ),
        wait=True,
    )
    print_json(limit_document(record)) if as_json else console().print(str(record.limit))


@limits.command()
def remove(name: Name, reason: Reason = None, database: Database = None, as_json: AsJson = False) -> None:
    """Remove a limit. What waits for it alone can be claimed at once.

    Example: `reel limits remove customers --reason "not needed any more"`
    """
    record = call(database, lambda engine: engine.limits.remove(name, actor=operator(), reason=reason), wait=True)
    print_json(limit_document(record)) if as_json else console().print(f"{record.limit.name}: removed")


def _text(record: LimitRecord) -> str:
    text = str(record.limit).partition(": ")[2]
    declared = " (declared by the pipeline)" if record.declared else ""
    removed = f" (removed {record.removed_at:%Y-%m-%d %H:%M:%S})" if record.removed_at else ""
    return text + declared + removed
