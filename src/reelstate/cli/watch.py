"""`reel watch`: watch a job, or all active jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import typer

from reelstate.cli.documents import print_line
from reelstate.cli.live import event_line, follow, watch_everything
from reelstate.cli.options import Database, job_number
from reelstate.cli.session import connect, run
from reelstate.cli.terminal import console
from reelstate.core.machine import JobStatus
from reelstate.core.model import Event
from reelstate.documents import event_document


def watch(
    job_id: Annotated[
        int | None, typer.Argument(metavar="JOB", parser=job_number, help="The id of the job; all by default.")
    ] = None,
    database: Database = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print events, one JSON document per line.")] = False,
) -> None:
    """Watch a job until it is inactive, or all active jobs and the workers until ctrl-C.

    Exits with 1 if the job does not complete.

    Example: `reel watch 244813922304`
    """
    raise typer.Exit(run(_watch(database, job_id, as_json=as_json)))


async def _watch(database: str | None, job_id: int | None, *, as_json: bool) -> int:
    async with connect(database, wait=True) as engine:
        screen = console()
        if job_id is None:
            if screen.is_terminal and not screen.is_dumb_terminal and not as_json:
                await watch_everything(engine, screen)
            await _stream(engine.watch(), as_json=as_json)
            return 0
        if as_json:
            await _stream(engine.watch(job_id), as_json=True)
            status = (await engine.job(job_id)).job.status
        else:
            status = (await follow(engine, job_id, screen)).job.status
        return 0 if status is JobStatus.COMPLETED else 1


async def _stream(events: AsyncIterator[Event], *, as_json: bool) -> None:
    screen = console()
    async for event in events:
        if as_json:
            print_line(event_document(event))
        else:
            screen.print(event_line(event), soft_wrap=True)
