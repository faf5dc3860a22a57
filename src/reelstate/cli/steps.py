"""`reel steps`: show the commands that the tasks of a job ran."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from reelstate.cli.documents import print_json_items
from reelstate.cli.logs import LogFilter, make_filter
from reelstate.cli.options import AsJson, Database, JobId
from reelstate.cli.session import connect, run
from reelstate.cli.terminal import console, moment, span
from reelstate.cli.verbs import EngineVerbs
from reelstate.core.model import StepEntry
from reelstate.documents import stage_name, step_document

LAST_LINES = 20
"""Lines of output shown of a failed command; `--json` has all that are stored."""


def steps(
    job_id: JobId,
    stage: Annotated[str | None, typer.Option(help="Only this stage.")] = None,
    part: Annotated[int | None, typer.Option(min=0, help="Only this part; the first is 0.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only commands that failed.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the commands that the tasks of a job ran, oldest first, with the output of failed ones.

    Example: `reel steps 244813922304 --stage encode --failed`
    """
    run(_show(database, job_id, stage, part, failed=failed, as_json=as_json))


async def _show(
    database: str | None, job_id: int, stage: str | None, part: int | None, *, failed: bool, as_json: bool
) -> None:
    async with connect(database) as engine:
        log_filter = await make_filter(engine, job_id, stage, part)
        found = _entries(engine, log_filter)
        entries = (entry async for entry in found if not failed or entry.exit_code != 0)
        if as_json:
            await print_json_items(step_document(entry, log_filter.stages) async for entry in entries)
            return
        screen = console()
        async for entry in entries:
            screen.print(_line(entry, log_filter.stages), soft_wrap=True)


async def _entries(engine: EngineVerbs, log_filter: LogFilter) -> AsyncIterator[StepEntry]:
    after: str | None = None
    while True:
        page = await engine.steps(log_filter.job_id, key=log_filter.key, after=after)
        for entry in page.items:
            if log_filter.matches(entry):
                yield entry
        if (after := page.after) is None:
            return


def _line(entry: StepEntry, stages: list[str]) -> RenderableType:
    task = f"{stage_name(entry.stage, stages)}/{entry.part}"
    line = Text.assemble(
        (f"{moment(entry.started_at)} ", "dim"), f"{task} {entry.type} ", _exit(entry), f" {span(entry.seconds)} ",
        (shlex.join(entry.argv), "dim"),
    )  # fmt: skip
    last = "\n".join(entry.output.splitlines()[-LAST_LINES:])
    return line if entry.exit_code == 0 or not last else Group(line, Padding(Text(last), (0, 0, 0, 4)))


def _exit(entry: StepEntry) -> Text:
    if entry.exit_code is None:
        return Text("stopped early", style="yellow")
    return Text(f"exit {entry.exit_code}", style="green" if entry.exit_code == 0 else "bold red")
