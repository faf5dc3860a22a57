"""`reel resume`: lift a pause."""

from __future__ import annotations

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson, Database, Reason
from reelstate.cli.plain import echo
from reelstate.cli.session import call, operator
from reelstate.cli.targets import Everything, OfPipeline, OfStage, OfUser, OfWorker, target_options
from reelstate.documents import pause_document


def resume(
    everything: Everything = False,
    pipeline: OfPipeline = None,
    stage: OfStage = None,
    user: OfUser = None,
    worker: OfWorker = None,
    reason: Reason = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Lift the pause of everything, a pipeline, a stage of it, a user, or the workers of a name.

    Example: `reel resume --pipeline transcode --stage encode`
    """
    target = target_options(everything=everything, pipeline=pipeline, stage=stage, user=user, worker=worker)
    lifted = call(database, lambda engine: engine.resume(**target, actor=operator(), reason=reason), wait=True)
    if as_json:
        print_json(pause_document(lifted))
    else:
        echo(f"{lifted.target}: resumed")
