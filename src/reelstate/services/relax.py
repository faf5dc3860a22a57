"""relax: let tasks run without capabilities that they want and no worker has. The keeper calls it.

A stage with `wants_from` opens in a lane that has these names among its needs, so that only a worker with them gets its
tasks. Where no active worker has them for a while, its ready tasks move to the lane without them.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from reelstate.services.catalogue import Catalogue, lane_for
from reelstate.services.stages import BrokenFanOut, OpeningStage, job_needs
from reelstate.stores.store import NoRow, Statement, Store, Transaction

logger = logging.getLogger("reelstate.keeper")


class _UnservedStage(NamedTuple):
    """A stage of a job with ready tasks in a lane whose needs no active worker has."""

    job_id: int
    stage: int
    lane: int
    pipeline_id: int


UNSERVED_STAGES = Statement("orchestrate_unserved", _UnservedStage)
CHANGE_LANE = Statement("orchestrate_relax", NoRow)


async def relax(store: Store, catalogue: Catalogue, *, older: float, limit: int) -> list[int]:
    """Move tasks that have been ready for `older` seconds and want what no active worker has; return their jobs."""

    async def find(transaction: Transaction) -> list[_UnservedStage]:
        rows = await transaction.run(UNSERVED_STAGES, older=older, limit=limit)
        declared = await catalogue.load(transaction, {row.pipeline_id for row in rows})
        found = []
        for row in rows:
            stages = declared[row.pipeline_id].graph.stages if row.pipeline_id in declared else ()
            if row.stage < len(stages) and stages[row.stage].wants_from is not None:
                found.append(row)
        return found

    return [row.job_id for row in await store.read(find) if await _relax(store, catalogue, row)]


async def _relax(store: Store, catalogue: Catalogue, unserved: _UnservedStage) -> bool:
    job_id, stage = unserved.job_id, unserved.stage

    async def flow(transaction: Transaction) -> str | None:
        declared = await catalogue.load_one(transaction, unserved.pipeline_id)
        opening = OpeningStage([job_id], declared, declared.graph.opening(stage), priority=0)
        try:
            needs = opening.spec.needs | await job_needs(transaction, opening, job_id, opening.opening.needs)
        except BrokenFanOut:  # the result that it reads is being made again
            return None
        lane = await lane_for(transaction, declared.graph.name, needs, opening.spec)
        if lane == unserved.lane:
            return None
        await transaction.run(CHANGE_LANE, job_id=job_id, stage=stage, origin=unserved.lane, lane=lane)
        return opening.spec.name

    name = await store.write(flow)
    if name is not None:
        logger.warning("wanted capabilities dropped, no worker has them job=%s stage=%s", job_id, name)
    return name is not None
