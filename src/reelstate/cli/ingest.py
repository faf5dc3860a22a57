"""`reel ingest`: submit the video files of a folder."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from reelstate.cli.documents import print_line
from reelstate.cli.options import AsJson, Database, Priority, ProfileName, profile_document
from reelstate.cli.process import print_status, stop_signals
from reelstate.cli.session import connect_store, run
from reelstate.cli.terminal import console
from reelstate.core.model import Verdict
from reelstate.documents import Document
from reelstate.library.ingest import PATTERNS, Ingest, IngestedFile, require_folder
from reelstate.library.ingest import ingest as ingest_folder


def ingest(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder; subfolders are included.")],
    watch: Annotated[bool, typer.Option("--watch", help="Keep submitting new files until ctrl-C.")] = False,
    profile: ProfileName = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option(help="Only names like this, such as '*.mov'; can be repeated.", show_default="video files"),
    ] = None,
    urgency: Priority = 5,
    user: Annotated[str, typer.Option(help="The user that the videos belong to.")] = "",
    settle: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="A file is complete if it has not changed for this long.")
    ] = 3.0,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a video of every video file in a folder once it is complete; each file once, also after a restart.

    A file is identified by its path, size and modification time. Hidden files and partial downloads are skipped.

    Example: `reel ingest /srv/incoming --watch --profile h264`
    """
    request = Ingest(
        folder=folder,
        watch=watch,
        patterns=pattern or PATTERNS,
        settle=settle,
        spec={} if profile is None else {"profile": profile_document(profile)},
        priority=urgency,
        user_id=user,
    )
    require_folder(folder)
    run(_ingest(database, request, as_json=as_json))


async def _ingest(database: str | None, request: Ingest, *, as_json: bool) -> None:
    counts = dict.fromkeys((Verdict.OK, Verdict.REPEATED, None), 0)

    def report(file: IngestedFile) -> None:
        counts[file.verdict] += 1
        print_line(_document(file)) if as_json else _show(file)

    async with connect_store(database, wait=True) as engine:
        stop = asyncio.Event()
        for number in stop_signals():
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        if request.watch:
            print_status(f"watching {request.folder}; ctrl-C stops it")
        await ingest_folder(engine, request, report, stop)
    submitted, repeated, skipped = counts.values()
    print_status(f"{submitted} submitted, {repeated} submitted before, {skipped} skipped")


def _show(file: IngestedFile) -> None:
    match file.verdict:
        case Verdict.OK:
            line = Text(f"{file.path}: video {file.video_id}, job {file.job_id}")
        case None:
            line = Text.assemble(f"{file.path}: ", ("skipped: ", "yellow"), file.reason)
        case _:
            line = Text(f"{file.path}: submitted before as video {file.video_id}", style="dim")
    console().print(line, soft_wrap=True)


def _document(file: IngestedFile) -> Document:
    return {
        "path": str(file.path),
        "verdict": file.verdict or "refused",
        "video": file.video_id,
        "job": file.job_id,
        "reason": file.reason or None,
    }
