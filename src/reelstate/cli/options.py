"""Options and arguments of several commands, and their parsers."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import typer

from reelstate.config import DEFAULTS
from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Json
from reelstate.core.policy import PRIORITIES, priority_number
from reelstate.media.planning.profile import load_profile, profile_names

DEFAULT_DATABASE: str = DEFAULTS.database_url
MAX_ID = 2**63 - 1
_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)


def job_number(text: str | int) -> int:
    """Parse a job id."""
    return _id(text, "job")


def video_number(text: str | int) -> int:
    """Parse a video id."""
    return _id(text, "video")


def _id(text: str | int, noun: str) -> int:
    if str(text).isascii() and str(text).isdecimal() and int(text) <= MAX_ID:
        return int(text)
    raise typer.BadParameter(f"{text!r} is not a {noun} id (expected a whole number, see `reel {noun}s`)")


def profile_document(text: str | None) -> Json:
    """Return a profile for a spec: its name, or its document if it is a file."""
    if text is None:
        return None
    profile = load_profile(text)
    return text if text in profile_names() else profile.to_json()


def priority(text: str | int) -> int:
    """Parse a priority: a number or a name."""
    try:
        return priority_number(int(text) if str(text).lstrip("-").isdecimal() else str(text))
    except InvalidRequest as error:
        raise typer.BadParameter(f"{text!r} is not a priority: {error.hint}") from None


class StatusName(StrEnum):
    """The statuses of a job, and `running` for all its phases."""

    PENDING = "pending"
    RUNNING = "running"
    VALIDATING = "validating"
    PLANNING = "planning"
    DOWNLOADING_INPUTS = "downloading_inputs"
    PROCESSING = "processing"
    UPLOADING_OUTPUTS = "uploading_outputs"
    COMPLETED = "completed"
    FAILED = "failed"
    QUARANTINED = "quarantined"
    CANCELLED = "cancelled"


def part_ranges(text: str) -> list[tuple[int, int]]:
    """Parse parts such as `3-9,12` into first and last numbers."""
    found = [_RANGE.fullmatch(piece.strip()) for piece in text.split(",")]
    ranges = [(int(match[1]), int(match[2] or match[1])) for match in found if match]
    if len(ranges) < len(found) or any(first > last for first, last in ranges):
        raise typer.BadParameter(f"invalid parts {text!r} (expected for example 3-9,12, counted from 0)")
    return ranges


IdempotencyKey = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Running the command again with the same key submits no second job."),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        "-d",
        envvar="REEL_DATABASE_URL",
        metavar="URL",
        show_default=DEFAULT_DATABASE,
        help="The database: jobs.db, sqlite:///jobs.db or postgresql://user@host/name.",
    ),
]
App = Annotated[
    str | None,
    typer.Option(
        "--app",
        envvar="REEL_APP",
        metavar="MODULE:NAME",
        help="Your pipelines: a pipeline or a list of them in a module or file.",
    ),
]
Capabilities = Annotated[
    str | None, typer.Option(metavar="NAME,…", help="Added to the detected ones: `gpu,zone:eu`; `-ffmpeg` removes one.")
]
Pipelines = Annotated[
    str | None,
    typer.Option(
        "--pipelines",
        metavar="NAME,…",
        help="Run only these pipelines, such as `thumbs,transcode`; all by default.",
    ),
]
Priority = Annotated[
    int,
    typer.Option(
        "--priority",
        "-p",
        metavar="0-10|NAME",
        parser=priority,
        help=f"10 is most urgent; or {', '.join(PRIORITIES)}.",
    ),
]
ProfileName = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME|FILE", help=f"The profile: {', '.join(profile_names())}, or a file."),
]
Wait = Annotated[
    bool, typer.Option("--wait", "-w", help="Watch the job until it is inactive; exit with 1 if it fails.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JobId = Annotated[int, typer.Argument(metavar="JOB", parser=job_number, help="The job's id.")]
JobIds = Annotated[list[int] | None, typer.Argument(metavar="JOB", parser=job_number, help="Job ids; or use --status.")]
OfStatus = Annotated[
    list[StatusName] | None,
    typer.Option(
        "--status",
        help="Instead of ids: all jobs of this status; can be repeated. `running` includes every phase.",
    ),
]
OfPipeline = Annotated[
    str | None, typer.Option("--pipeline", help="With --status or --group: only jobs of this pipeline.")
]
OfUser = Annotated[str | None, typer.Option("--user", help="With --status or --group: only jobs of this user.")]
OfGroup = Annotated[
    str | None,
    typer.Option("--group", metavar="NAME", help="Instead of ids: the jobs of this group, see `reel groups`."),
]
Expected = Annotated[
    int | None,
    typer.Option(
        "--expect",
        metavar="COUNT",
        min=0,
        help="With --status or --group: the expected number of jobs; without it they are only counted.",
    ),
]
Reason = Annotated[str | None, typer.Option(help="The reason, recorded in the history.")]
RequiredReason = Annotated[str, typer.Option(help="The reason, recorded in the history.")]
