"""Routes to archive finished jobs, and to list the months of the archive. For admins."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from reelstate.api.auth import Admin
from reelstate.api.body import JsonRoute
from reelstate.api.context import InContext
from reelstate.documents import Document

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


class MonthDocument(BaseModel):
    """A month of the archive."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"month": "2026-10", "jobs": 1204, "finished_at": "2026-11-02T08:00:00Z"}}
    )

    month: str = Field(description="The month in which its jobs were created.")
    jobs: int
    finished_at: datetime | None = Field(description="When the last of its jobs finished.")


@router.get("", response_model=list[MonthDocument])
async def months(context: InContext, _: Admin) -> list[Document]:
    """List the months of the archive, oldest first. `GET /api/v1/jobs?archived=true` lists jobs."""
    found = await context.engine.archive_months()
    return [{"month": each.month, "jobs": each.jobs, "finished_at": each.finished_at} for each in found]


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
