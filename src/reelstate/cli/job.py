"""`reel job`: show a job."""

from __future__ import annotations

from dataclasses import replace

from reelstate.cli.documents import print_json
from reelstate.cli.live import Snapshot, render_job, take_snapshot
from reelstate.cli.options import AsJson, Database, JobId
from reelstate.cli.session import call, settings_for
from reelstate.cli.terminal import console
from reelstate.cli.verbs import EngineVerbs
from reelstate.config import Settings
from reelstate.core.machine import ACTIVE_JOBS
from reelstate.core.why import ReasonKind
from reelstate.documents import detail_document


def job(job_id: JobId, database: Database = None, as_json: AsJson = False) -> None:
    """Show a job: its stages, running tasks, error and outputs.

    Example: `reel job 244813922304 --json`
    """
    settings = settings_for(database)
    taken = call(database, lambda engine: _read(engine, job_id, settings))
    if as_json:
        print_json(detail_document(taken.detail, taken.current, taken.reasons))
    else:
        console().print(render_job(taken))


async def _read(engine: EngineVerbs, job_id: int, settings: Settings) -> Snapshot:
    """Return a job and, where it is active, what it waits for."""
    taken = await take_snapshot(engine, job_id)
    if taken.detail.job.status not in ACTIVE_JOBS:
        return taken
    explained = await engine.why(job_id, gpu_grace=settings.gpu_grace, stale_after=settings.stale_after)
    return replace(taken, reasons=tuple(reason for reason in explained.reasons if reason.kind is not ReasonKind.RUNS))
