"""`reel why`: show why a job or a task does not run now."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database, JobId
from reelstate.cli.session import call, settings_for
from reelstate.cli.terminal import console, status
from reelstate.core.errors import InvalidRequest
from reelstate.core.why import Explanation
from reelstate.documents import explanation_document


def why(
    job_id: JobId,
    task: Annotated[
        str | None, typer.Argument(metavar="[STAGE[/PART]]", help="Only this stage, or this part of it.")
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the exact reasons why a job, or a stage or task of it, does not run now, or that it runs.

    Example: `reel why 244813922304 encode/17`
    """
    stage, part = stage_and_part(task)
    settings = settings_for(database)
    explained = call(
        database,
        lambda engine: engine.why(
            job_id, stage=stage, part=part, gpu_grace=settings.gpu_grace, stale_after=settings.stale_after
        ),
    )
    if as_json:
        print_json(explanation_document(explained))
        return
    screen = console()
    for line in reason_lines(explained):
        screen.print(line, soft_wrap=True)


def stage_and_part(task: str | None) -> tuple[str | None, int | None]:
    """Return the stage and the part of `STAGE` or `STAGE/PART`."""
    if task is None:
        return None, None
    stage, slash, part = task.partition("/")
    if not stage or (slash and not part.isdecimal()):
        raise InvalidRequest("task", f"invalid task {task!r}", hint="expected STAGE or STAGE/PART, such as encode/17")
    return stage, int(part) if slash else None


def reason_lines(explained: Explanation) -> list[Text]:
    """Return the status of the job, and a line for each reason."""
    place = "/".join(str(piece) for piece in (explained.stage, explained.part) if piece is not None)
    head = Text.assemble(f"job {explained.job_id}", f" {place}" if place else "", " ", status(explained.status))
    return [head, *(Text.assemble("  ", (str(reason.kind), "bold"), "  ", str(reason)) for reason in explained.reasons)]
