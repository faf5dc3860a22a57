"""Columnar documents: every task of a job, and the runs of its tasks, as lists of short values of equal length."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from reelstate.api.auth import Reader
from reelstate.api.body import JsonRoute
from reelstate.api.context import OnEngine
from reelstate.api.jobs import JobId, StageName
from reelstate.api.schemas import After
from reelstate.core.machine import TaskStatus
from reelstate.core.model import Json
from reelstate.documents import Document
from reelstate.services.grid import MAX_ATTEMPTS, OUTCOMES, Runs, StageCells, TaskGrid

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"], route_class=JsonRoute)
STATUSES: Final[list[Any]] = [str(status) for status in TaskStatus]
COMPRESSED_FROM: Final = 32 * 1024
"""Bytes from which a document is compressed for a client that accepts it."""
NONE: Final = -1
"""The index of no worker."""
Times = list[int | None]


class StageCellsDocument(BaseModel):
    """The tasks of one stage. Each column has a value per task, in the order of the parts."""

    name: str
    parts: list[int] | None = Field(description="The number of each part; null for 0, 1, 2, ….")
    status: list[int] = Field(description="Index into `statuses`.")
    version: list[int] = Field(description="Of the task: an event with a lower version is older.")
    worker: list[int] = Field(description="Index into `workers`; -1 for none. The worker that runs it or ran it last.")
    attempt: list[int]
    max_attempts: int | list[int] = Field(description="One number where all are equal.")
    lost: list[int] = Field(description="Workers that were lost while they ran it.")
    percent: list[float]
    ready_at: Times
    claimed_at: Times
    started_at: Times
    finished_at: Times
    isolated: list[int] = Field(description="1 for a task that runs alone on a worker.")


class TaskGridDocument(BaseModel):
    """Every task of a job. Times are in milliseconds since 1970, null where there is none."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "job": 244813922304,
                "version": 3,
                "now": 1767268805000,
                "statuses": STATUSES,
                "workers": ["encoder-1"],
                "truncated": False,
                "stages": [],
            }
        }
    )

    job: int
    version: int = Field(description="Of the job.")
    now: int = Field(description="The time of the store.")
    statuses: list[str]
    workers: list[str]
    truncated: bool = Field(description="Whether the job has more tasks than a grid shows; ask for one stage.")
    stages: list[StageCellsDocument]


class RunsDocument(BaseModel):
    """A page of runs, by stage and part: each attempt of each task. Times are in milliseconds since 1970."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "job": 244813922304,
                "now": 1767268805000,
                "workers": ["encoder-1"],
                "stages": ["probe", "encode"],
                "outcomes": list(OUTCOMES),
                "stage": [0, 1],
                "part": [0, 0],
                "token": [1, 1],
                "attempt": [1, 1],
                "worker": [0, 0],
                "start": [1767268801000, 1767268802000],
                "end": [1767268802000, None],
                "outcome": [1, 0],
                "after": None,
            }
        }
    )

    job: int
    now: int = Field(description="The time of the store.")
    workers: list[str]
    stages: list[str]
    outcomes: list[str]
    stage: list[int] = Field(description="Index into `stages`.")
    part: list[int]
    token: list[int]
    attempt: list[int] = Field(description="Its number among the runs of the task that count as attempts.")
    worker: list[int] = Field(description="Index into `workers`.")
    start: list[int]
    end: Times = Field(description="Null while it runs.")
    outcome: list[int] = Field(description="Index into `outcomes`.")
    after: str | None = Field(description="The cursor of the next page; null on the last.")


@router.get("/{job_id}/grid", response_model=TaskGridDocument)
async def grid(
    engine: OnEngine, principal: Reader, job_id: JobId, request: Request, stage: StageName = None
) -> Response:
    """Get every task of a job as columns. Small enough for 100,000 tasks; compressed for clients that accept gzip."""
    found = await engine.grid(job_id, stage=stage, owner=principal.owner)
    return await asyncio.to_thread(_response, request, _grid_document, found)


@router.get("/{job_id}/attempts", response_model=RunsDocument)
async def attempts(
    engine: OnEngine,
    principal: Reader,
    job_id: JobId,
    request: Request,
    stage: StageName = None,
    limit: Annotated[int, Query(ge=1, le=MAX_ATTEMPTS, description="Maximum number of runs.")] = 10_000,
    after: After = None,
) -> Response:
    """List the runs of a job's tasks as columns. They follow from the events: worker, times and outcome of each."""
    found = await engine.runs(job_id, stage=stage, limit=limit, after=after, owner=principal.owner)
    return await asyncio.to_thread(_response, request, _runs_document, found)


def _response(request: Request, document_of: Callable[[Any], Document], found: Any) -> Response:
    """Return a document as JSON; a large one is compressed quickly if the client accepts that."""
    body = to_json(document_of(found))
    headers = {"vary": "accept-encoding"}
    if len(body) >= COMPRESSED_FROM and "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, compresslevel=1)
        headers["content-encoding"] = "gzip"
    return Response(body, media_type="application/json", headers=headers)


def _grid_document(found: TaskGrid) -> Document:
    names, positions = _indexed(found.workers)
    return {
        "job": found.job_id,
        "version": found.version,
        "now": found.now,
        "statuses": STATUSES,
        "workers": names,
        "truncated": found.truncated,
        "stages": [_stage_document(stage, positions) for stage in found.stages],
    }


def _stage_document(stage: StageCells, positions: dict[int | None, int]) -> Document:
    rows = stage.rows
    statuses = {status: number for number, status in enumerate(STATUSES)}
    parts = [row.part for row in rows]
    limits = [row.max_attempts for row in rows]
    return {
        "name": stage.name,
        "parts": None if parts == list(range(len(parts))) else parts,
        "status": [statuses.get(row.status, NONE) for row in rows],
        "version": [row.version for row in rows],
        "worker": [positions.get(row.last_worker, NONE) for row in rows],
        "attempt": [row.attempt for row in rows],
        "max_attempts": limits[0] if len(set(limits)) == 1 else limits,
        "lost": [row.lost for row in rows],
        "percent": [_short(row.percent) for row in rows],
        "ready_at": [row.ready for row in rows],
        "claimed_at": [row.claimed for row in rows],
        "started_at": [row.started for row in rows],
        "finished_at": [row.finished for row in rows],
        "isolated": [row.isolated for row in rows],
    }


def _runs_document(found: Runs) -> Document:
    names, positions = _indexed(found.workers)
    outcomes = {outcome: number for number, outcome in enumerate(OUTCOMES)}
    columns: Sequence[Sequence[Json]] = (
        list(
            zip(
                *(
                    (
                        run.stage,
                        run.part,
                        run.token,
                        run.attempt,
                        positions.get(run.worker, NONE),
                        run.began,
                        run.ended,
                        outcomes[run.outcome],
                    )
                    for run in found.runs
                ),
                strict=True,
            )
        )
        or [()] * 8
    )
    names_of_columns = ("stage", "part", "token", "attempt", "worker", "start", "end", "outcome")
    return {
        "job": found.job_id,
        "now": found.now,
        "workers": names,
        "stages": list(found.stages),
        "outcomes": list(OUTCOMES),
        **dict(zip(names_of_columns, columns, strict=True)),
        "after": found.after,
    }


def _indexed(workers: dict[int, str]) -> tuple[list[str], dict[int | None, int]]:
    """Return the distinct names of workers, and the position of the name of each instance."""
    names = list(dict.fromkeys(workers.values()))
    position = {name: number for number, name in enumerate(names)}
    return names, {worker: position[name] for worker, name in workers.items()}


def _short(percent: float) -> float:
    return int(percent) if percent == int(percent) else percent
