"""`reel groups`: list groups of jobs."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database
from reelstate.cli.session import call
from reelstate.cli.terminal import age, console, share, status, table
from reelstate.core.group import GroupDetail
from reelstate.core.model import Page
from reelstate.documents import group_document
from reelstate.services.paging import LARGEST_PAGE


def groups(
    user: Annotated[str | None, typer.Option(help="Only groups of this user.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=LARGEST_PAGE, help="The maximum number of groups.")] = 50,
    after: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="Continue after the last group of an earlier list.")
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List groups of jobs, newest first, with the status and the progress of their jobs together.

    Example: `reel groups --user ada`
    """
    page = call(database, lambda engine: engine.groups(user_id=user, limit=limit, after=after))
    if as_json:
        print_json([group_document(group) for group in page.items])
    else:
        _show(page)


def counts_text(group: GroupDetail) -> str:
    """Return the number of jobs by status, such as `37 completed, 2 running`."""
    return ", ".join(f"{count:,} {name}" for name, count in sorted(group.counts.items())) or "no jobs"


def _show(page: Page[GroupDetail]) -> None:
    screen = console()
    if not page.items:
        screen.print("no groups; `reel submit --group NAME` begins one")
        return
    made = table("group", "user", "status", "progress", "jobs", "created", flexible=["group", "jobs"])
    for group in page.items:
        shown = status(group.status), share(group.progress), counts_text(group), age(group.created_at)
        made.add_row(group.name, group.user_id, *shown)
    screen.print(made)
    if page.after is not None:
        screen.print(f"more: add --after {page.after}", style="dim")
