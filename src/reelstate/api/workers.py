"""Workers: who there is, and whether they may take work. For admins."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from reelstate.api.auth import Admin
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.errors import problems
from reelstate.api.operations import OperationRequest
from reelstate.api.schemas import WorkerDocument
from reelstate.core.errors import NotFound
from reelstate.documents import Document, worker_document
from reelstate.engine import Engine

router = APIRouter(
    prefix="/api/v1/workers",
    tags=["workers"],
    route_class=JsonRoute,
    responses=problems(409),
)
Name = Annotated[
    str, Path(min_length=1, max_length=255, description="The workers' name; it may have several instances.")
]


class ChangedWorker(BaseModel):
    name: str
    changed: list[int] = Field(description="The instances that changed.")


class DisabledWorker(BaseModel):
    name: str
    released: int = Field(description="Tasks that were given back, uncharged.")


class RevokedWorker(DisabledWorker):
    revoked: int = Field(description="Keys that ended.")


@router.get("", response_model=list[WorkerDocument])
async def workers(engine: OnEngine, _: Admin) -> list[Document]:
    """Every instance that is known, the oldest first."""
    return [worker_document(worker) for worker in await engine.workers()]


@router.post("/{name}/drain", response_model=ChangedWorker)
async def drain(engine: OnEngine, principal: Admin, name: Name, body: OperationRequest | None = None) -> Document:
    """Let the workers of a name finish what they run and take nothing new."""
    await _require(engine, name)
    return {"name": name, "changed": await engine.drain(name, actor=principal.actor, reason=_reason(body))}


@router.post("/{name}/enable", response_model=ChangedWorker)
async def enable(engine: OnEngine, principal: Admin, name: Name, body: OperationRequest | None = None) -> Document:
    """Let the workers of a name take work again, after a drain or a disable."""
    await _require(engine, name)
    return {"name": name, "changed": await engine.enable(name, actor=principal.actor, reason=_reason(body))}


@router.post("/{name}/disable", response_model=DisabledWorker)
async def disable(engine: OnEngine, principal: Admin, name: Name, body: OperationRequest | None = None) -> Document:
    """Refuse work to a name, now and after a restart, until it is enabled; what its workers run is given to others.

    Its keys stay in force; `revoke` ends them.
    """
    await _require(engine, name)
    return {"name": name, "released": await engine.disable(name, actor=principal.actor, reason=_reason(body))}


@router.post("/{name}/revoke", response_model=RevokedWorker)
async def revoke(engine: OnEngine, principal: Admin, name: Name) -> Document:
    """End the keys of remote workers of a name, who are refused within five seconds; what they run is given back."""
    revoked, released = await engine.revoke(name, actor=principal.actor)
    return {"name": name, "revoked": revoked, "released": released}


async def _require(engine: Engine, name: str) -> None:
    """Raise for a name that no worker was ever registered under."""
    if name not in await engine.worker_names():
        raise NotFound("worker", repr(name), hint="GET /api/v1/workers lists those that there are")


def _reason(body: OperationRequest | None) -> str | None:
    return body.reason if body else None
