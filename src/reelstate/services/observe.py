"""observe: jobs, tasks, workers and events, read in pages. The key of the last row asks for the next page.

The feed of events is in the order of commit, which no counter is: a transaction that began early may commit late. Its
cursor is therefore the pair (transaction, number), and a page ends before the oldest transaction that is still open.
It also names the epoch of the store, so that a cursor from a database since replaced is refused, not misread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from reelstate.core.aggregate import Counters, StageProgress, percent, stage_status
from reelstate.core.document import plain_text
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.machine import JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import Event, Job, JobDetail, Json, LogEntry, Page, Stage, StepEntry, Task, TaskKey, Worker
from reelstate.core.pipeline import Graph
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.stores.migrate import migrations, require_current
from reelstate.stores.store import Row, Store, Transaction

T = TypeVar("T")
LARGEST_PAGE = 10_000
PAST_EVERY_ID = 2**62
START = (0, 0)
"""The place before everything."""
FILTER_LIMIT = 1000
CURSOR_PIECES = 3
MOST_XIDS, MOST_NUMBERS = 2**64, 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs; what is left out does not matter."""

    statuses: Collection[JobStatus] | None = None
    pipeline: str | None = None
    user_id: str | None = None


EVERY_JOB = JobFilter()


async def observe_jobs(
    store: Store, wanted: JobFilter = EVERY_JOB, *, limit: int = 50, after: str | None = None
) -> Page[Job]:
    """Jobs, the newest first."""
    before = PAST_EVERY_ID if after is None else cursor_number(after)
    for field in ("pipeline", "user_id"):
        plain_text(field, getattr(wanted, field) or "", FILTER_LIMIT)
    parameters = {
        "statuses": None if wanted.statuses is None else sorted(wanted.statuses),
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
        declared = (await catalogue.known(transaction, [pipeline_id]))[pipeline_id]
        opened = {row[0]: row for row in await transaction.run("observe_stages", job_id=job_id)}
        single = [number for number, stage in enumerate(declared.graph.stages) if stage.each is None]
        results: dict[int, Json] = dict(await transaction.run("observe_results", job_id=job_id, stages=single))
        return _detail(job_of(tuple(row)), declared, opened, results)

    return await store.read(flow)


async def observe_stage_names(
    store: Store, catalogue: Catalogue, job_id: int, owner: str | None = None
) -> tuple[str, ...]:
    """What the stages of a job are called, in the order of their numbers."""
    return tuple((await observe_graph(store, catalogue, job_id, owner)).index)


async def observe_graph(store: Store, catalogue: Catalogue, job_id: int, owner: str | None = None) -> Graph:
    """The pipeline that a job was submitted with."""
    return (await store.read(lambda transaction: _declared(transaction, catalogue, job_id, owner))).graph


async def observe_tags(store: Store, catalogue: Catalogue, job_id: int) -> dict[str, tuple[str, ...]]:
    """The tags under which the tasks of each stage are expected to report states."""
    declared = await store.read(lambda transaction: _declared(transaction, catalogue, job_id))
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
        return [_task(row, declared) for row in rows]

    return paged(await store.read(flow), limit, lambda task: str(task.key))


async def observe_events(store: Store, *, limit: int = 500, after: str | None = None) -> Page[Event]:
    """Everything that happened, in the order of commit. `after` of the last page is always given: more may come."""

    async def flow(transaction: Transaction) -> Page[Event]:
        epoch = await _epoch(transaction)
        xid, number = _cursor(after, epoch)
        place = {"after_xid": xid, "after_id": number, "until_xid": str(MOST_XIDS - 1), "until_id": MOST_NUMBERS - 1}
        rows = await transaction.run("observe_feed", limit=page_size(limit), jobs=None, user_id=None, **place)
        events = [event_of(row[:-1], epoch) for row in rows]
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
    job_id: int,
    *,
    stage: int | None = None,
    part: int | None = None,
    limit: int = 500,
    after: str | None = None,
    owner: str | None = None,
) -> Page[Event]:
    """The events of a job and all in it, or (with stage and part) of one entity: -1 stands for the job itself."""

    async def flow(transaction: Transaction) -> list[Event]:
        epoch = await _epoch(transaction)
        xid, number = _cursor(after, epoch)
        entity = {"job_id": job_id, "stage": stage, "part": part, "owner": owner}
        parameters = {**entity, "after_xid": xid, "after_id": number}
        rows = await transaction.run("observe_history", limit=page_size(limit), **parameters)
        return [event_of(row, epoch) for row in rows]

    return paged(await store.read(flow), limit, lambda event: event.cursor)


async def observe_worker_history(store: Store, worker_id: int, *, limit: int = 500, after: int = 0) -> list[Event]:
    """The events of one worker instance after a version."""

    async def flow(transaction: Transaction) -> list[Event]:
        epoch = await _epoch(transaction)
        parameters = {"worker_id": worker_id, "after_version": after}
        rows = await transaction.run("observe_worker_history", limit=page_size(limit), **parameters)
        return [event_of(row, epoch) for row in rows]

    return await store.read(flow)


async def observe_logs(
    store: Store,
    job_id: int,
    *,
    key: TaskKey | None = None,
    limit: int = 500,
    after: str | None = None,
    owner: str | None = None,
) -> Page[LogEntry]:
    """Log lines of a job, or of one of its tasks, the oldest first."""
    stage, part = (key.stage, key.part) if key else (None, None)
    entity = {"job_id": job_id, "stage": stage, "part": part, "owner": owner}
    parameters = {**entity, "after": cursor_number(after or "0")}
    rows = await _read(store, "observe_logs", limit=page_size(limit), **parameters)
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
    stage, part = (key.stage, key.part) if key else (None, None)
    entity = {"job_id": job_id, "stage": stage, "part": part, "owner": owner}
    parameters = {**entity, "after": cursor_number(after or "0")}
    rows = await _read(store, "observe_steps", limit=page_size(limit), **parameters)
    return paged([StepEntry(job_id, *row) for row in rows], limit, lambda entry: str(entry.id))


@dataclass(frozen=True, slots=True)
class Waiting:
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
    pipelines: tuple[Waiting, ...]


async def observe_queue(store: Store, owner: str | None = None) -> Queue:
    """What there is to do."""

    async def flow(transaction: Transaction) -> Queue:
        jobs = await transaction.run("observe_counts", owner=owner)
        found: dict[str, dict[str, Any]] = {}
        for name, kind, count, since in await transaction.run("observe_queue", owner=owner):
            counted = found.setdefault(name, {})
            counted[kind] = count
            counted["oldest"] = counted.get("oldest") or since
        return Queue(dict(sorted(jobs)), tuple(Waiting(name, **counted) for name, counted in found.items()))

    return await store.read(flow)


async def observe_schema(store: Store) -> None:
    """See that the database answers, and is what the statements were written for."""
    ((number,),) = await _read(store, "observe_schema")
    require_current(migrations("reelstate.stores.sqlite"), number)


async def observe_workers(store: Store) -> list[Worker]:
    """Every known instance, the oldest first."""
    return [_worker(row) for row in await _read(store, "observe_workers")]


async def _read(store: Store, statement: str, **parameters: Json) -> list[Row]:
    async def flow(transaction: Transaction) -> list[Row]:
        return await transaction.run(statement, **parameters)

    return await store.read(flow)


async def _declared(transaction: Transaction, catalogue: Catalogue, job_id: int, owner: str | None = None) -> Declared:
    found = await transaction.run("observe_pipeline", job_id=job_id, owner=owner)
    if not found:
        raise NotFound("job", job_id)
    ((pipeline_id,),) = found
    return (await catalogue.known(transaction, [pipeline_id]))[pipeline_id]


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


def cursor_of(text: str) -> tuple[str, int, int]:
    """The epoch, the transaction and the number that a cursor of the feed is made of."""
    pieces = text.split(".")
    if len(pieces) == CURSOR_PIECES and all(piece.isdecimal() and piece.isascii() for piece in pieces[1:]):
        epoch, (xid, number) = pieces[0], map(int, pieces[1:])
        if epoch.isalnum() and xid < MOST_XIDS and number < MOST_NUMBERS:
            return epoch, xid, number
    raise InvalidRequest("after", f"{text[:50]!r} is not a cursor", hint="use the one that you were given last")


def cursor_number(text: str) -> int:
    """A cursor that is the id of a row."""
    if not text.isdecimal():
        raise InvalidRequest("after", f"{text!r} is not a cursor", hint="use the one that the last page gave")
    return int(text)


def page_size(limit: int) -> int:
    """The limit of a listing, if it is one."""
    if not 1 <= limit <= LARGEST_PAGE:
        raise InvalidRequest("limit", f"{limit} is not a page size", hint=f"from 1 to {LARGEST_PAGE}")
    return limit


def paged(items: list[T], limit: int, key: Callable[[T], str]) -> Page[T]:
    """Items as a page; a full one names the key of its last item, after which there may be more."""
    return Page(items, key(items[-1]) if len(items) == limit else None)


def _stage_number(declared: Declared, name: str) -> int:
    if name not in declared.graph.index:
        raise InvalidRequest("stage", f"there is no stage {name!r}", hint=f"stages: {', '.join(declared.graph.index)}")
    return declared.graph.index[name]


def job_of(row: Row) -> Job:
    """A row in the order of the record's fields."""
    values = dict(zip(Job.__dataclass_fields__, row, strict=True))
    return Job(**{**values, "status": known_status(JobStatus, values["status"]), "phase": JobStatus(values["phase"])})


def _task(row: Row, declared: Declared) -> Task:
    names = [name for name in Task.__dataclass_fields__ if name != "stage_name"]
    values = dict(zip(names, row, strict=True))
    return Task(
        **{
            **values,
            "status": known_status(TaskStatus, values["status"]),
            "stage_name": declared.graph.stages[row[1]].name,
        }
    )


def _worker(row: Row) -> Worker:
    values = dict(zip(Worker.__dataclass_fields__, row, strict=True))
    sets = {name: frozenset(values[name]) for name in ("capabilities", "pipelines")}
    return Worker(
        **{
            **values,
            **sets,
            "status": known_status(WorkerStatus, values["status"]),
            "enabled": bool(values["enabled"]),
        }
    )


def event_of(row: Row, epoch: str) -> Event:
    """A row of the record, its place in front."""
    xid, number, entity, job_id, stage, part, worker_id, *rest = row
    version, origin, target, actor, reason, token, data, at = rest
    return Event(
        cursor=f"{epoch}.{xid}.{number}",
        entity=entity,
        job_id=job_id,
        stage=None if stage < 0 else stage,
        part=None if part < 0 else part,
        worker_id=worker_id,
        version=version,
        origin=origin,
        target=target,
        actor=actor,
        reason=reason,
        token=token,
        data=data,
        at=at,
    )


async def outputs_of(transaction: Transaction, catalogue: Catalogue, job_id: int, pipeline_id: int) -> dict[str, Json]:
    """The results of the stages of a job that nothing waits for."""
    graph = (await catalogue.known(transaction, [pipeline_id]))[pipeline_id].graph
    leaves = [number for number in graph.leaves if graph.stages[number].each is None]
    results = await transaction.run("observe_results", job_id=job_id, stages=leaves)
    return {graph.stages[number].name: result for number, result in results}


def known_status(statuses: Callable[[str], T], word: str) -> T:
    """A status this code knows; a newer one makes the row unreadable for it, which must be said clearly."""
    try:
        return statuses(word)
    except ValueError:
        raise InvalidRequest(
            "status",
            f"{word!r} is not a status this version knows",
            hint="upgrade Reelstate, or run `reel doctor`",
        ) from None


def _detail(job: Job, declared: Declared, opened: dict[int, Row], results: dict[int, Json]) -> JobDetail:
    graph = declared.graph
    stages = tuple(_stage(job, declared, number, opened.get(number)) for number in range(len(graph.stages)))
    plan = {graph.stages[number].name: result for number, result in results.items()}
    outputs = {graph.stages[number].name: results[number] for number in graph.leaves if number in results}
    done = 100.0 if job.status is JobStatus.COMPLETED else percent(list(_progress(stages, opened)))
    return JobDetail(job=job, stages=stages, plan=plan, outputs=outputs, progress=done)


def _stage(job: Job, declared: Declared, number: int, row: Row | None) -> Stage:
    spec = declared.graph.stages[number]
    _, is_open, total, done, skipped, failed, opened_at, running, running_percent = row or (
        number, False, 0, 0, 0, 0, None, 0, 0.0
    )  # fmt: skip
    counters = Counters(total=total, done=done, skipped=skipped, failed=failed) if is_open else None
    return Stage(
        job_id=job.id,
        stage=number,
        name=spec.name,
        phase=spec.phase,
        status=stage_status(counters, job=job.status, required=spec.required, running=running),
        required=spec.required,
        weight=spec.weight,
        needs=tuple(sorted(spec.needs)),
        total=total,
        done=done,
        skipped=skipped,
        failed=failed,
        running=running,
        running_percent=running_percent,
        opened_at=opened_at,
    )


def _progress(stages: Iterable[Stage], opened: Collection[int]) -> Iterable[StageProgress]:
    for stage in stages:
        yield StageProgress(
            weight=stage.weight,
            total=stage.total if stage.stage in opened else None,
            finished=stage.done + stage.skipped + (0 if stage.required else stage.failed),
            running_percent=stage.running_percent,
        )
