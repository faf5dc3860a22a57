"""Groups: list them, get one, and cancel or retry all jobs of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.auth import Principal, Reader, Writer
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.errors import problems
from reelstate.api.jobs import paged, user_of
from reelstate.api.operations import OperationRequest
from reelstate.api.schemas import After, Limit, PageDocument, like
from reelstate.core.group import MAX_NAME, GroupDetail
from reelstate.core.model import Verdict
from reelstate.documents import Document, group_document
from reelstate.services.operate.operation import Operated

router = APIRouter(prefix="/api/v1/groups", tags=["groups"], route_class=JsonRoute)
Name = Annotated[str, Path(max_length=MAX_NAME, description="The group's name.")]
OfUser = Annotated[str | None, Query(max_length=255, description="Of this user; for admins.")]
EXAMPLE: dict[str, Any] = {
    "name": "nightly-2026-11-19",
    "user_id": "ada",
    "status": "running",
    "jobs": 40,
    "counts": {"completed": 37, "running": 2, "pending": 1},
    "progress": 92.5,
    "round": 1,
    "created_at": "2026-11-19T02:00:00Z",
    "finished_at": None,
    "callback": None,
}


@like(GroupDetail)
class GroupDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": EXAMPLE})

    status: str = Field(description="The lowest of: quarantined, failed, cancelled, running, pending, completed.")
    counts: dict[str, int] = Field(description="Jobs by status; `running` is every phase.")
    progress: float = Field(description="Jobs that are not active any more, in percent.")
    round: int = Field(description="+1 when a job joins it, or runs again, after it has finished.")


class GroupChangeDocument(BaseModel):
    model_config = ConfigDict(json_schema_extra={"example": {"name": "nightly-2026-11-19", "changed": 3, "refused": 0}})

    name: str
    changed: int = Field(description="Jobs that were changed.")
    refused: int = Field(description="Jobs that changed meanwhile and could not be.")


@router.get("", response_model=PageDocument[GroupDocument])
async def groups(
    engine: OnEngine,
    principal: Reader,
    request: Request,
    response: Response,
    user_id: OfUser = None,
    limit: Limit = 50,
    after: After = None,
) -> Document:
    """List groups of jobs, newest first. Their jobs: `GET /api/v1/jobs?q=group:NAME`."""
    page = await engine.groups(user_id=user_of(principal, user_id), limit=limit, after=after)
    return paged(page, [group_document(group) for group in page.items], request, response)


@router.get("/{name}", response_model=GroupDocument)
async def group(engine: OnEngine, principal: Reader, name: Name, user_id: OfUser = None) -> Document:
    """Get the status, the counts and the progress of a group."""
    return group_document(await engine.group(name, user_id=user_of(principal, user_id)))


@router.post("/{name}/cancel", response_model=GroupChangeDocument, responses=problems(404))
async def cancel(
    engine: OnEngine, principal: Writer, name: Name, body: OperationRequest | None = None, user_id: OfUser = None
) -> Document:
    """Cancel the active jobs of a group, in batches. Jobs that have failed stay failed."""
    return _changed(name, await engine.cancel_group(name, **_options(principal, body, user_id)))


@router.post("/{name}/retry", response_model=GroupChangeDocument, responses=problems(404))
async def retry(
    engine: OnEngine, principal: Writer, name: Name, body: OperationRequest | None = None, user_id: OfUser = None
) -> Document:
    """Retry the failed jobs of a group, in batches; for an admin the quarantined ones too."""
    return _changed(name, await engine.retry_group(name, **_options(principal, body, user_id)))


def _options(principal: Principal, body: OperationRequest | None, user_id: str | None) -> dict[str, Any]:
    return {
        "actor": principal.actor,
        "user_id": user_of(principal, user_id),
        "reason": body.reason if body else None,
    }


def _changed(name: str, outcomes: Sequence[Operated]) -> Document:
    changed = sum(outcome.verdict is Verdict.OK for outcome in outcomes)
    return {"name": name, "changed": changed, "refused": sum(outcome.error is not None for outcome in outcomes)}
