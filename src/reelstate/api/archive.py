"""Routes to archive finished jobs, and to list the months of the archive. For admins."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from reelstate.api.auth import Admin
from reelstate.api.body import JsonRoute
from reelstate.api.context import InContext
from reelstate.api.errors import problems
from reelstate.api.schemas import like
from reelstate.artifacts.storage import open_storage
from reelstate.documents import Document, fields_document
from reelstate.services.export import ListedMonth, list_months, read_month

ROWS: Final = "application/x-ndjson"
router = APIRouter(prefix="/api/v1/archive", tags=["archive"], route_class=JsonRoute)


class ArchiveRequest(BaseModel):
    """Which jobs to archive; without times, those that the settings name."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"before": "2026-10-01T00:00:00Z"}})

    before: AwareDatetime | None = Field(default=None, description="Completed and cancelled jobs that ended before.")
    failed_before: AwareDatetime | None = Field(
        default=None, description="Failed and quarantined jobs that stopped before."
    )
    dry_run: bool = Field(default=False, description="Count the jobs, and move none.")


class ArchivedDocument(BaseModel):
    """What was moved, or would be."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"jobs": {"2026-10": 1204}, "rows": {"jobs": 1204, "tasks": 4816}}}
    )

    jobs: dict[str, int] = Field(description="Jobs by the month in which they were created.")
    rows: dict[str, int] = Field(description="Rows by table.")


@like(ListedMonth)
class MonthDocument(BaseModel):
    """A month of the archive, or one that was deleted from it after an export."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "month": "2026-10",
                "jobs": 1204,
                "finished_at": "2026-11-02T08:00:00Z",
                "exported": True,
                "deleted": False,
            }
        }
    )

    month: str = Field(description="The month in which its jobs were created.")
    exported: bool = Field(description="Whether the storage has an export of it.")
    deleted: bool = Field(description="Whether only its export is left.")


@router.get("", response_model=list[MonthDocument])
async def months(context: InContext, _: Admin) -> list[Document]:
    """List the months of the archive and its exports, oldest first. `GET /api/v1/jobs?archived=true` lists jobs."""
    storage = open_storage(context.settings.storage_url)
    return [fields_document(each) for each in await list_months(context.engine.store, storage)]


@router.get(
    "/{month}",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The rows, one JSON object a line", "content": {ROWS: {"schema": {"type": "string"}}}},
        **problems(404),
    },
)
async def rows(
    context: InContext,
    _: Admin,
    month: Annotated[str, Path(max_length=20, description="A month, such as 2026-11.")],
    table: Annotated[
        str, Query(max_length=64, description="jobs, tasks, stages, events, logs, steps, states, …")
    ] = "jobs",
) -> StreamingResponse:
    """Read the rows of a month, from the archive, or from its export when it was deleted."""
    found = read_month(context.engine.store, open_storage(context.settings.storage_url), month, table)
    first = await anext(found, None)  # raises before the response begins
    return StreamingResponse(_lines(first, found), media_type=ROWS)


async def _lines(first: dict[str, Any] | None, rest: AsyncGenerator[dict[str, Any], None]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        if first is not None:
            yield to_json(first) + b"\n"
        async for row in rest:
            yield to_json(row) + b"\n"


@router.post("", response_model=ArchivedDocument)
async def archive(context: InContext, _: Admin, body: ArchiveRequest | None = None) -> Document:
    """Archive finished jobs now. The keeper does it by itself; jobs that changed meanwhile stay."""
    asked = body or ArchiveRequest()
    moved = await context.engine.archive(
        older=context.settings.archive_after or None,
        failed_older=context.settings.archive_failed_after or None,
        before=asked.before,
        failed_before=asked.failed_before,
        dry_run=asked.dry_run,
    )
    return {"jobs": moved.jobs, "rows": moved.rows}
