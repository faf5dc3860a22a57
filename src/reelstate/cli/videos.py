"""`reel videos`: list, show, retranscode, roll back and delete videos."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Literal, TypeVar

import typer
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.options import (
    AsJson,
    Database,
    IdempotencyKey,
    Priority,
    ProfileName,
    Reason,
    Wait,
    job_number,
    profile_document,
    video_number,
)
from reelstate.cli.session import call, connect, operator, run, settings_for
from reelstate.cli.signatures import list_by_default
from reelstate.cli.submit import report_submitted
from reelstate.cli.terminal import console
from reelstate.cli.verbs import EngineVerbs, VideoVerbs, videos_of
from reelstate.cli.video_page import video_page, videos_table
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Json, Page, Submitted, Verdict
from reelstate.documents import Document
from reelstate.library.documents import quality_document, version_document, video_document
from reelstate.library.ladder import latest_profile, shown_version
from reelstate.library.model import Video, VideoDetail, VideoStatus
from reelstate.library.playback import LIFETIME
from reelstate.media.planning.quality import Quality
from reelstate.media.planning.request import TranscodeRequest
from reelstate.services.paging import LARGEST_PAGE

T = TypeVar("T")
videos = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")
VideoId = Annotated[int, typer.Argument(metavar="VIDEO", parser=video_number, help="The video's id.")]
Statuses = Annotated[list[VideoStatus] | None, typer.Option("--status", help="Only this status; can be repeated.")]
User = Annotated[str | None, typer.Option(help="Only videos of this user.")]
Deleted = Annotated[bool, typer.Option("--deleted", help="Include deleted videos.")]
Limit = Annotated[int, typer.Option(min=1, max=LARGEST_PAGE, help="The maximum number of videos.")]
After = Annotated[str | None, typer.Option(metavar="CURSOR", help="Continue after this cursor.")]


@list_by_default(
    videos, "List videos, or show, retranscode, roll back, delete or play one.", "reel videos --status ready --json"
)
def listing(
    statuses: Statuses = None,
    user: User = None,
    deleted: Deleted = False,
    limit: Limit = 50,
    after: After = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List videos, newest first. The id of the last one is the cursor of the next page.

    Example: `reel videos list --status failed --user ada`
    """
    page = call_videos(
        database,
        lambda found: found.list(statuses=statuses or None, user_id=user, deleted=deleted, limit=limit, after=after),
    )
    if as_json:
        print_json([video_document(video) for video in page.items])
    else:
        _show(page)


@videos.command()
def show(video_id: VideoId, database: Database = None, as_json: AsJson = False) -> None:
    """Show a video: its playlist, the progress of its qualities, and its versions.

    Example: `reel videos show 244813922304`
    """
    settings = settings_for(database)
    detail, qualities, playlist = call(database, lambda engine: _read_detail(engine, video_id, settings))
    if as_json:
        print_json(_document(detail, qualities, playlist))
    else:
        console().print(video_page(detail, qualities, playlist))


@videos.command()
def retranscode(
    video_id: VideoId,
    quality: Annotated[
        list[str] | None,
        typer.Option(help="Only this quality, such as 1080p; can be repeated. Others are reused."),
    ] = None,
    captions: Annotated[
        Literal["keep", "drop"] | None, typer.Option(help="Keep or drop captions; by default as in the last version.")
    ] = None,
    profile: ProfileName = None,
    urgency: Priority = 5,
    idempotency_key: IdempotencyKey = None,
    wait: Wait = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a new version of a video. The old version plays until then, and is kept for a rollback.

    Example: `reel videos retranscode 244813922304 --quality 1080p --wait`
    """
    spec = {"qualities": quality or None, "captions": captions, "profile": profile_document(profile)}
    fields = {name: value for name, value in spec.items() if value is not None}
    raise typer.Exit(
        run(_retranscode(database, video_id, fields, urgency, idempotency_key, wait=wait, as_json=as_json))
    )


@videos.command()
def rollback(
    video_id: VideoId,
    to: Annotated[
        int | None,
        typer.Option(metavar="JOB", parser=job_number, help="The version; by default the one before the current one."),
    ] = None,
    reason: Reason = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a video play an earlier version until it is unpinned.

    Example: `reel videos rollback 244813922304 --reason "green faces"`
    """

    async def change(found: VideoVerbs) -> tuple[str, Document]:
        if to is None:
            job_id, verdict = await found.rollback(video_id, actor=operator(), reason=reason), Verdict.OK
        else:
            job_id, verdict = to, await found.pin(video_id, to, actor=operator(), reason=reason)
        text = "plays" if verdict is Verdict.OK else "is already pinned to"
        return f"{text} version {job_id}", {"job": job_id, "verdict": verdict}

    _change(database, video_id, change, as_json=as_json)


@videos.command()
def unpin(video_id: VideoId, reason: Reason = None, database: Database = None, as_json: AsJson = False) -> None:
    """Make a video play its newest version again after a rollback.

    Example: `reel videos unpin 244813922304`
    """

    async def change(found: VideoVerbs) -> tuple[str, Document]:
        verdict = await found.unpin(video_id, actor=operator(), reason=reason)
        job_id = (await found.get(video_id)).video.current
        text = f"plays version {job_id}" if verdict is Verdict.OK else "is not pinned"
        return text, {"job": job_id, "verdict": verdict}

    _change(database, video_id, change, as_json=as_json)


@videos.command()
def delete(video_id: VideoId, reason: Reason = None, database: Database = None, as_json: AsJson = False) -> None:
    """Delete a video from the library and cancel its jobs. Its files are kept as long as superseded versions are.

    Example: `reel videos delete 244813922304 --reason "rights ended"`
    """

    async def change(found: VideoVerbs) -> tuple[str, Document]:
        verdict = await found.delete(video_id, actor=operator(), reason=reason)
        return "deleted" if verdict is Verdict.OK else "already deleted", {"verdict": verdict}

    _change(database, video_id, change, as_json=as_json)


@videos.command()
def play(
    video_id: VideoId,
    lifetime: Annotated[float, typer.Option(min=1, metavar="SECONDS", help="How long the URL is valid.")] = LIFETIME,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Print a temporary URL for any player, served by `reel serve` or `reel up`.

    Example: `reel videos play 244813922304 --lifetime 3600`
    """
    url, expires_at = run(_ticket(database, video_id, lifetime))
    if as_json:
        print_json({"id": video_id, "url": url, "expires_at": expires_at})
    else:
        console().print(Text(url), soft_wrap=True)


async def _ticket(database: str | None, video_id: int, lifetime: float) -> tuple[str, datetime]:
    async with connect(database, wait=True) as engine:
        videos = videos_of(engine, settings_for(database))
        await _require_playable(videos, video_id)
        return await videos.open_playback(video_id, lifetime)


async def _require_playable(videos: VideoVerbs, video_id: int) -> None:
    """Raise InvalidRequest for a video without a complete version or a playlist of one in progress."""
    video = (await videos.get(video_id)).video
    if video.deleted_at is not None:
        raise InvalidRequest("video", f"{video_id} was deleted", hint="`reel videos` lists videos")
    if video.current is None and not await videos.has_playlist(video_id):
        shown = "why" if video.status is VideoStatus.FAILED else "its progress"
        raise InvalidRequest(
            "video",
            f"{video_id} has nothing to play yet: it is {video.status}",
            hint=f"`reel videos show {video_id}` shows {shown}",
        )


Change = Callable[[VideoVerbs], Awaitable[tuple[str, Document]]]
"""Changes a video, and returns a text and a JSON document."""


def _change(database: str | None, video_id: int, change: Change, *, as_json: bool) -> None:
    text, document = call_videos(database, change, wait=True)
    if as_json:
        print_json({"id": video_id, **document})
    else:
        console().print(Text(f"video {video_id}: {text}"), soft_wrap=True)


def call_videos(database: str | None, verb: Callable[[VideoVerbs], Awaitable[T]], *, wait: bool = False) -> T:
    """Return the result of a verb on the videos of a deployment."""
    settings = settings_for(database)
    return call(database, lambda engine: verb(videos_of(engine, settings)), wait=wait)


async def _read_detail(
    engine: EngineVerbs, video_id: int, settings: Settings
) -> tuple[VideoDetail, list[Quality], str]:
    """Return a video, the qualities of the version that is shown, and the address of its playlist."""
    found = videos_of(engine, settings)
    detail = await found.get(video_id)
    version = shown_version(detail)
    qualities = [] if version is None else await found.qualities().read(await engine.job(version.job.id), ())
    return detail, qualities, found.playlist(video_id)


async def _retranscode(
    database: str | None, video_id: int, spec: Json, urgency: int, key: str | None, *, wait: bool, as_json: bool
) -> int:
    async with connect(database, wait=True) as engine:
        found = videos_of(engine, settings_for(database))
        video = await found.get(video_id)
        TranscodeRequest.check({"source": video.video.source, "profile": latest_profile(video), **spec})
        answer = await found.retranscode(video_id, spec=spec, priority=urgency, idempotency_key=key)
        document = {"id": video_id, "job": answer.job_id, "verdict": answer.verdict}
        shown = document if as_json else None
        return await report_submitted(engine, found, answer, _message(answer), shown, wait=wait)


def _message(answer: Submitted) -> str:
    if answer.verdict is Verdict.REPEATED:
        return f"video {answer.resource_id}: version {answer.job_id} was submitted before with this idempotency key"
    return f"video {answer.resource_id}: submitted version {answer.job_id}; `reel watch {answer.job_id}` shows it"


def _show(page: Page[Video]) -> None:
    screen = console()
    if not page.items:
        screen.print("no such video; `reel submit transcode movie.mp4` makes one")
        return
    screen.print(videos_table(page.items))
    if page.after is not None:
        screen.print(f"more: add --after {page.after}", style="dim")


def _document(detail: VideoDetail, qualities: list[Quality], playlist: str) -> Document:
    playable = detail.video.current is not None and detail.video.deleted_at is None
    return {
        **video_document(detail.video),
        "plays": playlist if playable else None,
        "qualities": [quality_document(quality) for quality in qualities],
        "versions": [version_document(version) for version in detail.versions],
    }
