"""relax: tasks that want what no worker has go on without it. The keeper calls it.

A stage with `wants_from` opens in a lane that has these names among its needs, so that only a worker that has them gets
its tasks. Where no active worker has them for a while, its ready tasks move to the lane without them.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from reelstate.core.pipeline import Graph
from reelstate.services.catalogue import Catalogue, lane_for
from reelstate.services.stages import BrokenFanOut, OpeningStage, job_needs
from reelstate.stores.store import Store, Transaction

logger = logging.getLogger("reelstate.keeper")


class _Unserved(NamedTuple):
    """A stage of a job with ready tasks in a lane whose needs no active worker has."""

    job_id: int
    stage: int
    lane: int
    pipeline_id: int


async def relax(store: Store, catalogue: Catalogue, *, older: float, limit: int) -> list[int]:
    """Move tasks that have been ready for so long, and want what no active worker has; returns their jobs."""

    async def unserved(transaction: Transaction) -> list[_Unserved]:
        rows = [_Unserved(*row) for row in await transaction.run("orchestrate_unserved", older=older, limit=limit)]
        known = await catalogue.known(transaction, {row.pipeline_id for row in rows})
        return [row for row in rows if row.pipeline_id in known and _wants(known[row.pipeline_id].graph, row.stage)]

    found = await store.read(unserved)
    return [each.job_id for each in found if await _relax(store, catalogue, each)]


def _wants(graph: Graph, stage: int) -> bool:
    return stage < len(graph.stages) and graph.stages[stage].wants_from is not None


async def _relax(store: Store, catalogue: Catalogue, unserved: _Unserved) -> bool:
    job_id, stage, origin, pipeline_id = unserved

    async def flow(transaction: Transaction) -> str | None:
        declared = await catalogue.one(transaction, pipeline_id)
        opening = OpeningStage([job_id], declared, declared.graph.opening(stage), priority=0)
        try:
            needs = opening.spec.needs | await job_needs(transaction, opening, job_id, opening.opening.needs)
        except BrokenFanOut:  # its source is being made anew
            return None
        lane = await lane_for(transaction, declared.graph.name, needs, opening.spec)
        if lane == origin:
            return None
        await transaction.run("orchestrate_relax", job_id=job_id, stage=stage, origin=origin, lane=lane)
        return opening.spec.name

    name = await store.write(flow)
    if name is not None:
        logger.warning("stage goes on without what it wants: no worker has it job=%s stage=%s", job_id, name)
    return name is not None
