"""Options and arguments that several commands have, spelled once, and how their text is read."""

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
LARGEST_ID = 2**63 - 1
_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)


def job_number(text: str | int) -> int:
    """A job's id as people type it."""
    if str(text).isascii() and str(text).isdecimal() and int(text) <= LARGEST_ID:
        return int(text)
    raise typer.BadParameter(f"{text!r} is not a job id: it is a whole number, and `reel jobs` lists them")


def video_number(text: str | int) -> int:
    """A video's id as people type it."""
    if str(text).isascii() and str(text).isdecimal() and int(text) <= LARGEST_ID:
        return int(text)
    raise typer.BadParameter(f"{text!r} is not a video id: it is a whole number, and `reel videos` lists them")


def profile_document(text: str | None) -> Json:
    """A profile as a spec names it: by its name, or whole where it is the user's own file."""
    if text is None:
        return None
    profile = load_profile(text)
    return text if text in profile_names() else profile.to_json()


def priority(text: str | int) -> int:
    """A priority as a number or as a word."""
    try:
        return priority_number(int(text) if str(text).lstrip("-").isdecimal() else str(text))
    except InvalidRequest as error:
        raise typer.BadParameter(f"{text!r} is not a priority: {error.hint}") from None


class StatusName(StrEnum):
    """The statuses of a job, and `running`, which stands for all its phases."""

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
    """Parts such as `3-9,12` as first and last numbers."""
    found = [_RANGE.fullmatch(piece.strip()) for piece in text.split(",")]
    ranges = [(int(match[1]), int(match[2] or match[1])) for match in found if match]
    if len(ranges) < len(found) or any(first > last for first, last in ranges):
        raise typer.BadParameter(f"{text!r} names no parts: write 3-9,12 (the first part is 0)")
    return ranges


IdempotencyKey = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Running the command again with the same key makes no second job."),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        "-d",
        envvar="REEL_DATABASE_URL",
        metavar="ADDRESS",
        show_default=DEFAULT_DATABASE,
        help="Where the store is: jobs.db, sqlite:///jobs.db or postgresql://user@host/name.",
    ),
]
App = Annotated[
    str | None,
    typer.Option(
        "--app",
        envvar="REEL_APP",
        metavar="MODULE:NAME",
        help="Your pipelines: the name of one, or of a list of them, in a module or file.",
    ),
]
Capabilities = Annotated[
    str | None, typer.Option(metavar="NAME,…", help="Beyond what is found: `gpu,zone:eu`; `-ffmpeg` takes one away.")
]
Pipelines = Annotated[
    str | None,
    typer.Option(
        "--pipelines",
        metavar="NAME,…",
        help="Run only these of its pipelines, built-in ones too: `thumbs,transcode`. Left out: all of them.",
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
    typer.Option(
        "--profile", metavar="NAME|FILE", help=f"What is made: {', '.join(profile_names())}, or a file of yours."
    ),
]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Show it until it ends; exits with 1 if it fails.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
JobId = Annotated[int, typer.Argument(metavar="JOB", parser=job_number, help="The job's id.")]
JobIds = Annotated[
    list[int] | None, typer.Argument(metavar="JOB", parser=job_number, help="Ids of jobs; or choose them by --status.")
]
OfStatus = Annotated[
    list[StatusName] | None,
    typer.Option(
        "--status",
        help="Instead of ids: all jobs of this status; may be given several times. `running` is every phase.",
    ),
]
OfPipeline = Annotated[str | None, typer.Option("--pipeline", help="Of those, only jobs of this pipeline.")]
OfUser = Annotated[str | None, typer.Option("--user", help="Of those, only jobs for this user.")]
Expected = Annotated[
    int | None,
    typer.Option("--expect", metavar="COUNT", min=0, help="How many those are; without it they are only counted."),
]
Reason = Annotated[str | None, typer.Option(help="Why; it is kept in the history.")]
RequiredReason = Annotated[str, typer.Option(help="Why; it is kept in the history.")]
