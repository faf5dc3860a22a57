"""grid: every task of a job as columns of short values, and the runs of its tasks for a timeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.services.archive import OBSERVE_PIPELINE, read_job
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.services.jobs import NOW
from reelstate.services.observe import OBSERVE_JOB
from reelstate.services.rows import stage_name
from reelstate.stores.store import Statement, Store, Transaction

MAX_TASKS: Final = 250_000
"""Tasks that one grid shows."""
MAX_ATTEMPTS: Final = 50_000
"""Runs of one page."""
OUTCOMES: Final = ("running", "done", "error", "skipped", "lost", "released", "cancelled")
LOST: Final = ("lease expired", "worker died")
"""Reasons of the keeper for a run that lost its worker; its others are a stall and a timeout."""
CURSOR_PARTS: Final = 4


class TaskCellRow(NamedTuple):
    """A task as short values. Times are in milliseconds since 1970."""

    stage: int
    part: int
    status: str
    version: int
    last_worker: int | None
    attempt: int
    max_attempts: int
    lost: int
    percent: float
    ready: int | None
    claimed: int | None
    started: int | None
    finished: int | None
    isolated: int


class RunRow(NamedTuple):
    """A run of a task, and the event that ended it."""

    stage: int
    part: int
    version: int
    token: int
    worker_id: int
    began: int
    ended: int | None
    target: str | None
    actor: str | None
    reason: str | None


class WorkerNameRow(NamedTuple):
    id: int
    name: str


TASK_CELLS = Statement("observe_grid", TaskCellRow)
CELLS = Statement("observe_cells", TaskCellRow)
RUNS = Statement("observe_attempts", RunRow)
WORKER_NAMES = Statement("observe_worker_names", WorkerNameRow)


@dataclass(frozen=True, slots=True)
class StageCells:
    """The tasks of one stage, by part, as columns."""

    name: str
    stage: int
    rows: Sequence[TaskCellRow]


@dataclass(frozen=True, slots=True)
class TaskGrid:
    """The tasks of a job by stage."""

    job_id: int
    version: int
    now: int
    """The time of the store in milliseconds since 1970."""
    workers: dict[int, str]
    """The names of the worker instances that ran the tasks."""
    stages: list[StageCells]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a task: one attempt."""

    stage: int
    part: int
    token: int
    attempt: int
    """Its number among the runs of the task that count."""
    worker: int
    began: int
    ended: int | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Runs:
    """A page of runs."""

    job_id: int
    now: int
    workers: dict[int, str]
    stages: tuple[str, ...]
    runs: list[Run]
    after: str | None


async def task_grid(
    store: Store,
    catalogue: Catalogue,
    job_id: int,
    *,
    stage: str | None = None,
    parts: tuple[int, int] | None = None,
    owner: str | None = None,
) -> TaskGrid:
    """Return every task of a job, of one stage of it, or the parts of a stage from a first to a last one.

    Raise `NotFound` for a job that is missing or of others.
    """
    if parts is not None and stage is None:
        raise InvalidRequest("stage", "parts without a stage", hint="name the stage of the parts")
    if parts is not None and not 0 <= parts[0] <= parts[1] < parts[0] + MAX_TASKS:
        raise InvalidRequest("last", f"invalid parts {parts[0]} to {parts[1]}", hint=f"at most {MAX_TASKS:,}")

    async def flow(transaction: Transaction) -> TaskGrid:
        found = await transaction.run(OBSERVE_JOB, job_id=job_id, owner=owner)
        if not found:
            raise NotFound("job", job_id)
        (job,) = found
        (clock,) = await transaction.run(NOW)
        declared = (await catalogue.load(transaction, [job.pipeline_id])).get(job.pipeline_id)
        number = None if stage is None else _number_of(declared, stage)
        if parts is None:
            rows = await transaction.run(TASK_CELLS, job_id=job_id, stage=number, limit=MAX_TASKS + 1)
        else:
            rows = await transaction.run(CELLS, job_id=job_id, stage=number, first=parts[0], last=parts[1])
        return TaskGrid(
            job_id=job_id,
            version=job.version,
            now=round(clock.at.timestamp() * 1000),
            workers=await _names(transaction, (row.last_worker for row in rows)),
            stages=_by_stage(rows[:MAX_TASKS], declared, number),
            truncated=len(rows) > MAX_TASKS,
        )

    return await read_job(store, job_id, flow)


async def task_runs(
    store: Store,
    catalogue: Catalogue,
    job_id: int,
    *,
    stage: str | None = None,
    limit: int = MAX_ATTEMPTS,
    after: str | None = None,
    owner: str | None = None,
) -> Runs:
    """Return the runs of a job's tasks by stage and part, in the order of their tokens."""
    if not 1 <= limit <= MAX_ATTEMPTS:
        raise InvalidRequest("limit", f"invalid page size {limit}", hint=f"from 1 to {MAX_ATTEMPTS}")
    after_stage, after_part, after_version, counted = _position(after)

    async def flow(transaction: Transaction) -> Runs:
        found = await transaction.run(OBSERVE_PIPELINE, job_id=job_id, owner=owner)
        if not found:
            raise NotFound("job", job_id)
        (clock,) = await transaction.run(NOW)
        pipeline = found[0].pipeline_id
        declared = (await catalogue.load(transaction, [pipeline])).get(pipeline)
        rows = await transaction.run(
            RUNS,
            job_id=job_id,
            after_stage=after_stage,
            after_part=after_part,
            after_version=after_version,
            stage=None if stage is None else _number_of(declared, stage),
            limit=limit,
        )
        runs = list(_runs(rows, (after_stage, after_part), counted))
        following = None
        if len(rows) == limit:
            last = rows[-1]
            of_task = runs[-1].attempt - (runs[-1].outcome in ("released", "cancelled"))
            following = f"{last.stage}/{last.part}/{last.version}/{of_task}"
        return Runs(
            job_id=job_id,
            now=round(clock.at.timestamp() * 1000),
            workers=await _names(transaction, (row.worker_id for row in rows)),
            stages=tuple(declared.graph.index) if declared else (),
            runs=runs,
            after=following,
        )

    return await read_job(store, job_id, flow)


def outcome_of(row: RunRow) -> str:
    """Return how a run ended, from the event that followed its claim."""
    actor = (row.actor or "").partition(":")[0]
    match row.target:
        case None:
            return "running"
        case "done" | "skipped" | "cancelled":
            return row.target
        case "error" | "ready" | "new" if actor == "keeper":
            return "lost" if row.reason in LOST else "error"
        case "error":
            return "error"
        case "ready":
            return "released"
        case "new":
            return "released" if actor == "worker" else "cancelled"
    return "error"


def _runs(rows: Iterable[RunRow], task: tuple[int, int], counted: int) -> Iterable[Run]:
    """Yield runs with the number of their attempt; one that was released or cancelled does not count."""
    for row in rows:
        if (row.stage, row.part) != task:
            task, counted = (row.stage, row.part), 0
        outcome = outcome_of(row)
        counted += 1
        yield Run(row.stage, row.part, row.token, counted, row.worker_id, row.began, row.ended, outcome)
        counted -= outcome in ("released", "cancelled")


def _by_stage(rows: Sequence[TaskCellRow], declared: Declared | None, only: int | None) -> list[StageCells]:
    by_number: dict[int, list[TaskCellRow]] = {}
    for row in rows:
        by_number.setdefault(row.stage, []).append(row)
    numbers = sorted({*by_number, *range(len(declared.graph.stages) if declared else 0)})
    return [
        StageCells(stage_name(declared, number), number, by_number.get(number, ()))
        for number in numbers
        if only in (None, number)
    ]


async def _names(transaction: Transaction, ids: Iterable[int | None]) -> dict[int, str]:
    wanted = sorted({each for each in ids if each is not None})
    return {row.id: row.name for row in await transaction.run(WORKER_NAMES, ids=wanted)} if wanted else {}


def _number_of(declared: Declared | None, name: str) -> int:
    known = declared.graph.index if declared else {}
    if name not in known:
        raise InvalidRequest("stage", f"no stage {name!r}", hint=f"stages: {', '.join(known)}")
    return known[name]


def _position(after: str | None) -> tuple[int, int, int, int]:
    if after is None:
        return -1, -1, -1, 0
    parts = after.split("/")
    if len(parts) != CURSOR_PARTS or not all(part.isdecimal() and part.isascii() and len(part) < 10 for part in parts):  # noqa: PLR2004 - digits of an int
        raise InvalidRequest("after", f"{after[:50]!r} is not a cursor", hint="use the one of the last page")
    stage, part, version, counted = map(int, parts)
    if stage > 2**15 - 1:
        raise InvalidRequest("after", f"{after[:50]!r} is not a cursor", hint="use the one of the last page")
    return stage, part, version, counted
