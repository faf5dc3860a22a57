"""Render videos as text and tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reelstate.cli.page import elapsed, error_line, job_note, qualities_table
from reelstate.cli.terminal import age, cut, moment, now, rough, span, status, table
from reelstate.core.model import Job
from reelstate.library.model import Video, VideoDetail, VideoStatus, VideoVersion
from reelstate.media.planning.profile import DEFAULT
from reelstate.media.planning.quality import Quality
from reelstate.media.sources.address import redact_source


def videos_table(videos: Sequence[Video]) -> Table:
    """Render videos as a table, with a column for users if a video has one."""
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


def video_page(detail: VideoDetail, qualities: Sequence[Quality], playlist: str) -> RenderableType:
    """Render a video with its playlist, the qualities of one version, and all its versions."""
    video = detail.video
    parts: list[RenderableType] = [_head(video)]
    if video.current is not None and video.deleted_at is None:
        parts += [Text(), Text.assemble(("plays: ", "green"), playlist)]
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
    made = table("version", "status", "", "age", "took", "details", flexible=["details"])
    for version in versions:
        job = version.job
        made.add_row(
            str(job.id), status(job.status), _version_state(version, pinned),
            rough((now() - job.created_at).total_seconds()), elapsed(job),
            cut(" · ".join(filter(None, (_recipe(job), job_note(job))))),
        )  # fmt: skip
    return made


def _recipe(job: Job) -> str:
    """Return the profile of a version and the qualities that were requested."""
    spec = job.spec if isinstance(job.spec, dict) else {}
    profile = spec.get("profile") or DEFAULT
    name = profile.get("name", "") if isinstance(profile, dict) else profile
    return " ".join(map(str, (name, *(spec.get("qualities") or ()))))


def _version_state(version: VideoVersion, pinned: int | None) -> str:
    if version.removed_at is not None:
        return "removed"
    if version.current:
        return "plays, pinned" if pinned else "plays"
    return ""


def _advice(detail: VideoDetail) -> str:
    video = detail.video
    if video.deleted_at is None and video.status is VideoStatus.FAILED:
        return f"`reel job {video.latest}` shows why; `reel videos retranscode {video.id}` makes a new version"
    if video.deleted_at is None and video.pinned:
        return f"`reel videos unpin {video.id}` makes the newest version play"
    return ""


def _indented(content: RenderableType) -> Padding:
    return Padding(content, (0, 0, 0, 2))
