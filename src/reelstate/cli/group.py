"""`reel group`: show a group of jobs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.groups import counts_text
from reelstate.cli.options import AsJson, Database
from reelstate.cli.page import jobs_table
from reelstate.cli.session import call
from reelstate.cli.terminal import age, console, share, status
from reelstate.cli.verbs import EngineVerbs
from reelstate.core.group import GroupDetail
from reelstate.core.model import Job
from reelstate.documents import group_document

SHOWN = 10
"""Jobs that the page of a group shows."""


def group(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the group, see `reel groups`.")],
    user: Annotated[str | None, typer.Option(help="The user whose group it is, where several have one.")] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show a group: the status, the counts and the progress of its jobs, and the newest of them.

    `reel jobs group:NAME` lists all of them; `reel cancel --group NAME` and `reel retry --group NAME` change them.

    Example: `reel group nightly-2026-11-19 --json`
    """
    found, jobs = call(database, lambda engine: _read(engine, name, user))
    if as_json:
        print_json(group_document(found))
    else:
        _show(found, jobs)


async def _read(engine: EngineVerbs, name: str, user: str | None) -> tuple[GroupDetail, list[Job]]:
    found = await engine.group(name, user_id=user)
    page = await engine.jobs(search=f"group:{name}", user_id=found.user_id, limit=SHOWN)
    return found, page.items


def _show(group: GroupDetail, jobs: list[Job]) -> None:
    screen = console()
    owner = f" of {group.user_id}" if group.user_id else ""
    screen.print(Text.assemble(f"group {group.name}{owner} ", status(group.status), f" {share(group.progress)}"))
    screen.print(f"{group.jobs:,} jobs: {counts_text(group)}", soft_wrap=True)
    end = f", finished {age(group.finished_at)}" if group.finished_at else ""
    screen.print(f"created {age(group.created_at)}{end}", style="dim")
    if group.callback is not None:
        screen.print(f"callback {group.callback}", soft_wrap=True)
    if jobs:
        screen.print(jobs_table(jobs))
    if len(jobs) < group.jobs:
        screen.print(f"all jobs: reel jobs group:{group.name}", style="dim")
