"""`reel pause`: keep workers from claiming tasks."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database, Reason
from reelstate.cli.plain import echo
from reelstate.cli.session import call, operator
from reelstate.cli.targets import Everything, OfPipeline, OfStage, OfUser, OfWorker, target_options
from reelstate.documents import pause_document


def pause(
    everything: Everything = False,
    pipeline: OfPipeline = None,
    stage: OfStage = None,
    user: OfUser = None,
    worker: OfWorker = None,
    now: Annotated[bool, typer.Option("--now", help="Release running tasks too; that counts as no attempt.")] = False,
    reason: Reason = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Pause everything, a pipeline, a stage of it, a user, or the workers of a name, until `reel resume`.

    Running tasks finish, unless you use --now. New work is accepted and waits.

    Example: `reel pause --pipeline transcode --stage encode --reason "new driver"`
    """
    target = target_options(everything=everything, pipeline=pipeline, stage=stage, user=user, worker=worker)
    paused = call(
        database,
        lambda engine: engine.pause(**target, actor=operator(), reason=reason, release_running=now),
        wait=True,
    )
    if as_json:
        document = pause_document(paused.pause)
        print_json({**document, "changed": paused.changed, "released": paused.released})
        return
    already = "" if paused.changed else " (already)"
    released = f"; tasks released: {paused.released}" if now else ""
    echo(f"{paused.pause}{already}{released}")
