"""Columnar documents: the tasks of a job, and the runs of its tasks, as lists of short values of equal length."""

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
from reelstate.services.spans import JobSpans, StageSpans

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"], route_class=JsonRoute)
STATUSES: Final[list[Any]] = [str(status) for status in TaskStatus]
_NUMBERS: Final = {status: number for number, status in enumerate(STATUSES)}
COMPRESSED_FROM: Final = 32 * 1024
"""Bytes from which a document is compressed for a client that accepts it."""
MAX_PART: Final = 2**31 - 1
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


class StageSpansDocument(BaseModel):
    """The tasks of one stage. Each column has a value per span, in the order of the parts."""

    name: str
    first: list[int] = Field(description="The first part of each span.")
    last: list[int] = Field(description="The last part of each span.")
    status: list[int] = Field(description="Index into `statuses`.")
    version: list[int] = Field(description="Of each task: an event with a lower version is older.")
    attempt: list[int]
    max_attempts: list[int]
    lost: list[int] = Field(description="Workers that were lost while they ran it.")
    percent: list[float]
    finished: list[int] = Field(
        description="Tasks that finished in each interval since the job started; empty where none did, and for a job "
        "that does not run."
    )


class JobSpansDocument(BaseModel):
    """The state of every task of a job, neighbouring parts in the same state as one span."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "job": 244813922304,
                "version": 3,
                "now": 1767268805000,
                "since": 1767268801000,
                "interval": 1000,
                "statuses": STATUSES,
                "truncated": False,
                "stages": [],
            }
        }
    )

    job: int
    version: int = Field(description="Of the job.")
    now: int = Field(description="The time of the store in milliseconds since 1970.")
    since: int | None = Field(description="When the job started, in milliseconds since 1970.")
    interval: int = Field(description="Milliseconds of an interval of `finished`.")
    statuses: list[str]
    truncated: bool = Field(description="Whether the job has more tasks than are shown.")
    stages: list[StageSpansDocument]


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


@router.get("/{job_id}/spans", response_model=JobSpansDocument)
async def spans(engine: OnEngine, principal: Reader, job_id: JobId, request: Request) -> Response:
    """Get the state of every task of a job, neighbouring parts in the same state as one span.

    Some kilobytes for a job of 100,000 tasks. The workers and times of parts are in its grid.
    """
    found = await engine.spans(job_id, owner=principal.owner)
    return await asyncio.to_thread(_response, request, _spans_document, found)


@router.get("/{job_id}/grid", response_model=TaskGridDocument)
async def grid(
    engine: OnEngine,
    principal: Reader,
    job_id: JobId,
    request: Request,
    stage: StageName = None,
    first: Annotated[int | None, Query(ge=0, le=MAX_PART, description="The first part; needs a stage.")] = None,
    last: Annotated[int | None, Query(ge=0, le=MAX_PART, description="The last part; by default the first.")] = None,
) -> Response:
    """Get every task of a job, or some parts of a stage, as columns; compressed for clients that accept gzip."""
    parts = None if first is None and last is None else (first or 0, (first or 0) if last is None else last)
    found = await engine.grid(job_id, stage=stage, parts=parts, owner=principal.owner)
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
    parts = [row.part for row in rows]
    limits = [row.max_attempts for row in rows]
    return {
        "name": stage.name,
        "parts": None if parts == list(range(len(parts))) else parts,
        "status": [_NUMBERS.get(row.status, NONE) for row in rows],
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


def _spans_document(found: JobSpans) -> Document:
    return {
        "job": found.job_id,
        "version": found.version,
        "now": found.now,
        "since": found.since,
        "interval": round(found.interval * 1000),
        "statuses": STATUSES,
        "truncated": found.truncated,
        "stages": [_stage_spans_document(stage) for stage in found.stages],
    }


def _stage_spans_document(stage: StageSpans) -> Document:
    spans = stage.spans
    return {
        "name": stage.name,
        "first": [span.first for span in spans],
        "last": [span.last for span in spans],
        "status": [_NUMBERS.get(span.status, NONE) for span in spans],
        "version": [span.version for span in spans],
        "attempt": [span.attempt for span in spans],
        "max_attempts": [span.max_attempts for span in spans],
        "lost": [span.lost for span in spans],
        "percent": [_short(span.percent) for span in spans],
        "finished": stage.finished,
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
