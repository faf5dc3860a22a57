"""observe: jobs, tasks, workers and events, read in pages. The key of the last row asks for the next page.

The feed of events is in the order of commit, which no counter is: a transaction that began early may commit late. Its
cursor is therefore the pair (transaction, number), and a page ends before the oldest transaction that is still open.
It also names the epoch of the store, so that a cursor from a database since replaced is refused, not misread.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reelstate.core.document import plain_text
from reelstate.core.errors import CorruptState, InvalidRequest, NotFound
from reelstate.core.machine import ACTIVE_JOBS, JobStatus, TaskStatus
from reelstate.core.model import Event, Job, JobDetail, Json, LogEntry, Page, StepEntry, Task, TaskKey, Worker
from reelstate.core.pipeline import Graph
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.services.paging import MAX_NUMBERS, MAX_XIDS, PAST_EVERY_ID, cursor_number, cursor_of, page_size, paged
from reelstate.services.rows import detail_of, event_of, job_of, jobs_with_stages, stage_name, task_of, worker_of
from reelstate.stores.migrate import OLDEST_SCHEMA, Applied, migrations, require_current
from reelstate.stores.store import Row, Store, Transaction

FILTER_LIMIT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs; what is left out does not matter."""

    statuses: Collection[JobStatus] | None = None
    pipeline: str | None = None
    user_id: str | None = None
    flagged: bool = False
    """Only jobs that are flagged for an operator; they are active ones."""


EVERY_JOB = JobFilter()


async def observe_jobs(
    store: Store, wanted: JobFilter = EVERY_JOB, *, limit: int = 50, after: str | None = None
) -> Page[Job]:
    """Jobs, the newest first."""
    before = PAST_EVERY_ID if after is None else cursor_number(after)
    for field in ("pipeline", "user_id"):
        plain_text(field, getattr(wanted, field) or "", FILTER_LIMIT)
    statuses = ACTIVE_JOBS if wanted.statuses is None and wanted.flagged else wanted.statuses
    parameters = {
        "statuses": None if statuses is None else sorted(statuses),
        "flagged": wanted.flagged,
        "pipeline": wanted.pipeline,
        "user_id": wanted.user_id,
    }
    rows = await _read(store, "observe_jobs", before=before, limit=page_size(limit), **parameters)
    return paged([job_of(row) for row in rows], limit, lambda job: str(job.id))


async def observe_job(store: Store, catalogue: Catalogue, job_id: int, owner: str | None = None) -> JobDetail:
    """One job with its stages, plan, outputs and progress; with an owner, one of theirs (here and below)."""

    async def flow(transaction: Transaction) -> JobDetail:
        found = await transaction.run("observe_job", job_id=job_id, owner=owner)
        if not found:
            raise NotFound("job", job_id)
        *row, pipeline_id = found[0]
        declared = (await catalogue.known(transaction, [pipeline_id])).get(pipeline_id)
        opened = {row[0]: row for row in await transaction.run("observe_stages", job_id=job_id)}
        single = (
            [number for number, stage in enumerate(declared.graph.stages) if stage.each is None] if declared else []
        )
        results: dict[int, Json] = dict(await transaction.run("observe_results", job_id=job_id, stages=single))
        unserved: dict[int, set[str]] = {}
        for stage, needs in await transaction.run("observe_unserved", job_id=job_id):
            unserved.setdefault(stage, set()).update(needs)
        waiting = {stage: tuple(sorted(needs)) for stage, needs in unserved.items()}
        return detail_of(job_of(tuple(row)), declared, opened, results, waiting)

    return await store.read(flow)


async def observe_stage_names(
    store: Store, catalogue: Catalogue, job_id: int, owner: str | None = None
) -> tuple[str, ...]:
    """What the stages of a job are called, in the order of their numbers."""
    return tuple((await observe_graph(store, catalogue, job_id, owner)).index)


async def observe_graph(store: Store, catalogue: Catalogue, job_id: int, owner: str | None = None) -> Graph:
    """The pipeline that a job was submitted with."""
    return (await store.read(lambda transaction: _require_declared(transaction, catalogue, job_id, owner))).graph


async def observe_tags(store: Store, catalogue: Catalogue, job_id: int) -> dict[str, tuple[str, ...]]:
    """The tags under which the tasks of each stage are expected to report states."""
    declared = await store.read(lambda transaction: _require_declared(transaction, catalogue, job_id))
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
    """A job's tasks in the order of stage and part."""
    last = TaskKey.parse(after) if after else TaskKey(job_id, -1, -1)
    if last.job_id != job_id:
        raise InvalidRequest("after", f"{after!r} is of another job", hint="use the one that the last page gave")

    async def flow(transaction: Transaction) -> list[Task]:
        declared = await _declared(transaction, catalogue, job_id, owner)
        rows = await transaction.run(
            "observe_tasks",
            job_id=job_id,
            after_stage=last.stage,
            after_part=last.part,
            stage=None if stage is None else _stage_number(declared, stage),
            statuses=None if statuses is None else sorted(statuses),
            limit=page_size(limit),
        )
        return [task_of(row, declared) for row in rows]

    return paged(await store.read(flow), limit, lambda task: str(task.key))


async def observe_events(
    store: Store, catalogue: Catalogue, *, limit: int = 500, after: str | None = None
) -> Page[Event]:
    """Everything that happened, in the order of commit. `after` of the last page is always given: more may come."""

    async def flow(transaction: Transaction) -> Page[Event]:
        epoch = await _epoch(transaction)
        xid, number = _cursor(after, epoch)
        place = {"after_xid": xid, "after_id": number, "until_xid": str(MAX_XIDS - 1), "until_id": MAX_NUMBERS - 1}
        rows = await transaction.run("observe_feed", limit=page_size(limit), jobs=None, user_id=None, **place)
        events = await _events(transaction, catalogue, [row[:-1] for row in rows], epoch)
        return Page(events, events[-1].cursor if events else after or f"{epoch}.0.0")

    return await store.read(flow)


async def observe_head(store: Store) -> str:
    """The cursor of now: what comes after it has yet to happen."""

    async def flow(transaction: Transaction) -> str:
        ((epoch, xid, number, _),) = await transaction.run("observe_head")
        return f"{epoch}.{xid}.{number}"

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
    """The events of a job and all in it, or (with stage and part) of one entity: -1 stands for the job itself.

    A stage is given by its name or its number.
    """

    async def flow(transaction: Transaction) -> list[Event]:
        epoch = await _epoch(transaction)
        xid, number = _cursor(after, epoch)
        number_of_stage = stage
        if isinstance(stage, str):
            number_of_stage = _stage_number(await _declared(transaction, catalogue, job_id, owner), stage)
        entity = {"job_id": job_id, "stage": number_of_stage, "part": part, "owner": owner}
        parameters = {**entity, "after_xid": xid, "after_id": number}
        rows = await transaction.run("observe_history", limit=page_size(limit), **parameters)
        return await _events(transaction, catalogue, rows, epoch)

    return paged(await store.read(flow), limit, lambda event: event.cursor)


async def observe_worker_history(store: Store, worker_id: int, *, limit: int = 500, after: int = 0) -> list[Event]:
    """The events of one worker instance after a version."""

    async def flow(transaction: Transaction) -> list[Event]:
        epoch = await _epoch(transaction)
        parameters = {"worker_id": worker_id, "after_version": after}
        rows = await transaction.run("observe_worker_history", limit=page_size(limit), **parameters)
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
    """Log lines of a job, or of one of its tasks, the oldest first; `settled`: those before which none can appear."""
    rows = await _lines(store, "observe_logs", job_id, key, limit=limit, after=after, owner=owner, settled=settled)
    return paged([LogEntry(job_id, *row) for row in rows], limit, lambda entry: str(entry.id))


async def observe_steps(
    store: Store,
    job_id: int,
    *,
    key: TaskKey | None = None,
    limit: int = 500,
    after: str | None = None,
    owner: str | None = None,
) -> Page[StepEntry]:
    """The commands that the runs of a job, or of one of its tasks, have started, the oldest first."""
    rows = await _lines(store, "observe_steps", job_id, key, limit=limit, after=after, owner=owner)
    return paged([StepEntry(job_id, *row) for row in rows], limit, lambda entry: str(entry.id))


@dataclass(frozen=True, slots=True)
class WaitingTasks:
    """The tasks of one pipeline that wait or run."""

    pipeline: str
    ready: int = 0
    running: int = 0
    waiting: int = 0
    """For their time: a first run that was delayed, or the next after a failure."""
    oldest: datetime | None = None
    """Since when the first of the ready ones is ready."""


@dataclass(frozen=True, slots=True)
class Queue:
    """How many jobs are in each status, all but `completed`, and the tasks of each pipeline."""

    jobs: Mapping[str, int]
    pipelines: tuple[WaitingTasks, ...]


async def observe_queue(store: Store, owner: str | None = None) -> Queue:
    """What there is to do."""

    async def flow(transaction: Transaction) -> Queue:
        jobs = await transaction.run("observe_counts", owner=owner)
        found: dict[str, dict[str, Any]] = {}
        for name, kind, count, since in await transaction.run("observe_queue", owner=owner):
            counted = found.setdefault(name, {})
            counted[kind] = count
            counted["oldest"] = counted.get("oldest") or since
        return Queue(dict(sorted(jobs)), tuple(WaitingTasks(name, **counted) for name, counted in found.items()))

    return await store.read(flow)


async def observe_schema(store: Store) -> None:
    """See that the database answers, and is what the statements were written for."""
    ((number, oldest),) = await _read(store, "observe_schema", name=OLDEST_SCHEMA)
    applied = Applied(number, None if oldest is None else int(oldest))
    require_current(migrations("reelstate.stores.sqlite"), applied)


async def observe_instances(store: Store) -> list[Worker]:
    """Every known instance without the tasks that it runs, the oldest first."""
    return [worker_of(row) for row in await _read(store, "observe_workers")]


async def observe_workers(store: Store, catalogue: Catalogue) -> list[Worker]:
    """Every known instance with the tasks that it runs, the oldest first."""

    async def flow(transaction: Transaction) -> list[Worker]:
        rows = await transaction.run("observe_workers")
        held = await transaction.run("observe_worker_tasks")
        declared = await catalogue.known(transaction, {row[-1] for row in held})
        tasks: dict[int, list[str]] = {}
        for worker_id, job_id, stage, part, pipeline_id in held:
            name = stage_name(declared.get(pipeline_id), stage)
            tasks.setdefault(worker_id, []).append(f"{job_id}/{name}/{part}")
        return [worker_of(row, tasks.get(row[0], ())) for row in rows]

    return await store.read(flow)


async def _lines(
    store: Store, statement: str, job_id: int, key: TaskKey | None, *, limit: int, after: str | None, **wanted: Json
) -> list[Row]:
    """What runs have told: of a whole job, or of one task."""
    stage, part = (key.stage, key.part) if key else (None, None)
    entity = {"job_id": job_id, "stage": stage, "part": part, **wanted}
    return await _read(store, statement, limit=page_size(limit), after=cursor_number(after or "0"), **entity)


async def _read(store: Store, statement: str, **parameters: Json) -> list[Row]:
    async def flow(transaction: Transaction) -> list[Row]:
        return await transaction.run(statement, **parameters)

    return await store.read(flow)


async def _declared(
    transaction: Transaction, catalogue: Catalogue, job_id: int, owner: str | None = None
) -> Declared | None:
    """The pipeline of a job; None where it is missing or unreadable."""
    pipeline_id = await _pipeline_id(transaction, job_id, owner)
    return (await catalogue.known(transaction, [pipeline_id])).get(pipeline_id)


async def _require_declared(
    transaction: Transaction, catalogue: Catalogue, job_id: int, owner: str | None = None
) -> Declared:
    return await catalogue.one(transaction, await _pipeline_id(transaction, job_id, owner))


async def _pipeline_id(transaction: Transaction, job_id: int, owner: str | None) -> int:
    found = await transaction.run("observe_pipeline", job_id=job_id, owner=owner)
    if not found:
        raise NotFound("job", job_id)
    ((pipeline_id,),) = found
    return int(pipeline_id)


async def _events(transaction: Transaction, catalogue: Catalogue, rows: Sequence[Row], epoch: str) -> list[Event]:
    stages = await catalogue.stages_of(transaction, jobs_with_stages(rows))
    return [event_of(row, epoch, stages) for row in rows]


async def _epoch(transaction: Transaction) -> str:
    ((epoch,),) = await transaction.run("observe_epoch")
    return str(epoch)


def _cursor(text: str | None, epoch: str) -> tuple[str, int]:
    if text is None:
        return "0", 0
    given, xid, number = cursor_of(text)
    if given != epoch:
        raise InvalidRequest("after", "the cursor is from another database", hint="start again without a cursor")
    return str(xid), number


def _stage_number(declared: Declared | None, name: str) -> int:
    if declared is None:
        raise CorruptState("the pipeline of the job is missing or unreadable", hint="run `reel doctor`")
    if name not in declared.graph.index:
        raise InvalidRequest("stage", f"there is no stage {name!r}", hint=f"stages: {', '.join(declared.graph.index)}")
    return declared.graph.index[name]


async def outputs_of(transaction: Transaction, catalogue: Catalogue, job_id: int, pipeline_id: int) -> dict[str, Json]:
    """The results of the stages of a job that nothing waits for."""
    declared = (await catalogue.known(transaction, [pipeline_id])).get(pipeline_id)
    if declared is None:
        return {}
    graph = declared.graph
    leaves = [number for number in graph.leaves if graph.stages[number].each is None]
    results = await transaction.run("observe_results", job_id=job_id, stages=leaves)
    return {graph.stages[number].name: result for number, result in results}
