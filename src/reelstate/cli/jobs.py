"""`reel jobs`: list jobs, the newest first."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database, StatusName
from reelstate.cli.page import jobs_table
from reelstate.cli.session import connect, run
from reelstate.cli.terminal import console
from reelstate.core.machine import job_statuses
from reelstate.core.model import Job, Page
from reelstate.documents import job_document
from reelstate.services.observe import JobFilter
from reelstate.services.paging import LARGEST_PAGE


def jobs(
    status: Annotated[
        list[StatusName] | None,
        typer.Option(help="Only these; may be given several times. `running` is every phase."),
    ] = None,
    pipeline: Annotated[str | None, typer.Option(help="Only jobs of this pipeline.")] = None,
    user: Annotated[str | None, typer.Option(help="Only jobs for this user.")] = None,
    flagged: Annotated[bool, typer.Option("--flagged", help="Only jobs that are flagged for an operator.")] = False,
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
    wanted = JobFilter(statuses=job_statuses(status), pipeline=pipeline, user_id=user, flagged=flagged)
    page = run(_read(database, limit, after, wanted))
    if as_json:
        print_json([job_document(job) for job in page.items])
    else:
        _show(page)


async def _read(database: str | None, limit: int, after: str | None, wanted: JobFilter) -> Page[Job]:
    async with connect(database) as engine:
        return await engine.jobs(
            statuses=wanted.statuses,
            pipeline=wanted.pipeline,
            user_id=wanted.user_id,
            flagged=wanted.flagged,
            limit=limit,
            after=after,
        )


def _show(page: Page[Job]) -> None:
    screen = console()
    if not page.items:
        screen.print("no such job; `reel submit` makes one")
        return
    screen.print(jobs_table(page.items))
    if page.after is not None:
        screen.print(f"more: add --after {page.after}", style="dim")
