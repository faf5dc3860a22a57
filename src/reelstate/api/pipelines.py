"""Routes about pipelines: their versions and stages, and which version new jobs run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.auth import Admin, Reader
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.errors import problems
from reelstate.api.schemas import Input, Json
from reelstate.core.model import PipelineVersion
from reelstate.documents import Document, pipeline_document

router = APIRouter(prefix="/api/v1/pipelines", tags=["pipelines"], route_class=JsonRoute)
PipelineName = Annotated[str, Path(max_length=255, description="The name of the pipeline.")]


class PipelineStageDocument(BaseModel):
    """A stage as declared."""

    name: str
    after: list[str] = Field(description="The stages that it waits for.")
    each: str | None = Field(description="The path of what it fans out over; null for a stage of one task.")
    phase: str
    weight: float
    needs: list[str]
    prefers: list[str]
    attempts: int
    required: bool


class PipelineDocument(BaseModel):
    """A version of a pipeline: a graph that was declared under its name."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "thumbs",
                "digest": "5c9f…",
                "declared_at": "2026-01-01T12:00:00Z",
                "current": True,
                "pinned": False,
                "stages": [],
                "workers": ["encoder-1"],
                "spec": None,
            }
        }
    )

    name: str
    digest: str
    declared_at: datetime = Field(description="When it was first declared.")
    current: bool = Field(description="Whether new jobs run it.")
    pinned: bool = Field(description="Whether an operator has pinned it.")
    stages: list[PipelineStageDocument]
    workers: list[str] = Field(description="Workers that have its code; for admins.")
    spec: Json = Field(description="The JSON Schema of specs; null accepts any.")


class PinRequest(Input):
    """The version that new jobs run."""

    model_config = ConfigDict(json_schema_extra={"example": {"digest": "3f9a1c"}})

    digest: str | None = Field(
        default=None, max_length=64, description="The beginning of its digest; left out: the newest."
    )


@router.get("", response_model=list[PipelineDocument])
async def pipelines(engine: OnEngine, principal: Reader) -> list[Document]:
    """List every version of every pipeline, the newest first, with its stages."""
    return _documents(await engine.pipelines(), admin=principal.admin)


@router.post("/{name}/use", response_model=PipelineDocument, responses=problems(404))
async def use(engine: OnEngine, _: Admin, name: PipelineName, body: PinRequest) -> Document:
    """Pin the version that new jobs of a pipeline run; without a digest, unpin it."""
    (document,) = _documents([await engine.use_pipeline(name, body.digest)], admin=True)
    return document


def _documents(versions: Sequence[PipelineVersion], *, admin: bool) -> list[Document]:
    return [
        {
            **pipeline_document(version),
            "stages": version.graph["stages"],
            "workers": list(version.workers) if admin else [],
        }
        for version in versions
    ]
