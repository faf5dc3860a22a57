"""`reel jobs`: list jobs, the newest first."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database
from reelstate.cli.page import jobs_table
from reelstate.cli.session import opened, run
from reelstate.cli.terminal import console
from reelstate.core.machine import JobStatus
from reelstate.core.model import Job, Page
from reelstate.documents import job_document
from reelstate.services.paging import LARGEST_PAGE


def jobs(
    status: Annotated[list[JobStatus] | None, typer.Option(help="Only these; may be given several times.")] = None,
    pipeline: Annotated[str | None, typer.Option(help="Only jobs of this pipeline.")] = None,
    user: Annotated[str | None, typer.Option(help="Only jobs for this user.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=LARGEST_PAGE, help="How many at most.")] = 50,
    after: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="Go on after this job of an earlier list.")
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first. The id of the last one is the cursor for the next page.

    Example: `reel jobs --status failed --status quarantined --limit 20`
    """
    page = run(_read(database, limit, after, {"statuses": status or None, "pipeline": pipeline, "user_id": user}))
    if as_json:
        print_json([job_document(job) for job in page.items])
    else:
        _show(page)


async def _read(database: str | None, limit: int, after: str | None, wanted: dict[str, object]) -> Page[Job]:
    async with opened(database) as engine:
        return await engine.jobs(limit=limit, after=after, **wanted)


def _show(page: Page[Job]) -> None:
    screen = console()
    if not page.items:
        screen.print("no such job; `reel submit` makes one")
        return
    screen.print(jobs_table(page.items))
    if page.after is not None:
        screen.print(f"more: add --after {page.after}", style="dim")
