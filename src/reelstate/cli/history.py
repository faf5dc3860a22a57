"""`reel history`: show the events of a job."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database, JobId
from reelstate.cli.page import cause_line, isolation_note
from reelstate.cli.session import call
from reelstate.cli.terminal import console, moment, status, table
from reelstate.core.machine import Actor, TaskStatus
from reelstate.core.model import Event
from reelstate.documents import event_document
from reelstate.engine import Engine
from reelstate.services.paging import LARGEST_PAGE, every
from reelstate.services.watch import in_order

DEFAULT_PAGE = 5000


def history(
    job_id: JobId,
    page: Annotated[int, typer.Option(min=1, max=LARGEST_PAGE, hidden=True, help="Events per request.")] = DEFAULT_PAGE,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show every event of a job, its stages and its tasks, oldest first.

    Example: `reel history 244813922304 --json`
    """
    events = call(database, lambda engine: _read(engine, job_id, page))
    if as_json:
        print_json([event_document(event) for event in events])
    else:
        console().print(events_table(events))


async def _read(engine: Engine, job_id: int, limit: int) -> list[Event]:
    await engine.job(job_id)  # raises NotFound
    return in_order([event async for event in every(lambda after: engine.history(job_id, limit=limit, after=after))])


def events_table(events: list[Event]) -> Table:
    made = table("at", "entity", "change", "by", flexible=["by"])
    day = ""
    for event in events:
        date, time = moment(event.at).split(" ")
        at = f"{time}.{event.at:%f}"[:-3]
        if date != day:
            day = date
            made.add_row(Text(date, style="dim"))
        made.add_row(at, _entity(event), _change(event), _cause(event))
    return made


def _entity(event: Event) -> str:
    position = [event.stage, event.part]
    return " ".join([event.entity, "/".join(str(piece) for piece in position if piece is not None)]).strip()


def _cause(event: Event) -> Text:
    reasons = [event.reason or "", cause_line(event.data) if event.target == TaskStatus.ERROR and event.data else ""]
    why = "; ".join(filter(None, (": ".join(filter(None, reasons)), isolation_note(event))))
    name = event.worker or ""
    who = " ".join(filter(None, (event.actor, name))) if event.actor == Actor.WORKER else event.actor
    why = f"{why} ({name})" if why and name and event.actor != Actor.WORKER else why
    return Text(who) if not why else Text.assemble(f"{who}: ", (why, "dim"))


def _change(event: Event) -> Text:
    if event.origin is None or event.origin == event.target:
        return status(event.target)
    return Text.assemble(f"{event.origin} → ", status(event.target))
