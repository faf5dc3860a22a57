"""`reel submit`: submit a job."""

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

from reelstate.cli.documents import print_json
from reelstate.cli.live import follow
from reelstate.cli.options import App, AsJson, Database, IdempotencyKey, Priority, ProfileName, Wait, profile_document
from reelstate.cli.plain import echo
from reelstate.cli.session import connect, run, settings_for
from reelstate.cli.terminal import console
from reelstate.cli.verbs import EngineVerbs, VideoVerbs, videos_of
from reelstate.core.group import AfterFailure, parse_after
from reelstate.core.machine import JobStatus
from reelstate.core.model import (
    Json,
    Submission,
    Submitted,
    Verdict,
)
from reelstate.documents import Document, detail_document
from reelstate.library.model import NewVideo
from reelstate.media import TRANSCODE
from reelstate.media.planning.request import TranscodeRequest
from reelstate.media.sources.address import parse_address, source_name

PUBLIC_TIMEOUT = 15.0
POLL_INTERVAL = 0.1
SPEC_HINT = """for example --spec '{"file": "a.mp4"}', --spec @file.json, or --spec - for standard input"""


def spec_document(text: str) -> Json:
    """Parse a spec: JSON, @file, or - for standard input."""
    source = _read(text)
    try:
        return json.loads(source)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise typer.BadParameter(f"invalid JSON: {error.msg} at {position}; {SPEC_HINT}") from None


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
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="The name of the pipeline.")],
    video: Annotated[
        str | None,
        typer.Argument(metavar="VIDEO", help="For transcode: a file or URL (https://, s3://, gs://)."),
    ] = None,
    spec: Annotated[str, typer.Option(help="The spec of the job: JSON, @FILE, or - for standard input.")] = "{}",
    profile: ProfileName = None,
    quality: Annotated[
        list[str] | None, typer.Option(help="For transcode: only this quality, such as 1080p; can be repeated.")
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option(help="The version of the pipeline, see `reel pipelines`; by default the one for new jobs."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title of the video; the file name by default.")] = None,
    urgency: Priority = 5,
    idempotency_key: IdempotencyKey = None,
    user: Annotated[str, typer.Option(help="The user that the job belongs to.")] = "",
    delay: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Start after this delay.")] = 0.0,
    callback: Annotated[
        str | None, typer.Option(metavar="URL", help="A URL that gets the events of the job, see `reel webhooks`.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="The group that the job joins, see `reel groups`.")
    ] = None,
    group_callback: Annotated[
        str | None, typer.Option(metavar="URL", help="A URL that gets an event when the whole group has finished.")
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(metavar="JOB|group:NAME", help="Start when this job or group has completed; can be repeated."),
    ] = None,
    after_failure: Annotated[
        AfterFailure,
        typer.Option(help="When what it comes after fails: wait for a retry, cancel the job, or start it at the end."),
    ] = AfterFailure.WAIT,
    wait: Wait = False,
    app: App = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Submit a job to a pipeline that workers have declared; its code is not needed here.

    A video that is submitted to transcode is added to the library, see `reel videos`.

    Example: `reel submit transcode movie.mp4 --wait`

    Example: `reel submit thumbs --spec '{"video": "a.mp4"}' --priority high --wait`

    Example: `reel submit report --after group:nightly --after-failure start`
    """
    try:
        document = spec_document(spec)
    except typer.BadParameter as error:
        raise typer.BadParameter(error.message, param_hint="--spec") from None
    submission = Submission(
        pipeline=pipeline, digest=digest, spec=document, priority=urgency, idempotency_key=idempotency_key,
        user_id=user, delay=delay, callback=callback, group=group, group_callback=group_callback,
        after=[parse_after(each) for each in after or ()], after_failure=after_failure.value,
    )  # fmt: skip
    options = {"profile": profile_document(profile), "qualities": quality or None}
    fields = {name: value for name, value in options.items() if value is not None}
    if video is not None:
        submission = with_video(submission, video, title, fields)
    elif fields or title or pipeline == TRANSCODE:
        raise typer.BadParameter("missing, for example: reel submit transcode movie.mp4", param_hint="VIDEO")
    raise typer.Exit(run(_submit(submission, app, database, wait=wait, as_json=as_json)))


def with_video(submission: Submission, source: str, title: str | None, fields: dict[str, Json]) -> Submission:
    """Return a submission that adds a video to the library."""
    if submission.pipeline != TRANSCODE:
        raise typer.BadParameter(f"only for {TRANSCODE}; use --spec for other pipelines", param_hint="VIDEO")
    address = source_address(source)
    video = NewVideo(source=address, title=title or source_name(source))
    spec = {**submission.spec, **fields}
    TranscodeRequest.from_spec({"source": address, **spec})
    return replace(submission, spec=spec, resource=video)


def source_address(source: str) -> str:
    """Return the address of a source for workers: a URL as it is, a file by its absolute path."""
    if "://" in source:
        parse_address(source)
        return source
    path = Path(source).absolute()
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder; `reel ingest {source}` submits its files", param_hint="VIDEO")
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {path}", param_hint="VIDEO")
    return str(path)


async def _submit(submission: Submission, app: str | None, database: str | None, *, wait: bool, as_json: bool) -> int:
    async with connect(database, app=app, wait=True) as engine:
        (answer,) = await engine.submit_many([submission])
        document = {"id": answer.job_id, "pipeline": submission.pipeline, "verdict": answer.verdict}
        if answer.resource_id is not None:
            document["video"] = answer.resource_id
        videos = videos_of(engine, settings_for(database, app))
        shown = document if as_json else None
        return await report_submitted(engine, videos, answer, _message(answer, submission), shown, wait=wait)


async def report_submitted(
    engine: EngineVerbs, videos: VideoVerbs, answer: Submitted, message: str, document: Document | None, *, wait: bool
) -> int:
    """Print a submitted job, as a document if there is one; with `wait` watch it until it is inactive.

    Return the exit code.
    """
    if document is None:
        echo(message)
    if not wait:
        if document is not None:
            print_json(document)
        return 0
    try:
        detail = await follow(engine, answer.job_id, console(stderr=document is not None))
    except asyncio.CancelledError:
        echo(f"job {answer.job_id} keeps running; `reel watch {answer.job_id}` shows it", err=True)
        raise
    completed = detail.job.status is JobStatus.COMPLETED
    if document is not None:
        print_json({**detail_document(detail), "verdict": answer.verdict})
    elif completed and detail.job.resource_id is not None:
        await _print_playlist(videos, detail.job.resource_id)
    return 0 if completed else 1


async def _print_playlist(videos: VideoVerbs, video_id: int) -> None:
    """Print the playlist of a video once a keeper has published it."""
    playlist = videos.playlist(video_id)
    end = time.monotonic() + PUBLIC_TIMEOUT
    while (video := (await videos.get(video_id)).video).published != video.current:
        if time.monotonic() > end:
            console().print(Text(f"plays once a keeper runs (`reel up`): {playlist}"), soft_wrap=True)
            return
        await asyncio.sleep(POLL_INTERVAL)
    console().print(Text(f"plays: {playlist}"), soft_wrap=True)


def _message(answer: Submitted, submission: Submission) -> str:
    if answer.verdict is Verdict.REPEATED:
        return f"job {answer.job_id} was submitted before with this idempotency key"
    video = "" if answer.resource_id is None else f" for video {answer.resource_id}"
    return f"submitted job {answer.job_id} to {submission.pipeline}{video}"
