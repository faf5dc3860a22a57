"""`reel jobs`: list jobs."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database, StatusName
from reelstate.cli.page import jobs_table
from reelstate.cli.session import call
from reelstate.cli.terminal import console
from reelstate.core.machine import job_statuses
from reelstate.core.model import Job, Page
from reelstate.documents import job_document
from reelstate.services.paging import LARGEST_PAGE


def jobs(
    search: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TERM]...", help='A search, such as `status:failed created:<7d error~"disk full"`.'),
    ] = None,
    status: Annotated[
        list[StatusName] | None,
        typer.Option(help="Only jobs of this status; can be repeated. `running` includes every phase."),
    ] = None,
    pipeline: Annotated[str | None, typer.Option(help="Only jobs of this pipeline.")] = None,
    user: Annotated[str | None, typer.Option(help="Only jobs of this user.")] = None,
    flagged: Annotated[bool, typer.Option("--flagged", help="Only jobs that are flagged for an operator.")] = False,
    archived: Annotated[bool, typer.Option("--archived", help="Jobs in the archive.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=LARGEST_PAGE, help="The maximum number of jobs.")] = 50,
    after: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="Continue after this job of an earlier list.")
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first. The id of the last one is the cursor of the next page.

    A search has terms FIELD:VALUE: status, pipeline, user, group, schedule, key, created, finished, priority,
    error~TEXT and spec.FIELD=VALUE or spec.FIELD~=TEXT. Use quotes of the shell around values with < or spaces.

    Example: `reel jobs status:failed,quarantined 'created:<7d' 'error~"out of memory"'`
    """
    statuses = job_statuses(status)
    page = call(
        database,
        lambda engine: engine.jobs(
            statuses=statuses,
            pipeline=pipeline,
            user_id=user,
            flagged=flagged,
            archived=archived,
            search=" ".join(search or ()) or None,
            limit=limit,
            after=after,
        ),
    )
    if as_json:
        print_json([job_document(job) for job in page.items])
    else:
        _show(page)


def _show(page: Page[Job]) -> None:
    screen = console()
    if page.items:
        screen.print(jobs_table(page.items))
    elif page.after is None:
        screen.print("no jobs found; `reel submit` submits one")
    else:
        screen.print("no jobs found among those looked at")
    if page.after is not None:
        screen.print(f"more: add --after {page.after}", style="dim")
