"""`reel history`: every change of a job and all in it, from the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database, JobId
from reelstate.cli.page import cause_line
from reelstate.cli.session import opened, run
from reelstate.cli.terminal import console, moment, status, table
from reelstate.core.machine import Actor, TaskStatus
from reelstate.core.model import Event
from reelstate.documents import event_document, stage_name
from reelstate.services.engine import Engine
from reelstate.services.paging import LARGEST_PAGE, every
from reelstate.services.watch import in_order

DEFAULT_PAGE = 5000


def history(
    job_id: JobId,
    page: Annotated[
        int, typer.Option(min=1, max=LARGEST_PAGE, hidden=True, help="Events read at once.")
    ] = DEFAULT_PAGE,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show everything that happened to a job, its stages and its tasks, the oldest first.

    Example: `reel history 244813922304 --json`
    """
    stages, events, workers = run(_read(database, job_id, page))
    if as_json:
        print_json([event_document(event, stages) for event in events])
    else:
        console().print(events_table(events, stages, workers))


async def _read(database: str | None, job_id: int, limit: int) -> tuple[list[str], list[Event], dict[int, str]]:
    async with opened(database) as engine:
        stages = [stage.name for stage in (await engine.job(job_id)).stages]
        events = [event async for event in every(lambda after: engine.history(job_id, limit=limit, after=after))]
        return stages, in_order(events), await worker_names(engine)


async def worker_names(engine: Engine) -> dict[int, str]:
    """What the instances that are still listed are called."""
    return {worker.id: worker.name for worker in await engine.workers()}


def events_table(events: list[Event], stages: list[str], workers: Mapping[int, str]) -> Table:
    made = table("at", "what", "change", "by, and why", flexible=["by, and why"])
    day = ""
    for event in events:
        date, time = moment(event.at).split(" ")
        at = f"{time}.{event.at:%f}"[:-3]
        if date != day:
            day = date
            made.add_row(Text(date, style="dim"))
        made.add_row(at, _what(event, stages), _change(event), _cause(event, workers))
    return made


def _what(event: Event, stages: list[str]) -> str:
    place = [stage_name(event.stage, stages), event.part]
    return " ".join([event.entity, "/".join(str(piece) for piece in place if piece is not None)]).strip()


def _cause(event: Event, workers: Mapping[int, str]) -> Text:
    words = [event.reason or "", cause_line(event.data) if event.target == TaskStatus.ERROR and event.data else ""]
    why = ": ".join(filter(None, words))
    name = workers.get(event.worker_id or 0, "")
    who = " ".join(filter(None, (event.actor, name))) if event.actor == Actor.WORKER else event.actor
    why = f"{why} ({name})" if why and name and event.actor != Actor.WORKER else why
    return Text(who) if not why else Text.assemble(f"{who}: ", (why, "dim"))


def _change(event: Event) -> Text:
    if event.origin is None or event.origin == event.target:
        return status(event.target)
    return Text.assemble(f"{event.origin} → ", status(event.target))
