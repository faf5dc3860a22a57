"""`reel job`: show a job."""

from __future__ import annotations

from reelstate.cli.documents import print_json
from reelstate.cli.live import render_job, take_snapshot
from reelstate.cli.options import AsJson, Database, JobId
from reelstate.cli.session import call
from reelstate.cli.terminal import console
from reelstate.documents import detail_document


def job(job_id: JobId, database: Database = None, as_json: AsJson = False) -> None:
    """Show a job: its stages, running tasks, error and outputs.

    Example: `reel job 244813922304 --json`
    """
    taken = call(database, lambda engine: take_snapshot(engine, job_id))
    if as_json:
        print_json(detail_document(taken.detail, taken.current))
    else:
        console().print(render_job(taken))
