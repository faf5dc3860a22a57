"""`reel submit`: make a job, and wait for it when told to."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from reelstate.artifacts import keys
from reelstate.cli.documents import print_json
from reelstate.cli.live import follow
from reelstate.cli.options import App, AsJson, Database, IdempotencyKey, Priority, ProfileName, Wait, profile_document
from reelstate.cli.plain import echo
from reelstate.cli.session import connect, run, settings_for
from reelstate.cli.terminal import console
from reelstate.core.machine import JobStatus
from reelstate.core.model import (
    Json,
    Submission,
    Submitted,
    Verdict,
)
from reelstate.documents import Document, detail_document
from reelstate.engine import Engine
from reelstate.library.model import NewVideo
from reelstate.library.videos import Videos
from reelstate.media import TRANSCODE
from reelstate.media.packaging.manifest import MASTER
from reelstate.media.planning.request import TranscodeRequest
from reelstate.media.sources.address import parse_address, source_name

PUBLIC_TIMEOUT = 15.0
LOOK_EVERY = 0.1
QUOTED = """write it as --spec '{"file": "a.mp4"}', --spec @file.json, or --spec - for standard input"""


def spec_document(text: str) -> Json:
    """A spec as it is typed: JSON, @file, or - for standard input."""
    source = _read(text)
    try:
        return json.loads(source)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise typer.BadParameter(f"it is not JSON: {error.msg} at {place}; {QUOTED}") from None


def _read(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{text[1:]} can't be read: {getattr(error, 'strerror', None) or error}") from None


def submit(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="The pipeline's name.")],
    film: Annotated[
        str | None,
        typer.Argument(metavar="FILM", help="For transcode: a file, or an address (https://, s3://, gs://)."),
    ] = None,
    spec: Annotated[str, typer.Option(help="What the job is about: JSON, @FILE, or - for standard input.")] = "{}",
    profile: ProfileName = None,
    quality: Annotated[
        list[str] | None, typer.Option(help="Of a film, only this quality, such as 1080p; may be given several times.")
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option(help="The version of the pipeline, see `reel pipelines`; left out: the one that new jobs run."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="What the video is called; else as its file.")] = None,
    urgency: Priority = 5,
    idempotency_key: IdempotencyKey = None,
    user: Annotated[str, typer.Option(help="Who it is for.")] = "",
    delay: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Start no sooner than in so many.")] = 0.0,
    wait: Wait = False,
    app: App = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a job. The pipeline's code is not needed here: the version that workers declared is used.

    A film that is submitted to transcode becomes a video of the library, see `reel videos`.

    Example: `reel submit transcode movie.mp4 --wait`

    Example: `reel submit thumbs --spec '{"video": "a.mp4"}' --priority high --wait`
    """
    try:
        document = spec_document(spec)
    except typer.BadParameter as error:
        raise typer.BadParameter(error.message, param_hint="--spec") from None
    submission = Submission(
        pipeline=pipeline, digest=digest, spec=document, priority=urgency, idempotency_key=idempotency_key,
        user_id=user, delay=delay,
    )  # fmt: skip
    given = {"profile": profile_document(profile), "qualities": quality or None}
    wanted = {name: value for name, value in given.items() if value is not None}
    if film is not None:
        submission = with_video(submission, film, title, wanted)
    elif wanted or title or pipeline == TRANSCODE:
        raise typer.BadParameter("no film is named: reel submit transcode movie.mp4", param_hint="FILM")
    raise typer.Exit(run(_submit(submission, app, database, wait=wait, as_json=as_json)))


def with_video(submission: Submission, film: str, title: str | None, wanted: dict[str, Json]) -> Submission:
    """A submission that makes a video of a film."""
    if submission.pipeline != TRANSCODE:
        raise typer.BadParameter(f"only {TRANSCODE} takes one; others are told by --spec", param_hint="FILM")
    place = source_address(film)
    video = NewVideo(source=place, title=title or source_name(film))
    spec = {**submission.spec, **wanted}
    TranscodeRequest.from_spec({"source": place, **spec})
    return replace(submission, spec=spec, resource=video)


def source_address(film: str) -> str:
    """A film as a worker finds it: an address as it is, a file by its whole path."""
    if "://" in film:
        parse_address(film)
        return film
    path = Path(film).absolute()
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder; `reel ingest {film}` takes the films in it", param_hint="FILM")
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {path}", param_hint="FILM")
    return str(path)


async def _submit(submission: Submission, app: str | None, database: str | None, *, wait: bool, as_json: bool) -> int:
    async with connect(database, app=app, wait=True) as engine:
        (answer,) = await engine.submit_many([submission])
        document = {"id": answer.job_id, "pipeline": submission.pipeline, "verdict": answer.verdict}
        if answer.resource_id is not None:
            document["video"] = answer.resource_id
        told, place = document if as_json else None, settings_for(database, app).storage_url
        return await report_submitted(engine, answer, _words(answer, submission), told, wait=wait, storage_url=place)


async def report_submitted(
    engine: Engine, answer: Submitted, words: str, document: Document | None, *, wait: bool, storage_url: str
) -> int:
    """Tell of a job that was submitted (by a document, where there is one), and show it until it ends if told to."""
    if document is None:
        echo(words)
    if not wait:
        if document is not None:
            print_json(document)
        return 0
    try:
        detail = await follow(engine, answer.job_id, console(stderr=document is not None))
    except asyncio.CancelledError:
        echo(f"job {answer.job_id} goes on; `reel watch {answer.job_id}` shows it", err=True)
        raise
    completed = detail.job.status is JobStatus.COMPLETED
    if document is not None:
        print_json({**detail_document(detail), "verdict": answer.verdict})
    elif completed and detail.job.resource_id is not None:
        await _tell_place(engine, detail.job.resource_id, storage_url)
    return 0 if completed else 1


async def _tell_place(engine: Engine, video_id: int, storage_url: str) -> None:
    """Where a video plays, as soon as it does: its public place follows the store, by the hand of a keeper."""
    place = playlist_address(storage_url, video_id)
    end = time.monotonic() + PUBLIC_TIMEOUT
    while (video := (await Videos(engine).get(video_id)).video).published != video.current:
        if time.monotonic() > end:
            console().print(Text(f"will play, once a keeper runs (`reel up`): {place}"), soft_wrap=True)
            return
        await asyncio.sleep(LOOK_EVERY)
    console().print(Text(f"plays: {place}"), soft_wrap=True)


def playlist_address(storage_url: str, video_id: int) -> str:
    """The address of the playlist that always leads to the current version; a folder is named by its whole path."""
    place = storage_url if "://" in storage_url else str(Path(storage_url).expanduser().absolute())
    return f"{place.rstrip('/')}/{keys.video(video_id, MASTER)}"


def _words(answer: Submitted, submission: Submission) -> str:
    if answer.verdict is Verdict.REPEATED:
        return f"job {answer.job_id} was submitted before under this key"
    video = "" if answer.resource_id is None else f", which makes video {answer.resource_id}"
    return f"submitted job {answer.job_id} to {submission.pipeline}{video}"
