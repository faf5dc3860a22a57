"""`reel history`: show the events of a job."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from reelstate.cli.documents import print_json_items
from reelstate.cli.options import AsJson, Database, JobId
from reelstate.cli.page import cause_line, isolation_note
from reelstate.cli.session import connect, run
from reelstate.cli.terminal import console, moment, status, table
from reelstate.cli.verbs import EngineVerbs
from reelstate.core.machine import Actor, TaskStatus
from reelstate.core.model import Event
from reelstate.documents import event_document
from reelstate.services.paging import LARGEST_PAGE
from reelstate.services.watch import in_order

PAGE = 1000
OVERLAP = 500
"""Events that are held back while more follow, since they may have to be sorted among later ones."""
SCREENFUL = 2000
"""Events that are shown on a terminal unless more are requested."""


def history(
    job_id: JobId,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="The maximum number of events, in whole pages; by default all, on a terminal about 2,000."
        ),
    ] = None,
    after: Annotated[str | None, typer.Option(metavar="CURSOR", help="Continue after this event.")] = None,
    page: Annotated[int, typer.Option(min=1, max=LARGEST_PAGE, hidden=True, help="Events per request.")] = PAGE,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the events of a job, its stages and its tasks, oldest first. Pages are printed as they are read.

    Example: `reel history 244813922304 --json`
    """
    run(_show(database, job_id, page, limit, after, as_json=as_json))


async def _show(
    database: str | None, job_id: int, page: int, limit: int | None, after: str | None, *, as_json: bool
) -> None:
    screen = console()
    most = SCREENFUL if limit is None and screen.is_terminal and not as_json else limit
    async with connect(database) as engine:
        await engine.job(job_id)  # raises NotFound
        reader = HistoryReader(engine, job_id, page, most, after)
        if as_json:
            await print_json_items(event_document(event) async for events in reader.pages() for event in events)
            return
        shown = EventTables()
        async for events in reader.pages():
            screen.print(shown.table(events))
    if reader.rest is not None:
        command = f"reel history {job_id} --after {reader.rest}"
        screen.print(f"more: {command}, or all: reel history {job_id} | less", style="dim", soft_wrap=True)


class HistoryReader:
    """Reads the events of a job page by page, each event after its causes. `rest` is the cursor of what is left."""

    def __init__(self, engine: EngineVerbs, job_id: int, page: int, most: int | None, after: str | None) -> None:
        self._engine = engine
        self._job_id = job_id
        self._page = page
        self._most = most
        self.rest = after

    async def pages(self) -> AsyncIterator[list[Event]]:
        read, waiting = 0, list[Event]()
        while True:
            page = await self._engine.history(self._job_id, limit=self._page, after=self.rest)
            self.rest, read = page.after, read + len(page.items)
            waiting = in_order([*waiting, *page.items])
            last = page.after is None or (self._most is not None and read >= self._most)
            ready = len(waiting) if last else max(0, len(waiting) - OVERLAP)
            if ready or last:
                yield waiting[:ready]
            waiting = waiting[ready:]
            if last:
                return


class EventTables:
    """Tables of events, one below the other with the same columns."""

    def __init__(self) -> None:
        self._widths: list[int] = []
        self._day = ""

    def table(self, events: list[Event]) -> Table:
        """Return a table of events; only the first one has a head."""
        made = table("at", "entity", "change", "by", flexible=["by"])
        made.show_header = not self._widths
        rows = [row for event in events for row in self._rows(event)]
        if not self._widths:
            self._widths = [max((cell_len(str(row[column])) for row in rows), default=0) for column in range(3)]
        for column, width in zip(made.columns, self._widths, strict=False):
            column.min_width = width
        for row in rows:
            made.add_row(*row)
        return made

    def _rows(self, event: Event) -> Iterator[tuple[str | Text, ...]]:
        date, time = moment(event.at).split(" ")
        if date != self._day:
            self._day = date
            yield (Text(date, style="dim"), "", "", "")
        yield (f"{time}.{event.at:%f}"[:-3], _entity(event), _change(event), _cause(event))


def events_table(events: list[Event]) -> Table:
    return EventTables().table(events)


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
