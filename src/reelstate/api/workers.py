"""Routes to list, drain, enable, disable and revoke workers. For admins."""

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
    str, Path(min_length=1, max_length=255, description="The name of a worker; it may have several instances.")
]


class ChangedWorker(BaseModel):
    name: str
    changed: list[int] = Field(description="Ids of the instances that changed.")


class DisabledWorker(BaseModel):
    name: str
    released: int = Field(description="Tasks that were released, without counting an attempt.")


class RevokedWorker(DisabledWorker):
    revoked: int = Field(description="Keys that were revoked.")


@router.get("", response_model=list[WorkerDocument])
async def workers(engine: OnEngine, _: Admin) -> list[Document]:
    """List all registered instances, oldest first."""
    return [worker_document(worker) for worker in await engine.workers()]


@router.get("/names", response_model=list[str])
async def names(engine: OnEngine, _: Admin) -> list[str]:
    """List every name that a worker was ever registered under, sorted."""
    return await engine.worker_names()


@router.post("/{name}/drain", response_model=ChangedWorker)
async def drain(engine: OnEngine, principal: Admin, name: Name, body: OperationRequest | None = None) -> Document:
    """Let the instances of a name finish their tasks and claim no new ones."""
    await _require_name(engine, name)
    return {"name": name, "changed": await engine.drain(name, actor=principal.actor, reason=_reason(body))}


@router.post("/{name}/enable", response_model=ChangedWorker)
async def enable(engine: OnEngine, principal: Admin, name: Name, body: OperationRequest | None = None) -> Document:
    """Let the instances of a name claim tasks again, after a drain or a disable."""
    await _require_name(engine, name)
    return {"name": name, "changed": await engine.enable(name, actor=principal.actor, reason=_reason(body))}


@router.post("/{name}/disable", response_model=DisabledWorker)
async def disable(engine: OnEngine, principal: Admin, name: Name, body: OperationRequest | None = None) -> Document:
    """Refuse tasks to a name, also after a restart, until it is enabled; release the tasks that its instances run.

    Its keys stay valid; `revoke` ends them.
    """
    await _require_name(engine, name)
    return {"name": name, "released": await engine.disable(name, actor=principal.actor, reason=_reason(body))}


@router.post("/{name}/revoke", response_model=RevokedWorker)
async def revoke(engine: OnEngine, principal: Admin, name: Name) -> Document:
    """Revoke the keys of a remote worker, which is refused within five seconds, and release the tasks that it runs."""
    revoked, released = await engine.revoke(name, actor=principal.actor)
    return {"name": name, "revoked": revoked, "released": released}


async def _require_name(engine: Engine, name: str) -> None:
    """Raise NotFound for a name that was never registered."""
    if name not in await engine.worker_names():
        raise NotFound("worker", repr(name), hint="GET /api/v1/workers lists all workers")


def _reason(body: OperationRequest | None) -> str | None:
    return body.reason if body else None
