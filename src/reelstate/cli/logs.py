"""`reel logs`: what the tasks of a job said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.text import Text

from reelstate.cli.documents import print_json, print_line
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
    """Which lines or steps: those of a job, of a stage, or of one task."""

    job_id: int
    stages: list[str]
    stage: int | None
    part: int | None

    @property
    def key(self) -> TaskKey | None:
        if self.stage is None or self.part is None:
            return None
        return TaskKey(self.job_id, self.stage, self.part)

    def has(self, entry: LogEntry | StepEntry) -> bool:
        return self.stage in {None, entry.stage} and self.part in {None, entry.part}


def logs(
    job_id: JobId,
    stage: Annotated[str | None, typer.Option(help="Only this stage.")] = None,
    part: Annotated[int | None, typer.Option(min=0, help="Only this part; the first is 0.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show what the tasks of a job logged, the oldest first. With --follow, --json prints one document a line.

    Example: `reel logs 244813922304 --stage encode --part 3 --follow`
    """
    run(_show(database, job_id, stage, part, follow=follow, as_json=as_json))


async def _show(
    database: str | None, job_id: int, stage: str | None, part: int | None, *, follow: bool, as_json: bool
) -> None:
    async with connect(database, wait=follow) as engine:
        wanted = await make_filter(engine, job_id, stage, part)
        entries = _entries(engine, wanted, follow=follow)
        if as_json and not follow:
            print_json([log_document(entry, wanted.stages) async for entry in entries])
            return
        screen = console()
        async for entry in entries:
            if as_json:
                print_line(log_document(entry, wanted.stages))
            else:
                screen.print(_line(entry, wanted.stages), soft_wrap=True)


async def make_filter(engine: Engine, job_id: int, stage: str | None, part: int | None) -> LogFilter:
    stages = [found.name for found in (await engine.job(job_id)).stages]
    if stage is not None and stage not in stages:
        raise InvalidRequest("stage", f"there is no stage {stage!r}", hint=f"stages: {', '.join(stages)}")
    return LogFilter(job_id, stages, None if stage is None else stages.index(stage), part)


async def _entries(engine: Engine, wanted: LogFilter, *, follow: bool) -> AsyncIterator[LogEntry]:
    after: str | None = None
    while True:
        ending = not follow or is_inactive((await engine.job(wanted.job_id)).job)
        # Nothing more is said of a job that rests: then all that is there counts, whoever else is writing.
        page = await engine.logs(wanted.job_id, key=wanted.key, after=after, settled=not ending)
        for entry in page.items:
            after = str(entry.id)
            if wanted.has(entry):
                yield entry
        if page.after is None and ending:
            return
        if page.after is None:
            await pause(engine, wanted.job_id)


def _line(entry: LogEntry, stages: list[str]) -> Text:
    place = f"{stage_name(entry.stage, stages)}/{entry.part}"
    more = f" {value(entry.metadata)}" if entry.metadata else ""
    return Text.assemble(
        (f"{moment(entry.at)} ", "dim"), f"{place} ", (f"{entry.level} ", LEVELS.get(entry.level, "")),
        entry.message.replace("\n", "\n    "), (more, "dim"),
    )  # fmt: skip
