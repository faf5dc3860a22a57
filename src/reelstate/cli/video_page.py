"""A video as a page for people: where it plays, how far its qualities are, and its versions."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reelstate.cli.ladder import qualities_table
from reelstate.cli.page import error_line, took, what
from reelstate.cli.terminal import age, cut, moment, now, rough, span, status, table
from reelstate.core.model import (
    Job,
)
from reelstate.library.model import Video, VideoDetail, VideoStatus, VideoVersion
from reelstate.media.planning.profile import DEFAULT
from reelstate.media.planning.quality import Quality
from reelstate.media.sources.address import redact_source


def videos_table(videos: Sequence[Video]) -> Table:
    """Videos, a line each; who for stands there only when somebody is named."""
    users = any(video.user_id for video in videos)
    heads = ("video", "status", *(["user"] if users else []), "age", "length", "plays", "title")
    made = table(*heads, flexible=["user", "title"])
    for video in videos:
        made.add_row(
            str(video.id),
            _status(video),
            *([cut(video.user_id)] if users else []),
            rough((now() - video.created_at).total_seconds()),
            span(video.duration) if video.duration is not None else "",
            _plays(video),
            cut(video.title or redact_source(video.source)),
        )
    return made


def video_page(detail: VideoDetail, qualities: Sequence[Quality], place: str) -> RenderableType:
    """A video with the qualities of the version that matters most, and all its versions."""
    video = detail.video
    parts: list[RenderableType] = [_head(video)]
    if video.current is not None and video.deleted_at is None:
        parts += [Text(), Text.assemble(("plays: ", "green"), place)]
    if video.error is not None:
        parts += [Text(), Text.assemble((f"version {video.latest} failed: ", "bold red"), error_line(video.error))]
    if qualities:
        parts += [Text(), _indented(qualities_table(qualities))]
    parts += [Text(), _indented(_versions_table(detail.versions, video.pinned))]
    if hint := _advice(detail):
        parts += [Text(), Text.assemble(("next: ", "dim"), hint)]
    return Group(*parts)


def _head(video: Video) -> RenderableType:
    title = Text.assemble(f"video {video.id} ", (video.title, "bold"), " ", _status(video))
    facts = [f"from {redact_source(video.source)}", *([f"for {video.user_id}"] if video.user_id else [])]
    facts += [f"{span(video.duration)} long"] if video.duration is not None else []
    facts.append(f"since {moment(video.created_at)} ({age(video.created_at)})")
    return Group(title, Text(" · ".join(facts), style="dim"))


def _status(video: Video) -> Text:
    if video.deleted_at is not None:
        return Text("deleted", style="dim")
    return Text("ready", style="green") if video.status is VideoStatus.READY else status(video.status)


def _plays(video: Video) -> str:
    if video.current is None:
        return ""
    return f"{video.current} (pinned)" if video.pinned else str(video.current)


def _versions_table(versions: Sequence[VideoVersion], pinned: int | None) -> Table:
    made = table("version", "status", "", "age", "took", "what", flexible=["what"])
    for version in versions:
        job = version.job
        made.add_row(
            str(job.id), status(job.status), _place(version, pinned), rough((now() - job.created_at).total_seconds()),
            took(job), cut(" · ".join(filter(None, (_recipe(job), what(job))))),
        )  # fmt: skip
    return made


def _recipe(job: Job) -> str:
    """By what a version differs from others: the profile, and the qualities that were asked for."""
    spec = job.spec if isinstance(job.spec, dict) else {}
    profile = spec.get("profile") or DEFAULT
    name = profile.get("name", "") if isinstance(profile, dict) else profile
    return " ".join(map(str, (name, *(spec.get("qualities") or ()))))


def _place(version: VideoVersion, pinned: int | None) -> str:
    if version.removed_at is not None:
        return "removed"
    if version.current:
        return "plays, pinned" if pinned else "plays"
    return ""


def _advice(detail: VideoDetail) -> str:
    video = detail.video
    if video.deleted_at is None and video.status is VideoStatus.FAILED:
        return f"`reel job {video.latest}` says why; `reel videos retranscode {video.id}` tries again"
    if video.deleted_at is None and video.pinned:
        return f"`reel videos unpin {video.id}` has the newest version play"
    return ""


def _indented(content: RenderableType) -> Padding:
    return Padding(content, (0, 0, 0, 2))
