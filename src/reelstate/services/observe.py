"""observe: read jobs, tasks, workers and events in pages. The cursor of a page is the key of its last row.

Events are read in the order of commit. A counter does not have that order: a transaction that began early may commit
late. The cursor of an event is therefore the pair (transaction, number), and a page ends before the oldest transaction
that is still open. The cursor also names the epoch of the database: one from a database since replaced is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from reelstate.core.document import plain_text
from reelstate.core.errors import CorruptState, CursorExpired, InvalidRequest, NotFound
from reelstate.core.machine import ACTIVE_JOBS, JobStatus, TaskStatus
from reelstate.core.model import Event, Job, JobDetail, Json, LogEntry, Page, StepEntry, Task, TaskKey, Worker
from reelstate.core.pipeline import Graph
from reelstate.feed.head import OBSERVE_EPOCH, OBSERVE_HEAD, HeadRow
from reelstate.services.archive import OBSERVE_PIPELINE, read_job
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.services.paging import (
    MAX_NUMBERS,
    MAX_XIDS,
    PAST_EVERY_ID,
    START,
    cursor_number,
    cursor_of,
    page_size,
    paged,
)
from reelstate.services.rows import (
    EventRow,
    JobRow,
    StageRow,
    TaskRow,
    WorkerRow,
    detail_of,
    event_of,
    fields_of,
    job_of,
    jobs_with_stages,
    record_of,
    stage_name,
    task_of,
    worker_of,
)
from reelstate.stores.migrate import OLDEST_SCHEMA, Applied, migrations, require_current
from reelstate.stores.store import Flow, RowType, Statement, Store, Transaction, row_type

T = TypeVar("T")
FILTER_LIMIT = 1000
"""Characters of a filter."""


class ResultRow(NamedTuple):
    stage: int
    result: Json


class UnservedRow(NamedTuple):
    stage: int
    needs: list[str]


class JobCountRow(NamedTuple):
    status: str
    jobs: int


class QueueRow(NamedTuple):
    pipeline: str
    kind: str
    tasks: int
    ready_at: datetime | None


class SchemaRow(NamedTuple):
    number: int
    oldest: str | None


class HeldTaskRow(NamedTuple):
    worker_id: int
    job_id: int
    stage: int
    part: int
    pipeline_id: int


OBSERVE_JOBS = Statement("observe_jobs", JobRow)
OBSERVE_JOB = Statement("observe_job", row_type("JobPipelineRow", *fields_of(Job, "archived"), "pipeline_id"))
OBSERVE_STAGES = Statement("observe_stages", StageRow)
OBSERVE_RESULTS = Statement("observe_results", ResultRow)
OBSERVE_UNSERVED = Statement("observe_unserved", UnservedRow)
OBSERVE_TASKS = Statement("observe_tasks", TaskRow)
OBSERVE_FEED = Statement("observe_feed", EventRow)
OBSERVE_HISTORY = Statement("observe_history", EventRow)
OBSERVE_ENTITY = Statement("observe_entity", EventRow)
OBSERVE_WORKER_HISTORY = Statement("observe_worker_history", EventRow)
OBSERVE_LOGS = Statement("observe_logs", row_type("LogRow", *fields_of(LogEntry, "job_id")))
OBSERVE_STEPS = Statement("observe_steps", row_type("StepRow", *fields_of(StepEntry, "job_id")))
OBSERVE_COUNTS = Statement("observe_counts", JobCountRow)
OBSERVE_QUEUE = Statement("observe_queue", QueueRow)
OBSERVE_SCHEMA = Statement("observe_schema", SchemaRow)
OBSERVE_WORKERS = Statement("observe_workers", WorkerRow)
OBSERVE_WORKER_TASKS = Statement("observe_worker_tasks", HeldTaskRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Select jobs; a field that is left out selects all."""

    statuses: Collection[JobStatus] | None = None
    pipeline: str | None = None
    user_id: str | None = None
    flagged: bool = False
    """Only jobs that are flagged for an operator; only active jobs are."""


EVERY_JOB = JobFilter()


async def observe_jobs(
    store: Store,
    selected: JobFilter = EVERY_JOB,
    *,
    limit: int = 50,
    after: str | None = None,
    archived: bool = False,
) -> Page[Job]:
    """List jobs, the newest first: those of the store, or those in the archive."""
    before = PAST_EVERY_ID if after is None else cursor_number(after)
    for field in ("pipeline", "user_id"):
        plain_text(field, getattr(selected, field) or "", FILTER_LIMIT)
    statuses = ACTIVE_JOBS if selected.statuses is None and selected.flagged else selected.statuses
    parameters = {
        "statuses": None if statuses is None else sorted(statuses),
        "flagged": selected.flagged,
        "pipeline": selected.pipeline,
        "user_id": selected.user_id,
    }
    if archived:
        found = await _archived_jobs(store, before, page_size(limit), parameters)
        return paged([replace(job_of(row), archived=True) for row in found], limit, lambda job: str(job.id))
    rows = await _read(store, OBSERVE_JOBS, before=before, limit=page_size(limit), **parameters)
    return paged([job_of(row) for row in rows], limit, lambda job: str(job.id))


async def _archived_jobs(store: Store, before: int, limit: int, parameters: Mapping[str, Json]) -> list[Any]:
    """Read months, the newest first, until there are enough jobs."""
    found: list[Any] = []
    for month in reversed(await store.archive.months()):
        if len(found) < limit and month.ids[0] < before:
            bounds = {"before": before, "limit": limit - len(found)}
            with contextlib.suppress(NotFound):  # dropped meanwhile
                found += await store.archive.read(
                    month,
                    lambda transaction, bounds=bounds: transaction.run(OBSERVE_JOBS, **bounds, **parameters),  # type: ignore[misc]
                )
    return found


async def observe_job(store: Store, catalogue: Catalogue, job_id: int, owner: str | None = None) -> JobDetail:
    """Return one job with its stages, plan, outputs and progress.

    Raise `NotFound` where there is none, or (with `owner`, here and below) it belongs to another user.
    """

    async def flow(transaction: Transaction) -> JobDetail:
        rows = await transaction.run(OBSERVE_JOB, job_id=job_id, owner=owner)
        if not rows:
            raise NotFound("job", job_id)
        (row,) = rows
        declared = (await catalogue.load(transaction, [row.pipeline_id])).get(row.pipeline_id)
        opened = {each.stage: each for each in await transaction.run(OBSERVE_STAGES, job_id=job_id)}
        single = (
            [number for number, stage in enumerate(declared.graph.stages) if stage.each is None] if declared else []
        )
        results = await _results(transaction, job_id, single)
        unserved: dict[int, set[str]] = {}
        for each in await transaction.run(OBSERVE_UNSERVED, job_id=job_id):
            unserved.setdefault(each.stage, set()).update(each.needs)
        waiting = {stage: tuple(sorted(needs)) for stage, needs in unserved.items()}
        return detail_of(job_of(row), declared, opened, results, waiting)

    return await read_job(store, job_id, flow, lambda found: replace(found, job=replace(found.job, archived=True)))


async def observe_stage_names(
    store: Store, catalogue: Catalogue, job_id: int, owner: str | None = None
) -> tuple[str, ...]:
    """Return the names of the stages of a job, in the order of their numbers."""
    return tuple((await observe_graph(store, catalogue, job_id, owner)).index)


async def observe_graph(store: Store, catalogue: Catalogue, job_id: int, owner: str | None = None) -> Graph:
    """Return the graph that a job was submitted with."""
    declared = await read_job(
        store, job_id, lambda transaction: _require_declared(transaction, catalogue, job_id, owner)
    )
    return declared.graph


async def observe_tags(store: Store, catalogue: Catalogue, job_id: int) -> dict[str, tuple[str, ...]]:
    """Return the tags under which the tasks of each stage are expected to report states."""
    declared = await read_job(store, job_id, lambda transaction: _require_declared(transaction, catalogue, job_id))
    return {stage.name: stage.tags for stage in declared.graph.stages}


async def observe_tasks(
    store: Store,
    catalogue: Catalogue,
    job_id: int,
    *,
    stage: str | None = None,
    statuses: Collection[TaskStatus] | None = None,
    limit: int = 500,
    after: str | None = None,
    owner: str | None = None,
) -> Page[Task]:
    """List the tasks of a job by stage and part."""
    last = TaskKey.parse(after) if after else TaskKey(job_id, -1, -1)
    if last.job_id != job_id:
        raise InvalidRequest("after", f"cursor {after!r} belongs to another job", hint="use the one of the last page")

    async def flow(transaction: Transaction) -> list[Task]:
        declared = await _declared(transaction, catalogue, job_id, owner)
        rows = await transaction.run(
            OBSERVE_TASKS,
            job_id=job_id,
            after_stage=last.stage,
            after_part=last.part,
            stage=None if stage is None else _stage_number(declared, stage),
            statuses=None if statuses is None else sorted(statuses),
            limit=page_size(limit),
        )
        return [task_of(row, declared) for row in rows]

    return paged(await read_job(store, job_id, flow), limit, lambda task: str(task.key))


async def observe_events(
    store: Store, catalogue: Catalogue, *, limit: int = 500, after: str | None = None
) -> Page[Event]:
    """List all events in the order of commit. Every page has a cursor, since more events may follow."""

    async def flow(transaction: Transaction) -> Page[Event]:
        (head,) = await transaction.run(OBSERVE_HEAD)
        epoch = head.epoch
        xid, number = _require_kept(_parse_cursor(after, epoch), head)
        span = {"after_xid": xid, "after_id": number, "until_xid": str(MAX_XIDS - 1), "until_id": MAX_NUMBERS - 1}
        rows = await transaction.run(OBSERVE_FEED, limit=page_size(limit), jobs=None, user_id=None, **span)
        events = await _events(transaction, catalogue, rows, epoch)
        return Page(events, events[-1].cursor if events else after or f"{epoch}.0.0")

    return await store.read(flow)


async def observe_head(store: Store) -> str:
    """Return the cursor of the present: every later event comes after it."""

    async def flow(transaction: Transaction) -> str:
        (head,) = await transaction.run(OBSERVE_HEAD)
        return f"{head.epoch}.{head.xid}.{head.id}"

    return await store.read(flow)


async def observe_history(
    store: Store,
    catalogue: Catalogue,
    job_id: int,
    *,
    stage: str | int | None = None,
    part: int | None = None,
    limit: int = 500,
    after: str | None = None,
    owner: str | None = None,
) -> Page[Event]:
    """List the events of a job with its stages and tasks, or of one of these.

    `stage` is the name or number of a stage; -1 (with `part` -1) stands for the job itself.
    """

    async def flow(transaction: Transaction) -> list[Event]:
        epoch = await _epoch(transaction)
        xid, number = _parse_cursor(after, epoch)
        number_of_stage = stage
        if isinstance(stage, str):
            number_of_stage = _stage_number(await _declared(transaction, catalogue, job_id, owner), stage)
        entity = {"job_id": job_id, "stage": number_of_stage, "part": part, "owner": owner}
        parameters = {**entity, "after_xid": xid, "after_id": number}
        statement = OBSERVE_HISTORY if number_of_stage is None or part is None else OBSERVE_ENTITY
        rows = await transaction.run(statement, limit=page_size(limit), **parameters)
        if not rows:
            await _pipeline_id(transaction, job_id, owner)
        return await _events(transaction, catalogue, rows, epoch)

    return paged(await _read_or_nothing(store, job_id, flow), limit, lambda event: event.cursor)


async def observe_worker_history(store: Store, worker_id: int, *, limit: int = 500, after: int = 0) -> list[Event]:
    """List the events of one worker instance after a version."""

    async def flow(transaction: Transaction) -> list[Event]:
        epoch = await _epoch(transaction)
        parameters = {"worker_id": worker_id, "after_version": after}
        rows = await transaction.run(OBSERVE_WORKER_HISTORY, limit=page_size(limit), **parameters)
        return [event_of(row, epoch, {}) for row in rows]

    return await store.read(flow)


async def observe_logs(
    store: Store,
    job_id: int,
    *,
    key: TaskKey | None = None,
    limit: int = 500,
    after: str | None = None,
    owner: str | None = None,
    settled: bool = False,
) -> Page[LogEntry]:
    """List the log lines of a job, or of one of its tasks, the oldest first.

    With `settled`, leave out lines before which a line of an open transaction may yet appear.
    """
    rows = await _read_lines(store, OBSERVE_LOGS, job_id, key, limit=limit, after=after, owner=owner, settled=settled)
    return paged([record_of(LogEntry, row, job_id=job_id) for row in rows], limit, lambda entry: str(entry.id))


async def observe_steps(
    store: Store,
    job_id: int,
    *,
    key: TaskKey | None = None,
    limit: int = 500,
    after: str | None = None,
    owner: str | None = None,
) -> Page[StepEntry]:
    """List the commands that the runs of a job, or of one of its tasks, have started, the oldest first."""
    rows = await _read_lines(store, OBSERVE_STEPS, job_id, key, limit=limit, after=after, owner=owner)
    return paged([record_of(StepEntry, row, job_id=job_id) for row in rows], limit, lambda entry: str(entry.id))


@dataclass(frozen=True, slots=True)
class WaitingTasks:
    """The tasks of one pipeline that wait or run."""

    pipeline: str
    ready: int = 0
    running: int = 0
    waiting: int = 0
    """Tasks that wait for `run_after`: a delayed first run, or the next attempt after a failure."""
    oldest: datetime | None = None
    """Since when the oldest ready task is ready."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The number of jobs in each status but `completed`, and of the waiting and running tasks of each pipeline."""

    jobs: Mapping[str, int]
    pipelines: tuple[WaitingTasks, ...]


async def observe_queue(store: Store, owner: str | None = None) -> Queue:
    """Count unfinished jobs and the tasks that wait or run."""

    async def flow(transaction: Transaction) -> Queue:
        jobs = {row.status: row.jobs for row in await transaction.run(OBSERVE_COUNTS, owner=owner)}
        pipelines: dict[str, dict[str, Any]] = {}
        for row in await transaction.run(OBSERVE_QUEUE, owner=owner):
            counts = pipelines.setdefault(row.pipeline, {})
            counts[row.kind] = row.tasks
            counts["oldest"] = counts.get("oldest") or row.ready_at
        return Queue(
            dict(sorted(jobs.items())), tuple(WaitingTasks(name, **counts) for name, counts in pipelines.items())
        )

    return await store.read(flow)


async def observe_schema(store: Store) -> None:
    """Check that the database answers and has the schema of this release; raise `SchemaMismatch` otherwise."""
    (row,) = await _read(store, OBSERVE_SCHEMA, name=OLDEST_SCHEMA)
    applied = Applied(row.number, None if row.oldest is None else int(row.oldest))
    require_current(migrations("reelstate.stores.sqlite"), applied)


async def observe_instances(store: Store) -> list[Worker]:
    """List every known worker instance, without its tasks, the oldest first."""
    return [worker_of(row) for row in await _read(store, OBSERVE_WORKERS)]


async def observe_workers(store: Store, catalogue: Catalogue) -> list[Worker]:
    """List every known worker instance with its running tasks, the oldest first."""

    async def flow(transaction: Transaction) -> list[Worker]:
        workers = await transaction.run(OBSERVE_WORKERS)
        held = await transaction.run(OBSERVE_WORKER_TASKS)
        declared = await catalogue.load(transaction, {row.pipeline_id for row in held})
        tasks: dict[int, list[str]] = {}
        for row in held:
            name = stage_name(declared.get(row.pipeline_id), row.stage)
            tasks.setdefault(row.worker_id, []).append(f"{row.job_id}/{name}/{row.part}")
        return [worker_of(row, tasks.get(row.id, ())) for row in workers]

    return await store.read(flow)


async def _read_lines(
    store: Store,
    statement: Statement[RowType],
    job_id: int,
    key: TaskKey | None,
    *,
    limit: int,
    after: str | None,
    **parameters: Json,
) -> list[RowType]:
    """Read the logs or steps of a whole job, or of one task."""
    stage, part = (key.stage, key.part) if key else (None, None)
    entity = {"job_id": job_id, "stage": stage, "part": part, **parameters}
    page = {"limit": page_size(limit), "after": cursor_number(after or "0")}

    async def flow(transaction: Transaction) -> list[RowType]:
        rows = await transaction.run(statement, **page, **entity)
        if not rows:
            await _pipeline_id(transaction, job_id, None)
        return rows

    return await _read_or_nothing(store, job_id, flow)


async def _read_or_nothing(store: Store, job_id: int, flow: Flow[list[T]]) -> list[T]:
    """Read rows of a job, archived or not; a job that does not exist has none."""
    try:
        return await read_job(store, job_id, flow)
    except NotFound:
        return []


async def _read(store: Store, statement: Statement[RowType], **parameters: Json) -> list[RowType]:
    return await store.read(lambda transaction: transaction.run(statement, **parameters))


async def _declared(
    transaction: Transaction, catalogue: Catalogue, job_id: int, owner: str | None = None
) -> Declared | None:
    """Return the pipeline of a job; None where it is missing or unreadable."""
    pipeline_id = await _pipeline_id(transaction, job_id, owner)
    return (await catalogue.load(transaction, [pipeline_id])).get(pipeline_id)


async def _require_declared(
    transaction: Transaction, catalogue: Catalogue, job_id: int, owner: str | None = None
) -> Declared:
    return await catalogue.load_one(transaction, await _pipeline_id(transaction, job_id, owner))


async def _pipeline_id(transaction: Transaction, job_id: int, owner: str | None) -> int:
    rows = await transaction.run(OBSERVE_PIPELINE, job_id=job_id, owner=owner)
    if not rows:
        raise NotFound("job", job_id)
    return rows[0].pipeline_id


async def _events(transaction: Transaction, catalogue: Catalogue, rows: Sequence[EventRow], epoch: str) -> list[Event]:
    stages = await catalogue.stages_of(transaction, jobs_with_stages(rows))
    return [event_of(row, epoch, stages) for row in rows]


async def _epoch(transaction: Transaction) -> str:
    (row,) = await transaction.run(OBSERVE_EPOCH)
    return row.epoch


def _parse_cursor(text: str | None, epoch: str) -> tuple[str, int]:
    if text is None:
        return "0", 0
    given, xid, number = cursor_of(text)
    if given != epoch:
        raise InvalidRequest("after", "the cursor is from another database", hint="start again without a cursor")
    return str(xid), number


def _require_kept(position: tuple[str, int], head: HeadRow) -> tuple[str, int]:
    """Return the position to read events from; raise `CursorExpired` where events after it were archived."""
    if head.events_floor is None:
        return position
    xid, number = map(int, head.events_floor.split("."))
    given = int(position[0]), position[1]
    if START < given < (xid, number):
        raise CursorExpired(f"{head.epoch}.{given[0]}.{given[1]}", f"{head.epoch}.{head.events_floor}")
    first = max(given, (xid, number))
    return str(first[0]), first[1]


def _stage_number(declared: Declared | None, name: str) -> int:
    if declared is None:
        raise CorruptState("the pipeline of the job is missing or unreadable", hint="run `reel doctor`")
    if name not in declared.graph.index:
        raise InvalidRequest("stage", f"no stage {name!r}", hint=f"stages: {', '.join(declared.graph.index)}")
    return declared.graph.index[name]


async def outputs_of(transaction: Transaction, catalogue: Catalogue, job_id: int, pipeline_id: int) -> dict[str, Json]:
    """Return the results of the last stages of a job, by their names."""
    declared = (await catalogue.load(transaction, [pipeline_id])).get(pipeline_id)
    if declared is None:
        return {}
    graph = declared.graph
    leaves = [number for number in graph.leaves if graph.stages[number].each is None]
    results = await _results(transaction, job_id, leaves)
    return {graph.stages[number].name: result for number, result in results.items()}


async def _results(transaction: Transaction, job_id: int, stages: Sequence[int]) -> dict[int, Json]:
    """Return the results of stages of one part, by the number of the stage."""
    rows = await transaction.run(OBSERVE_RESULTS, job_id=job_id, stages=stages)
    return {row.stage: row.result for row in rows}
