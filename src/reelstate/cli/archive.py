"""`reel archive`: move finished jobs to the archive, and look at its months."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn

from reelstate.artifacts.storage import open_storage
from reelstate.cli.documents import print_json, print_json_items
from reelstate.cli.options import AsJson, Database
from reelstate.cli.session import call, connect, connect_store, run, settings_for
from reelstate.cli.terminal import age, console, table
from reelstate.cli.verbs import archive_of
from reelstate.core.errors import NotFound
from reelstate.core.month import Month
from reelstate.services.archive import Archived
from reelstate.services.export import ListedMonth

archive = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")
_AGE: Final = re.compile(r"(\d+)\s*(s|min|h|d)", re.ASCII)
_UNITS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86_400}
MonthName = Annotated[str, typer.Argument(metavar="MONTH", help="A month, such as 2026-11.")]
Before = Annotated[
    str | None,
    typer.Option(metavar="DATE|AGE", help="Completed and cancelled jobs that ended before: 2026-10-01, or 30d, 12h."),
]
FailedBefore = Annotated[
    str | None, typer.Option(metavar="DATE|AGE", help="Failed and quarantined jobs that stopped before.")
]


@archive.callback(invoke_without_command=True)
def move(
    context: typer.Context,
    before: Before = None,
    failed_before: FailedBefore = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count the jobs, and move none.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Move finished jobs with all their rows to the archive, where they can be read. The keeper does it every hour.

    Example: `reel archive --before 30d --dry-run`
    """
    if context.invoked_subcommand is not None:
        return
    limits = {"before": _moment(before), "failed_before": _moment(failed_before)}
    moved = run(_move(database, limits, dry_run=dry_run, quiet=as_json))
    if as_json:
        print_json({"jobs": moved.jobs, "rows": moved.rows, "dry_run": dry_run})
        return
    screen = console()
    if not moved.total:
        screen.print("no jobs to archive")
        return
    screen.print(f"{'would archive' if dry_run else 'archived'} {moved.total:,} jobs")
    for month, jobs in sorted(moved.jobs.items()):
        screen.print(f"  {month}  {jobs:,}")


@archive.command("list")
def listing(database: Database = None, as_json: AsJson = False) -> None:
    """List the months of the archive, and those that were exported to the storage.

    Example: `reel archive list --json`
    """
    settings = settings_for(database)
    found = call(database, lambda engine: archive_of(engine, settings).months())
    if as_json:
        print_json([_document(month) for month in found])
        return
    made = table("month", "jobs", "last finished", "exported")
    for month in found:
        jobs, finished = ("", "deleted") if month.deleted else (f"{month.jobs:,}", age(month.finished_at))
        made.add_row(month.month, jobs, finished, "yes" if month.exported else "")
    console().print(made if found else "the archive is empty; `reel archive` moves finished jobs there")


@archive.command("read")
def read(
    month: MonthName,
    of: Annotated[
        str, typer.Option("--table", metavar="TABLE", help="jobs, tasks, stages, events, logs, steps, states, …")
    ] = "jobs",
    database: Database = None,
) -> None:
    """Print the rows of a month as a JSON list, from the archive, or from its export when it was deleted.

    Example: `reel archive read 2026-11 --table events`
    """
    run(_read(database, month, of))


@archive.command("drop")
def drop(
    month: MonthName,
    export: Annotated[bool, typer.Option("--export", help="Write it to the storage first.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    database: Database = None,
) -> None:
    """Delete a month of the archive with all its jobs.

    Example: `reel archive drop 2025-01 --export --yes`
    """
    Month.parse(month)
    if not yes:
        typer.confirm(f"Delete the jobs of {month} for good?", abort=True)
    if not run(_drop(database, month, export=export)):
        raise NotFound("month in the archive", month, hint="`reel archive list` shows the months")
    console().print(f"deleted {month}{' after an export to the storage' if export else ''}")


async def _move(database: str | None, limits: dict[str, datetime | None], *, dry_run: bool, quiet: bool) -> Archived:
    settings = settings_for(database)
    screen = console(stderr=True)
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), console=screen, transient=True) as progress:
        bar = progress.add_task("archiving", visible=not quiet and screen.is_terminal)

        def on_batch(moved: Archived) -> None:
            progress.update(bar, description=f"archiving: {moved.total:,} jobs, month {max(moved.jobs, default='')}")

        async with connect_store(database, wait=True) as engine:
            return await engine.archive(
                older=settings.archive_after or None,
                failed_older=settings.archive_failed_after or None,
                dry_run=dry_run,
                on_batch=on_batch,
                **limits,
            )


async def _read(database: str | None, month: str, of: str) -> None:
    async with connect(database) as engine:
        await print_json_items(archive_of(engine, settings_for(database)).rows(month, of))


async def _drop(database: str | None, month: str, *, export: bool) -> bool:
    storage = open_storage(settings_for(database).storage_url) if export else None
    async with connect_store(database, wait=True) as engine:
        return await engine.drop_month(month, storage=storage)


def _document(month: ListedMonth) -> dict[str, Any]:
    return {
        "month": month.month,
        "jobs": month.jobs,
        "finished_at": month.finished_at,
        "exported": month.exported,
    }


def _moment(text: str | None) -> datetime | None:
    """Parse a date, a time, or an age such as 30d."""
    if text is None:
        return None
    if found := _AGE.fullmatch(text):
        return datetime.now(UTC) - timedelta(seconds=int(found[1]) * _UNITS[found[2]])
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a date or an age (expected 2026-10-01, or 30d, 12h)") from None
    return moment if moment.tzinfo else moment.astimezone()
