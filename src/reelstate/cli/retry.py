"""`reel retry`: retry failed or quarantined jobs."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.cli.operations import Change, operation
from reelstate.cli.options import part_ranges
from reelstate.core.machine import STOPPED_JOBS
from reelstate.services.operate.retry import ALL_PARTS, From


@operation
def retry(
    stage: Annotated[
        str | None, typer.Option("--from", metavar="STAGE", help="Retry everything from this stage on.")
    ] = None,
    parts: Annotated[
        str | None, typer.Option(help="With --from: only these parts of the stage, such as 3-9,12.")
    ] = None,
) -> Change:
    """Retry jobs: their unfinished tasks, or everything from a stage on.

    Example: `reel retry 244813922304 --from encode --parts 3-9,12 --reason "new encoder"`

    Example: `reel retry --status failed --pipeline transcode --expect 12`

    Example: `reel retry --group nightly-2026-11-19 --expect 2`
    """
    start = _start(stage, parts)
    return Change(lambda engine, jobs: engine.retry_many(jobs, start), "retried", STOPPED_JOBS)


def _start(stage: str | None, parts: str | None) -> From | None:
    if stage is None and parts is not None:
        raise typer.BadParameter("needs --from STAGE", param_hint="--parts")
    if stage is None:
        return None
    try:
        first, *rest = part_ranges(parts) if parts is not None else [ALL_PARTS]
    except typer.BadParameter as error:
        raise typer.BadParameter(error.message, param_hint="--parts") from None
    return From(stage, first, also=tuple(rest))
