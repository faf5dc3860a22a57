"""`reel logs`: show the log of a job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.text import Text

from reelstate.cli.documents import print_json_items, print_line
from reelstate.cli.live import is_inactive, next_change, signal_changes
from reelstate.cli.options import AsJson, Database, JobId
from reelstate.cli.page import value
from reelstate.cli.session import connect, run
from reelstate.cli.terminal import console, moment
from reelstate.cli.verbs import EngineVerbs
from reelstate.core.errors import InvalidRequest
from reelstate.core.model import LogEntry, StepEntry, TaskKey
from reelstate.documents import log_document, stage_name

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
        entries = _follow(engine, log_filter) if follow else _entries(engine, log_filter)
        if as_json and not follow:
            chosen = (entry async for entry in entries if log_filter.matches(entry))
            await print_json_items(log_document(entry, log_filter.stages) async for entry in chosen)
            return
        screen = console()
        async for entry in entries:
            if not log_filter.matches(entry):
                continue
            if as_json:
                print_line(log_document(entry, log_filter.stages))
            else:
                screen.print(_line(entry, log_filter.stages), soft_wrap=True)


async def make_filter(engine: EngineVerbs, job_id: int, stage: str | None, part: int | None) -> LogFilter:
    stages = [found.name for found in (await engine.job(job_id)).stages]
    if stage is not None and stage not in stages:
        raise InvalidRequest("stage", f"there is no stage {stage!r}", hint=f"stages: {', '.join(stages)}")
    return LogFilter(job_id, stages, None if stage is None else stages.index(stage), part)


async def _entries(
    engine: EngineVerbs, log_filter: LogFilter, after: str | None = None, *, settled: bool = False
) -> AsyncIterator[LogEntry]:
    """Yield the log lines after a cursor, also those that the filter leaves out of the output."""
    while True:
        page = await engine.logs(log_filter.job_id, key=log_filter.key, after=after, settled=settled)
        for entry in page.items:
            yield entry
        if (after := page.after) is None:
            return


async def _follow(engine: EngineVerbs, log_filter: LogFilter) -> AsyncIterator[LogEntry]:
    """Yield log lines until the job is inactive."""
    after: str | None = None
    async with signal_changes(engine, log_filter.job_id) as changed:
        while True:
            changed.clear()
            last = is_inactive((await engine.job(log_filter.job_id)).job)
            # An inactive job logs nothing more, so its last lines need not settle.
            async for entry in _entries(engine, log_filter, after, settled=not last):
                after = str(entry.id)
                yield entry
            if last:
                return
            await next_change(changed)


def _line(entry: LogEntry, stages: list[str]) -> Text:
    task = f"{stage_name(entry.stage, stages)}/{entry.part}"
    more = f" {value(entry.metadata)}" if entry.metadata else ""
    return Text.assemble(
        (f"{moment(entry.at)} ", "dim"), f"{task} ", (f"{entry.level} ", LEVELS.get(entry.level, "")),
        entry.message.replace("\n", "\n    "), (more, "dim"),
    )  # fmt: skip
