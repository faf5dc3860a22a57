"""overview: the state of a deployment, or of the jobs of one user, at one look. Each count stops at a limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from reelstate.core.machine import JobStatus
from reelstate.core.pause import Pause, PauseScope, Target
from reelstate.core.printable import printable_line
from reelstate.services.activity import Activity, ActivityLog
from reelstate.services.catalogue import Catalogue
from reelstate.services.jobs import NOW
from reelstate.services.measure import MAX_COUNT, MAX_HEADS, MAX_LANES, Measured, WorkerCount
from reelstate.services.pause import pauses
from reelstate.services.rows import stage_name
from reelstate.stores.store import Statement, Store, Transaction

MAX_LISTED: Final = 100
"""Jobs of a kind among which attention is counted; more are shown as more than this."""
MAX_OLDEST: Final = 5
RECENT: Final = 86_400.0
"""Seconds in which a job has failed lately."""
KEEPER_MISSING: Final = 60.0
"""Seconds without a sweep after which no keeper seems to run."""
MAX_TEXT: Final = 300
Kind: TypeAlias = Literal["quarantined", "flagged", "failed", "no_worker", "stuck", "paused", "webhook", "keeper"]
Severity: TypeAlias = Literal["error", "warning", "info"]


class _StatusRow(NamedTuple):
    status: str
    jobs: int


class _AttentionRow(NamedTuple):
    kind: str
    job_id: int
    at: datetime | None
    message: str | None


class _OwnTasksRow(NamedTuple):
    pipeline: str
    kind: str
    tasks: int


class _OldestRow(NamedTuple):
    job_id: int
    stage: int
    part: int
    ready_at: datetime
    pipeline_id: int


class _UnservedRow(NamedTuple):
    pipeline: str
    needs: list[str]
    job_id: int
    at: datetime


class _WebhookRow(NamedTuple):
    id: str
    url: str
    disabled: str
    at: datetime


NEWEST_JOBS = Statement("overview_newest", _StatusRow)
OWN_JOBS = Statement("overview_own", _StatusRow)
ATTENTION_JOBS = Statement("overview_attention", _AttentionRow)
OWN_ATTENTION_JOBS = Statement("overview_own_attention", _AttentionRow)
OWN_TASKS = Statement("overview_own_tasks", _OwnTasksRow)
OLDEST = Statement("overview_oldest", _OldestRow)
UNSERVED = Statement("overview_unserved", _UnservedRow)
DISABLED_WEBHOOKS = Statement("overview_webhooks", _WebhookRow)


@dataclass(frozen=True, slots=True)
class Count:
    """A number; `capped` says that there may be more."""

    count: int
    capped: bool = False


@dataclass(frozen=True, slots=True)
class PipelineLoad:
    """The tasks of a pipeline that wait and run."""

    pipeline: str
    ready: Count
    running: Count
    oldest: float | None
    """Seconds that its oldest ready task has been ready; None without one, and for one user."""


@dataclass(frozen=True, slots=True)
class OldestTask:
    """A task that has been ready for long."""

    task: str
    """JOB/STAGE/PART"""
    job: int
    stage: str
    pipeline: str
    ready_at: datetime


@dataclass(frozen=True, slots=True)
class Slots:
    """What the workers can run at once, and their number by status."""

    total: int
    busy: int
    workers: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Something that an operator should look at."""

    kind: Kind
    severity: Severity
    title: str
    detail: str
    count: Count
    jobs: tuple[int, ...] = ()
    """The newest jobs that it is about."""
    pipeline: str | None = None
    webhook: str | None = None
    worker: str | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of a deployment, or of the jobs of one user."""

    at: datetime
    jobs: dict[str, Count]
    pipelines: list[PipelineLoad]
    oldest: list[OldestTask]
    slots: Slots | None
    """None for one user."""
    delayed: Count | None
    outbox: Count | None
    activity: Activity
    attention: list[Attention]


@dataclass(frozen=True, slots=True)
class OverviewTerms:
    """What an overview needs beside the store."""

    catalogue: Catalogue
    activity: ActivityLog
    queue_age: float
    """Seconds of waiting after which a queue is stuck; 0 for never."""


async def overview(store: Store, terms: OverviewTerms, measured: Measured) -> Overview:
    """Return the state of a deployment; `measured` are its gauges."""
    in_force = await pauses(store)

    async def flow(transaction: Transaction) -> Overview:
        (clock,) = await transaction.run(NOW)
        newest = await transaction.run(NEWEST_JOBS, limit=MAX_COUNT)
        attention = await transaction.run(ATTENTION_JOBS, limit=MAX_LISTED + 1, recent=RECENT)
        unserved = await transaction.run(UNSERVED, lanes=MAX_LANES, limit=MAX_LISTED)
        webhooks = await transaction.run(DISABLED_WEBHOOKS, owner=None, limit=MAX_LISTED)
        found = [
            *_jobs_attention(attention),
            *map(_unserved_attention, unserved),
            *_stuck(measured, in_force, terms.queue_age),
            *_keeper(measured),
            *map(_webhook_attention, webhooks),
            *map(_pause_attention, in_force),
        ]
        return Overview(
            at=clock.at,
            jobs={status: _count(jobs) for status, jobs in measured.jobs.items()} | _completed(newest),
            pipelines=_loads(measured),
            oldest=await _oldest(transaction, terms.catalogue, None),
            slots=_slots(measured.workers, sum(lane.tasks for lane in measured.running)),
            delayed=_count(measured.delayed),
            outbox=_count(measured.outbox),
            activity=terms.activity.hour(clock.at),
            attention=found,
        )

    return await store.survey(flow)


async def own_overview(store: Store, terms: OverviewTerms, owner: str) -> Overview:
    """Return the state of the newest jobs of one user."""

    async def flow(transaction: Transaction) -> Overview:
        (clock,) = await transaction.run(NOW)
        newest = await transaction.run(OWN_JOBS, owner=owner, limit=MAX_COUNT)
        capped = sum(row.jobs for row in newest) >= MAX_COUNT
        attention = await transaction.run(
            OWN_ATTENTION_JOBS, owner=owner, limit=MAX_COUNT, recent=RECENT, rows=MAX_LISTED + 1
        )
        webhooks = await transaction.run(DISABLED_WEBHOOKS, owner=owner, limit=MAX_LISTED)
        own = await transaction.run(OWN_TASKS, owner=owner, limit=MAX_COUNT)
        return Overview(
            at=clock.at,
            jobs={str(status): Count(0, capped) for status in JobStatus}
            | {row.status: Count(row.jobs, capped) for row in newest},
            pipelines=_own_loads(own),
            oldest=await _oldest(transaction, terms.catalogue, owner),
            slots=None,
            delayed=None,
            outbox=None,
            activity=terms.activity.hour(clock.at, owner),
            attention=[*_jobs_attention(attention), *map(_webhook_attention, webhooks)],
        )

    return await store.survey(flow)


def _count(number: int) -> Count:
    return Count(number, capped=number >= MAX_COUNT)


def _completed(newest: Sequence[_StatusRow]) -> dict[str, Count]:
    completed = sum(row.jobs for row in newest if row.status == JobStatus.COMPLETED)
    return {str(JobStatus.COMPLETED): Count(completed, capped=sum(row.jobs for row in newest) >= MAX_COUNT)}


def _loads(measured: Measured) -> list[PipelineLoad]:
    ready: dict[str, int] = {}
    oldest: dict[str, float] = {}
    for lane in measured.ready:
        ready[lane.pipeline] = ready.get(lane.pipeline, 0) + lane.tasks + lane.isolated
        if lane.waited is not None:
            oldest[lane.pipeline] = max(oldest.get(lane.pipeline, 0.0), lane.waited)
    running: dict[str, int] = {}
    for busy in measured.running:
        running[busy.pipeline] = running.get(busy.pipeline, 0) + busy.tasks
    return [
        PipelineLoad(name, _count(ready.get(name, 0)), _count(running.get(name, 0)), oldest.get(name))
        for name in sorted({*ready, *running})
    ]


def _own_loads(rows: Sequence[_OwnTasksRow]) -> list[PipelineLoad]:
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        counts.setdefault(row.pipeline, {})[row.kind] = row.tasks
    return [
        PipelineLoad(name, Count(found.get("ready", 0)), Count(found.get("running", 0)), None)
        for name, found in counts.items()
    ]


async def _oldest(transaction: Transaction, catalogue: Catalogue, owner: str | None) -> list[OldestTask]:
    rows = await transaction.run(OLDEST, lanes=MAX_LANES, heads=MAX_HEADS, owner=owner, limit=MAX_OLDEST)
    declared = await catalogue.load(transaction, {row.pipeline_id for row in rows})
    found = []
    for row in rows:
        known = declared.get(row.pipeline_id)
        stage = stage_name(known, row.stage)
        pipeline = known.graph.name if known else f"#{row.pipeline_id}"
        found.append(OldestTask(f"{row.job_id}/{stage}/{row.part}", row.job_id, stage, pipeline, row.ready_at))
    return found


def _slots(workers: Sequence[WorkerCount], running: int) -> Slots:
    return Slots(
        total=sum(row.slots for row in workers if row.status == "active"),
        busy=running,
        workers={row.status: row.workers for row in workers},
    )


def _jobs_attention(rows: Sequence[_AttentionRow]) -> list[Attention]:
    found = []
    kinds: tuple[tuple[Kind, Severity, str], ...] = (
        ("quarantined", "error", "quarantined"),
        ("flagged", "warning", "flagged: a run makes no progress"),
        ("failed", "error", "failed in the last 24 hours"),
    )
    for kind, severity, text in kinds:
        of_kind = [row for row in rows if row.kind == kind]
        if of_kind:
            count = Count(min(len(of_kind), MAX_LISTED), capped=len(of_kind) > MAX_LISTED)
            number = f"more than {count.count}" if count.capped else str(count.count)
            found.append(
                Attention(
                    kind=kind,
                    severity=severity,
                    title=f"{number} {'job' if number == '1' else 'jobs'} {text}",
                    detail=_short(of_kind[0].message),
                    count=count,
                    jobs=tuple(row.job_id for row in of_kind[:MAX_OLDEST]),
                    since=of_kind[0].at,
                )
            )
    return found


def _unserved_attention(row: _UnservedRow) -> Attention:
    needs = ", ".join(sorted(row.needs))
    return Attention(
        kind="no_worker",
        severity="error",
        title=f"no worker runs {row.pipeline}" + (f" with {needs}" if needs else ""),
        detail="tasks are ready, and no active, enabled worker has the pipeline and the capabilities",
        count=Count(1),
        jobs=(row.job_id,),
        pipeline=row.pipeline,
        since=row.at,
    )


def _stuck(measured: Measured, in_force: Sequence[Pause], age: float) -> Iterable[Attention]:
    paused = {each.target for each in in_force}
    if not age or Target(PauseScope.ALL) in paused:
        return
    for load in _loads(measured):
        if load.oldest is not None and load.oldest > age and Target(PauseScope.PIPELINE, load.pipeline) not in paused:
            number = f"more than {load.ready.count}" if load.ready.capped else str(load.ready.count)
            yield Attention(
                kind="stuck",
                severity="warning",
                title=f"the queue of {load.pipeline} is stuck",
                detail=f"{number} tasks are ready, the oldest for {load.oldest / 60:.0f} min",
                count=load.ready,
                pipeline=load.pipeline,
            )


def _keeper(measured: Measured) -> Iterable[Attention]:
    if measured.swept is None or measured.swept > KEEPER_MISSING:
        ago = "never swept" if measured.swept is None else f"last sweep {measured.swept:.0f} s ago"
        yield Attention(
            kind="keeper",
            severity="error",
            title="no keeper runs",
            detail=f"{ago}: expired leases and due retries wait; start `reel worker` or `reel up`",
            count=Count(1),
        )


def _webhook_attention(row: _WebhookRow) -> Attention:
    return Attention(
        kind="webhook",
        severity="warning",
        title=f"webhook {row.id} is disabled",
        detail=_short(f"{row.url}: {row.disabled}" if row.url else row.disabled),
        count=Count(1),
        webhook=row.id,
        since=row.at,
    )


def _pause_attention(pause: Pause) -> Attention:
    return Attention(
        kind="paused",
        severity="info",
        title=_short(str(pause)),
        detail="",
        count=Count(1),
        pipeline=pause.target.name if pause.target.scope in (PauseScope.PIPELINE, PauseScope.STAGE) else None,
        worker=pause.target.name if pause.target.scope is PauseScope.WORKER else None,
        since=pause.paused_at,
    )


def _short(text: str | None) -> str:
    return printable_line((text or "")[:MAX_TEXT])
