"""What tasks say of themselves: tasks × tags, and the state that stands for all."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from reelstate.api.auth import Reader
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.schemas import StateDocument, StatesDocument
from reelstate.core.errors import NotFound
from reelstate.core.state import MAX_JOB_ID_LENGTH
from reelstate.documents import Document, state_document, states_document

router = APIRouter(prefix="/api/v1/states", tags=["states"], route_class=JsonRoute)
StateJobId = Annotated[
    str,
    Path(
        min_length=1,
        max_length=MAX_JOB_ID_LENGTH,
        description="The id of a job; for admins also JOB.STAGE, or any id of the state manager.",
    ),
]
StageName = Annotated[str | None, Query(max_length=255, description="Only this stage of the job.")]


@router.get("/{job_id}", response_model=StatesDocument)
async def states(engine: OnEngine, principal: Reader, job_id: StateJobId, stage: StageName = None) -> Document:
    """List the states of a job: a grid of tasks and tags per stage, and the lowest state."""
    return states_document(await engine.states(job_id, stage, owner=principal.owner))


@router.get("/{job_id}/lowest", response_model=StateDocument)
async def lowest(engine: OnEngine, principal: Reader, job_id: StateJobId, stage: StageName = None) -> Document:
    """Get the lowest state of a job. Errors come first, then the least progress."""
    found = (await engine.states(job_id, stage, owner=principal.owner)).lowest
    if found is None:
        raise NotFound("state of job", job_id, hint="none of its tasks has reported one")
    return state_document(found)
