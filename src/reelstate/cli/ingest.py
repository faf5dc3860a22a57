"""`reel ingest`: every film of a folder becomes a video."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from reelstate.cli.documents import print_line
from reelstate.cli.options import AsJson, Database, Priority, ProfileName, profile_document
from reelstate.cli.process import print_status, stop_signals
from reelstate.cli.session import connect, run
from reelstate.cli.terminal import console
from reelstate.core.model import Verdict
from reelstate.documents import Document
from reelstate.library.ingest import PATTERNS, Ingest, IngestedFile, require_folder
from reelstate.library.ingest import ingest as take_all


def ingest(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the films are; folders beneath count too.")],
    watch: Annotated[bool, typer.Option("--watch", help="Go on with those that come, until ctrl-C.")] = False,
    profile: ProfileName = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option(help="Only names like this, such as '*.mov'; may be given several times.", show_default="films"),
    ] = None,
    urgency: Priority = 5,
    user: Annotated[str, typer.Option(help="Who they are for.")] = "",
    settle: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="A file is complete when it has not changed for so long.")
    ] = 3.0,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a video of every film in a folder, once it is complete: each file once, also over restarts.

    A file is known by its path, size and time of change. Hidden files and partial downloads are left alone.

    Example: `reel ingest /srv/incoming --watch --profile h264`
    """
    terms = Ingest(
        folder=folder,
        watch=watch,
        patterns=pattern or PATTERNS,
        settle=settle,
        spec={} if profile is None else {"profile": profile_document(profile)},
        priority=urgency,
        user_id=user,
    )
    require_folder(folder)
    run(_ingest(database, terms, as_json=as_json))


async def _ingest(database: str | None, terms: Ingest, *, as_json: bool) -> None:
    counted = dict.fromkeys((Verdict.OK, Verdict.REPEATED, None), 0)

    def tell(taken: IngestedFile) -> None:
        counted[taken.verdict] += 1
        print_line(_document(taken)) if as_json else _show(taken)

    async with connect(database, wait=True) as engine:
        stop = asyncio.Event()
        for number in stop_signals():
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        if terms.watch:
            print_status(f"watching {terms.folder}; ctrl-C ends it")
        await take_all(engine, terms, tell, stop)
    new, before, left = counted.values()
    print_status(f"{new} submitted, {before} were submitted before, {left} left alone")


def _show(taken: IngestedFile) -> None:
    match taken.verdict:
        case Verdict.OK:
            line = Text(f"{taken.path}: video {taken.video_id}, job {taken.job_id}")
        case None:
            line = Text.assemble(f"{taken.path}: ", ("skipped: ", "yellow"), taken.reason)
        case _:
            line = Text(f"{taken.path}: was submitted before as video {taken.video_id}", style="dim")
    console().print(line, soft_wrap=True)


def _document(taken: IngestedFile) -> Document:
    return {
        "path": str(taken.path),
        "verdict": taken.verdict or "refused",
        "video": taken.video_id,
        "job": taken.job_id,
        "reason": taken.reason or None,
    }
