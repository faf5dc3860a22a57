"""Limits: how many tasks run at once or start in a period, and turns of users and other keys. For admins."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from reelstate.api.auth import Admin
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.errors import problems
from reelstate.api.schemas import Input
from reelstate.core.limit import (
    MAX_PERIOD,
    MAX_RUNNING,
    MAX_STARTS,
    MAX_WEIGHTS,
    MIN_PERIOD,
    NAME_LIMIT,
    TEXT_LIMIT,
    LimitOptions,
)
from reelstate.documents import Document, limit_document, limit_status_document

router = APIRouter(prefix="/api/v1/limits", tags=["limits"], route_class=JsonRoute)
Name = Annotated[str, Path(max_length=NAME_LIMIT, description="The limit's name.")]
Text = Annotated[str | None, Field(max_length=TEXT_LIMIT)]

REQUEST: JsonDict = {"per": "spec.customer", "running": 4, "starts": 100, "period": 3600, "reason": "fair use"}
EXAMPLE: JsonDict = {
    "id": 3,
    "name": "customers",
    "pipeline": None,
    "stage": None,
    "user_id": None,
    "per": "spec.customer",
    "running": 4,
    "starts": 100,
    "period": 3600,
    "weights": {},
    "declared": False,
    "reason": "fair use",
    "actor": "key:ops",
    "created_at": "2026-10-01T08:00:00Z",
    "changed_at": "2026-10-01T08:00:00Z",
    "removed_at": None,
}


class LimitRequest(Input):
    """Which tasks are counted, by which key, and how many a key may have. Without numbers, keys take turns."""

    model_config = ConfigDict(json_schema_extra={"example": REQUEST})

    pipeline: Text = Field(default=None, description="Only tasks of this pipeline.")
    stage: Text = Field(default=None, description="With `pipeline`: only this stage.")
    user_id: Text = Field(default=None, description="Only tasks of this user.")
    per: Text = Field(default=None, description="Count each `user`, `job` or value such as `spec.customer` apart.")
    running: int | None = Field(default=None, ge=1, le=MAX_RUNNING, description="Tasks that may run at once.")
    starts: int | None = Field(default=None, ge=1, le=MAX_STARTS, description="Tasks that may start in any `period`.")
    period: float | None = Field(default=None, ge=MIN_PERIOD, le=MAX_PERIOD, description="Seconds.")
    weights: dict[str, float] = Field(
        default_factory=dict, max_length=MAX_WEIGHTS, description="Turns of a key for each turn of another."
    )
    reason: str | None = Field(default=None, max_length=1000, description="Why; it is shown with the limit.")

    def options(self) -> LimitOptions:
        """Return the fields of the limit."""
        return {
            "pipeline": self.pipeline,
            "stage": self.stage,
            "user_id": self.user_id,
            "per": self.per,
            "running": self.running,
            "starts": self.starts,
            "period": self.period,
            "weights": self.weights,
        }


class LimitDocument(BaseModel):
    """A limit. One that was removed stays as a record."""

    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})

    id: int
    name: str
    pipeline: str | None
    stage: str | None
    user_id: str | None
    per: str | None
    running: int | None
    starts: int | None
    period: float | None
    weights: dict[str, float]
    declared: bool = Field(description="Whether it comes with a pipeline, and no operator has changed it.")
    reason: str | None
    actor: str
    created_at: datetime
    changed_at: datetime
    removed_at: datetime | None


class LimitUseDocument(BaseModel):
    """A key of a limit."""

    key: str = Field(description="Empty where all tasks are counted together.")
    running: int = Field(description="Tasks that run or are the next to be claimed.")
    starts: int = Field(description="Tasks that have started within the period.")
    waiting: int = Field(description="Tasks that wait, counted up to 1000.")


class LimitStatusDocument(LimitDocument):
    """A limit, and the keys with most tasks."""

    model_config = ConfigDict(
        json_schema_extra={"example": {**EXAMPLE, "uses": [{"key": "acme", "running": 4, "starts": 12, "waiting": 37}]}}
    )

    uses: list[LimitUseDocument]


@router.get("", response_model=list[LimitDocument])
async def limits(
    engine: OnEngine,
    _: Admin,
    removed: Annotated[bool, Query(description="Include limits that were removed.")] = False,
) -> list[Document]:
    """List the limits in force by name."""
    return [limit_document(each) for each in await engine.limits.all(removed=removed)]


@router.get("/{name}", response_model=LimitStatusDocument, responses=problems(404))
async def limit(engine: OnEngine, _: Admin, name: Name) -> Document:
    """Show a limit, and the keys with most tasks."""
    return limit_status_document(await engine.limits.get(name))


@router.put("/{name}", response_model=LimitDocument)
async def set_limit(engine: OnEngine, principal: Admin, name: Name, body: LimitRequest) -> Document:
    """Set a limit, or replace the one of that name. Tasks that run go on, and count."""
    record = await engine.limits.set(name, actor=principal.actor, reason=body.reason, **body.options())
    return limit_document(record)


@router.delete("/{name}", response_model=LimitDocument, responses=problems(404))
async def remove_limit(
    engine: OnEngine,
    principal: Admin,
    name: Name,
    reason: Annotated[str | None, Query(max_length=1000, description="Why; the record keeps it.")] = None,
) -> Document:
    """Remove a limit; what waits for it alone can be claimed at once."""
    return limit_document(await engine.limits.remove(name, actor=principal.actor, reason=reason))
