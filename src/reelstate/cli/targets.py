"""The options of `reel pause` and `reel resume` that name what is paused."""

from __future__ import annotations

from typing import Annotated

import typer

from reelstate.core.errors import InvalidRequest
from reelstate.core.pause import Target, TargetOptions

Everything = Annotated[bool, typer.Option("--all", help="All work of the deployment.")]
OfPipeline = Annotated[str | None, typer.Option("--pipeline", help="All jobs of this pipeline.")]
OfStage = Annotated[str | None, typer.Option("--stage", help="Only this stage of the pipeline.")]
OfUser = Annotated[str | None, typer.Option("--user", help="All jobs of this user.")]
OfWorker = Annotated[str | None, typer.Option("--worker", help="The workers of this name.")]


def target_options(
    *, everything: bool, pipeline: str | None, stage: str | None, user: str | None, worker: str | None
) -> TargetOptions:
    """Return what the options name. Raises `InvalidRequest` unless that is exactly one thing."""
    options: TargetOptions = {
        "everything": everything,
        "pipeline": pipeline,
        "stage": stage,
        "user_id": user,
        "worker": worker,
    }
    try:
        Target.of(**options)
    except InvalidRequest as error:
        raise InvalidRequest(
            "target",
            "does not name one thing",
            hint="use one of --all, --pipeline, --pipeline with --stage, --user, --worker",
        ) from error
    return options
