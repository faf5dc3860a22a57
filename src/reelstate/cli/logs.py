"""`reel logs`: show the log of a job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.text import Text

from reelstate.cli.documents import print_json_items, print_line
from reelstate.cli.live import is_inactive, pause
from reelstate.cli.options import AsJson, Database, JobId
from reelstate.cli.page import value
from reelstate.cli.session import connect, run
from reelstate.cli.terminal import console, moment
from reelstate.core.errors import InvalidRequest
from reelstate.core.model import LogEntry, StepEntry, TaskKey
from reelstate.documents import log_document, stage_name
from reelstate.engine import Engine

LEVELS = {"debug": "dim", "warning": "yellow", "error": "bold red", "critical": "bold red"}


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Selects log lines or steps of a job, a stage or a task."""

    job_id: int
    stages: list[str]
    stage: int | None
    part: int | None

    @property
    def key(self) -> TaskKey | None:
        if self.stage is None or self.part is None:
            return None
        return TaskKey(self.job_id, self.stage, self.part)

    def matches(self, entry: LogEntry | StepEntry) -> bool:
        return self.stage in {None, entry.stage} and self.part in {None, entry.part}


def logs(
    job_id: JobId,
    stage: Annotated[str | None, typer.Option(help="Only this stage.")] = None,
    part: Annotated[int | None, typer.Option(min=0, help="Only this part, counted from 0.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log until the job is inactive.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the log of a job, oldest first. With --follow, --json prints one document per line.

    Example: `reel logs 244813922304 --stage encode --part 3 --follow`
    """
    run(_show(database, job_id, stage, part, follow=follow, as_json=as_json))


async def _show(
    database: str | None, job_id: int, stage: str | None, part: int | None, *, follow: bool, as_json: bool
) -> None:
    async with connect(database, wait=follow) as engine:
        log_filter = await make_filter(engine, job_id, stage, part)
        entries = _entries(engine, log_filter, follow=follow)
        if as_json and not follow:
            await print_json_items(log_document(entry, log_filter.stages) async for entry in entries)
            return
        screen = console()
        async for entry in entries:
            if as_json:
                print_line(log_document(entry, log_filter.stages))
            else:
                screen.print(_line(entry, log_filter.stages), soft_wrap=True)


async def make_filter(engine: Engine, job_id: int, stage: str | None, part: int | None) -> LogFilter:
    stages = [found.name for found in (await engine.job(job_id)).stages]
    if stage is not None and stage not in stages:
        raise InvalidRequest("stage", f"there is no stage {stage!r}", hint=f"stages: {', '.join(stages)}")
    return LogFilter(job_id, stages, None if stage is None else stages.index(stage), part)


async def _entries(engine: Engine, log_filter: LogFilter, *, follow: bool) -> AsyncIterator[LogEntry]:
    after: str | None = None
    while True:
        last_page = not follow or is_inactive((await engine.job(log_filter.job_id)).job)
        # An inactive job logs nothing more, so its last lines need not settle.
        page = await engine.logs(log_filter.job_id, key=log_filter.key, after=after, settled=not last_page)
        for entry in page.items:
            after = str(entry.id)
            if log_filter.matches(entry):
                yield entry
        if page.after is None and last_page:
            return
        if page.after is None:
            await pause(engine, log_filter.job_id)


def _line(entry: LogEntry, stages: list[str]) -> Text:
    task = f"{stage_name(entry.stage, stages)}/{entry.part}"
    more = f" {value(entry.metadata)}" if entry.metadata else ""
    return Text.assemble(
        (f"{moment(entry.at)} ", "dim"), f"{task} ", (f"{entry.level} ", LEVELS.get(entry.level, "")),
        entry.message.replace("\n", "\n    "), (more, "dim"),
    )  # fmt: skip
