"""Routes to pause and resume everything, a pipeline, a stage, a user or a worker. For admins."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from reelstate.api.auth import Admin
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.errors import problems
from reelstate.core.pause import PauseScope, TargetOptions
from reelstate.documents import Document, pause_document

router = APIRouter(prefix="/api/v1/pauses", tags=["pauses"], route_class=JsonRoute)

EXAMPLE: JsonDict = {
    "id": 7,
    "scope": "stage",
    "pipeline": "transcode",
    "stage": "encode",
    "user_id": None,
    "worker": None,
    "reason": "new driver",
    "actor": "key:ops",
    "paused_at": "2026-10-01T08:00:00Z",
    "resumed_at": None,
    "resumed_by": None,
    "resumed_reason": None,
}


class PauseTarget(BaseModel):
    """One of everything, a pipeline (or a stage of it), a user, or a worker's name."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"pipeline": "transcode", "stage": "encode", "reason": "new driver"}},
    )

    everything: bool = Field(default=False, description="All work of the deployment.")
    pipeline: str | None = Field(default=None, description="All jobs of this pipeline.")
    stage: str | None = Field(default=None, description="With `pipeline`: only this stage.")
    user_id: str | None = Field(default=None, description="All jobs of this user.")
    worker: str | None = Field(default=None, description="The instances of a worker of this name.")
    reason: str | None = Field(default=None, description="Why; it is shown where work waits.")

    def options(self) -> TargetOptions:
        """Return what names the target."""
        return {
            "everything": self.everything,
            "pipeline": self.pipeline,
            "stage": self.stage,
            "user_id": self.user_id,
            "worker": self.worker,
        }


class PauseRequest(PauseTarget):
    now: bool = Field(default=False, description="Release running tasks too, which does not count as an attempt.")


class PauseDocument(BaseModel):
    """A pause. When it has been lifted it stays as a record."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})

    id: int
    scope: PauseScope
    pipeline: str | None
    stage: str | None
    user_id: str | None
    worker: str | None
    reason: str | None
    actor: str
    paused_at: datetime
    resumed_at: datetime | None
    resumed_by: str | None
    resumed_reason: str | None


class PausedDocument(PauseDocument):
    """The pause in force."""

    model_config = ConfigDict(json_schema_extra={"example": {**EXAMPLE, "changed": True, "released": 0}})

    changed: bool = Field(description="False where the target was paused already.")
    released: int = Field(description="Running tasks that were released.")


@router.get("", response_model=list[PauseDocument])
async def pauses(
    engine: OnEngine,
    _: Admin,
    lifted: Annotated[bool, Query(description="Include pauses that have been lifted.")] = False,
) -> list[Document]:
    """List the pauses in force, newest first."""
    return [pause_document(each) for each in await engine.pauses(lifted=lifted)]


@router.post("", response_model=PausedDocument, responses=problems(404))
async def pause(engine: OnEngine, principal: Admin, body: PauseRequest) -> Document:
    """Keep workers from claiming tasks of a target, until it is resumed. New work is accepted and waits."""
    paused = await engine.pause(**body.options(), actor=principal.actor, reason=body.reason, release_running=body.now)
    return {**pause_document(paused.pause), "changed": paused.changed, "released": paused.released}


@router.post("/resume", response_model=PauseDocument, responses=problems(404))
async def resume(engine: OnEngine, principal: Admin, body: PauseTarget) -> Document:
    """Lift the pause of a target; its tasks can be claimed at once."""
    return pause_document(await engine.resume(**body.options(), actor=principal.actor, reason=body.reason))
