"""why: the exact reasons why a job, a stage or a task does not run now, from the store itself.

The statements read what `claim` and the sweeps of the keeper ask about: the lanes of ready tasks, pauses, workers,
leases and times; `core/why.py` decides. Each reads a bounded number of rows by an index, so a handful of reasons
explains a job with 100,000 parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from reelstate.core.aggregate import Counters
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.machine import ACTIVE_JOBS, FINISHED_JOBS, STOPPED_JOBS, JobStatus, TaskStatus, UnknownStatus
from reelstate.core.model import Job, Json
from reelstate.core.pipeline import Graph
from reelstate.core.why import (
    CAP,
    LATE_SWEEP,
    Explanation,
    KeyState,
    Reason,
    ReasonKind,
    ServingWorker,
    Situation,
    WaitingGroup,
    error_text,
    limit_reason,
    paused_reasons,
    slot_reasons,
    span,
    spent_reason,
    unserved_reason,
)
from reelstate.services.archive import read_job
from reelstate.services.catalogue import Catalogue, Declared
from reelstate.services.claim import UNREADABLE
from reelstate.services.groups.reasons import waiting_reasons
from reelstate.services.jobs import NOW
from reelstate.services.keep import KEEPERS
from reelstate.services.observe import OBSERVE_JOB, OBSERVE_TASKS
from reelstate.services.orchestrate import STAGE_COUNTERS
from reelstate.services.pause import PAUSES
from reelstate.services.rows import job_of
from reelstate.stores.store import Statement, Store, Transaction

MAX_WORKERS = 1000
"""Workers of the pipeline that are looked at, those that may claim first."""
MAX_PAUSES = 10_000
MAX_LOOKS = 3
"""Times that the tasks are read until their states fit the counters of their stages."""
FINAL_KINDS = {
    TaskStatus.DONE: ReasonKind.DONE,
    TaskStatus.SKIPPED: ReasonKind.SKIPPED,
    TaskStatus.CANCELLED: ReasonKind.CANCELLED,
}
KEEPER_KINDS = {ReasonKind.LEASE_EXPIRED, ReasonKind.DUE, ReasonKind.RESUMING, ReasonKind.NEXT_STEP}
"""Causes that a keeper ends."""


class _ReadyRow(NamedTuple):
    stage: int
    lane: int
    isolated: bool
    parked: bool
    arrived: bool
    queue: int | None
    needs: list[str]
    prefers: list[str]
    priority: int
    part: int
    tasks: int
    ready_at: datetime
    lost: int
    spent: int


class _DueRow(NamedTuple):
    stage: int
    status: str
    part: int
    run_after: datetime
    attempt: int
    max_attempts: int
    error: Json
    reason: str | None
    due: bool
    seconds: float
    tasks: int


class _RunningRow(NamedTuple):
    stage: int
    part: int
    worker: str | None
    attempt: int
    max_attempts: int
    percent: float
    isolated: bool
    expired: bool
    cause: str
    progress_age: float | None
    lease_left: float
    lease_expires_at: datetime


class _WorkerRow(NamedTuple):
    id: int
    name: str
    status: str
    enabled: bool
    slots: int
    stuck: int
    capabilities: list[str]
    heard: bool
    silent: float
    running: int
    runs_isolated: bool


class _Count(NamedTuple):
    tasks: int


class _LimitedRow(NamedTuple):
    name: str
    key: str
    running: int | None
    admitted: int
    starts: int | None
    started: int
    period: float | None
    retry_in: float | None
    before: int


READY_TASKS = Statement("why_ready", _ReadyRow)
WAITING_TASKS = Statement("why_due", _DueRow)
RUNNING_TASKS = Statement("why_running", _RunningRow)
SERVING_WORKERS = Statement("why_workers", _WorkerRow)
TASKS_BEFORE = Statement("why_before", _Count)
WAITED_LIMITS = Statement("why_limits", _LimitedRow)

OpenedStages = Mapping[int, tuple[bool, Counters]]
"""The stages that the job has opened so far: whether each is open, and its counters."""


class WhyOptions(TypedDict, total=False):
    """What the question depends on besides the store: the settings of the deployment's workers and keepers."""

    gpu_grace: float
    stale_after: float


async def why(
    store: Store,
    catalogue: Catalogue,
    job_id: int,
    *,
    stage: str | None = None,
    part: int | None = None,
    owner: str | None = None,
    gpu_grace: float = 60.0,
    stale_after: float = 45.0,
) -> Explanation:
    """Return why a job, or with `stage` and `part` a task of it, does not run now, or that it runs.

    With `owner` workers are counted and not named. Raises `NotFound`, also for the job of another user, and
    `InvalidRequest`.
    """
    if part is not None and stage is None:
        raise InvalidRequest("part", "a task is named by its stage and part", hint="name both, or only the stage")

    async def find(transaction: Transaction) -> tuple[Job, Declared | None, datetime]:
        rows = await transaction.run(OBSERVE_JOB, job_id=job_id, owner=owner)
        if not rows:
            raise NotFound("job", job_id)
        declared = await catalogue.load(transaction, [rows[0].pipeline_id])
        (clock,) = await transaction.run(NOW)
        return job_of(rows[0]), declared.get(rows[0].pipeline_id), clock.at

    job, declared, at = await read_job(
        store, job_id, find, lambda found: (replace(found[0], archived=True), found[1], found[2])
    )
    reasons = list(_job_reasons(job, declared, at))
    if declared is not None:
        number_of_stage = None if stage is None else _stage_number(declared.graph, stage)
        if not job.archived and job.status not in FINISHED_JOBS and not isinstance(job.status, UnknownStatus):
            scope = _Scope(job, declared.graph, number_of_stage, part, at)
            terms = _Terms(gpu_grace, stale_after, names=owner is None)
            reasons += await store.read(_Question(scope, terms).reasons)
    return Explanation(
        job_id=job_id, stage=stage, part=part, status=str(job.status), at=at, reasons=tuple(_ordered(reasons))
    )


@dataclass(frozen=True, slots=True)
class _Scope:
    """What is asked about: a job, a stage of it or a task, and when."""

    job: Job
    graph: Graph
    stage: int | None
    part: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class _Terms:
    gpu_grace: float
    stale_after: float
    names: bool


@dataclass(frozen=True, slots=True)
class _Sight:
    """The unfinished tasks of the open stages: every one is in one of the lists, or its stored state is wrong."""

    opened: OpenedStages
    open: Sequence[int]
    running: Sequence[_RunningRow] = ()
    waiting: Sequence[_DueRow] = ()
    ready: Sequence[_ReadyRow] = ()

    def unexplained(self) -> dict[int, int]:
        """Return the number of tasks by stage that are unfinished and in no list."""
        missing: dict[int, int] = {}
        for stage in self.open:
            counts = self.opened[stage][1]
            sizes = [sum(row.stage == stage for row in self.running)]
            sizes += [row.tasks for row in self.waiting if row.stage == stage]
            sizes += [row.tasks for row in self.ready if row.stage == stage]
            left = counts.total - counts.done - counts.skipped - counts.failed - sum(sizes)
            if left > 0 and max(sizes) < CAP and len(self.running) < CAP:
                missing[stage] = left
        return missing


class _Question:
    """One question, answered by statements on one connection."""

    def __init__(self, scope: _Scope, terms: _Terms) -> None:
        self._job = scope.job
        self._graph = scope.graph
        self._stage = scope.stage
        self._part = scope.part
        self._at = scope.at
        self._terms = terms

    async def reasons(self, transaction: Transaction) -> list[Reason]:
        """Return the reasons of the job's unfinished tasks, and of the stages that wait for others."""
        active = self._job.status in ACTIVE_JOBS
        waiting = await waiting_reasons(transaction, self._job.id) if self._job.status is JobStatus.PENDING else None
        if waiting is not None:
            ends = any(reason.kind is ReasonKind.NEXT_STEP for reason in waiting)
            return waiting + (await self._keeper_reasons(transaction) if ends else [])
        sight = await self._look(transaction)
        reasons = list(self._running_reasons(sight.running))
        reasons += map(self._due_reason, sight.waiting)
        if sight.ready:
            situation = await self._situation(transaction)
            for row in sight.ready:
                reasons += await self._ready_reasons(transaction, situation, row)
        if self._stage is not None and self._part is not None and self._stage in sight.opened and not reasons:
            reasons.append(await self._task_reason(transaction, self._stage, self._part))
        elif self._part is None and active:
            reasons += [self._unexplained_reason(stage, left) for stage, left in sight.unexplained().items()]
        if self._part is None or self._stage not in sight.opened:
            reasons += self._stage_reasons(sight.opened)
        if active and self._stage is None and not sight.open:
            text = "every task is finished; a keeper takes the next step"
            reasons.append(Reason(kind=ReasonKind.NEXT_STEP, sentence=text))
        if any(reason.kind in KEEPER_KINDS for reason in reasons):
            reasons += await self._keeper_reasons(transaction)
        return reasons

    async def _look(self, transaction: Transaction) -> _Sight:
        """Read the unfinished tasks; again where a task changed between two statements."""
        sight = await self._look_once(transaction)
        for _ in range(MAX_LOOKS - 1):
            if self._part is not None or self._job.status not in ACTIVE_JOBS or not sight.unexplained():
                break
            sight = await self._look_once(transaction)
        return sight

    async def _look_once(self, transaction: Transaction) -> _Sight:
        opened: dict[int, tuple[bool, Counters]] = {}
        for row in await transaction.run(STAGE_COUNTERS, job_ids=[self._job.id]):
            counts = Counters(total=row.total, done=row.done, skipped=row.skipped, failed=row.failed)
            opened[row.stage] = (bool(row.open), counts)
        stages = [
            number
            for number, (is_open, counts) in opened.items()
            if is_open and not counts.closed and self._stage in (None, number)
        ]
        if not stages:
            return _Sight(opened, stages)
        wanted = {"job_id": self._job.id, "stages": stages, "part": self._part, "cap": CAP}
        running = await transaction.run(RUNNING_TASKS, **wanted)
        if self._job.status not in ACTIVE_JOBS:
            return _Sight(opened, stages, running)
        waiting = await transaction.run(WAITING_TASKS, **wanted)
        return _Sight(opened, stages, running, waiting, await transaction.run(READY_TASKS, **wanted))

    async def _ready_reasons(self, transaction: Transaction, situation: Situation, row: _ReadyRow) -> list[Reason]:
        group = WaitingGroup(
            stage=self._name(row.stage),
            lane=row.lane,
            isolated=bool(row.isolated),
            parked=bool(row.parked),
            needs=frozenset(row.needs),
            prefers=frozenset(row.prefers),
            part=row.part,
            tasks=row.tasks,
            lost=row.lost,
            spent=row.spent,
            waited=max(0.0, (self._at - row.ready_at).total_seconds()),
        )
        reasons = [spent_reason(group)] if group.spent else []
        reasons += paused_reasons(group, situation)
        if row.arrived:
            text = "its limits are looked at when a worker asks for more"
            reasons.append(group.reason(ReasonKind.LIMIT, text, before=0, limits=[]))
        if row.queue is not None and not row.parked:
            reasons.append(await self._limit_reason(transaction, group, row, row.queue))
        unserved = unserved_reason(group, situation)
        reasons += [unserved] if unserved else []
        if reasons:
            return reasons
        (counted,) = await transaction.run(
            TASKS_BEFORE,
            workers=[worker.id for worker in situation.candidates(group)],
            isolated=group.isolated,
            priority=row.priority,
            job_id=self._job.id,
            stage=row.stage,
            part=row.part,
            cap=CAP,
        )
        return list(slot_reasons(group, situation, counted.tasks))

    async def _limit_reason(self, transaction: Transaction, group: WaitingGroup, row: _ReadyRow, queue: int) -> Reason:
        place = {"priority": row.priority, "job_id": self._job.id, "stage": row.stage, "part": row.part}
        found = await transaction.run(WAITED_LIMITS, queue=queue, cap=CAP, **place)
        keys = [KeyState(*each[:-1]) for each in found]
        return limit_reason(group, keys, found[0].before if found else 0)

    async def _situation(self, transaction: Transaction) -> Situation:
        pauses = [row.pause() for row in await transaction.run(PAUSES, lifted=False, limit=MAX_PAUSES)]
        rows = await transaction.run(
            SERVING_WORKERS, pipeline=self._job.pipeline, stale=self._terms.stale_after, limit=MAX_WORKERS
        )
        workers = [
            ServingWorker(
                id=row.id,
                name=row.name,
                status=row.status,
                enabled=bool(row.enabled),
                slots=row.slots,
                stuck=row.stuck,
                running=row.running,
                runs_isolated=bool(row.runs_isolated),
                capabilities=frozenset(row.capabilities),
                heard=bool(row.heard),
                silent=row.silent,
            )
            for row in rows
        ]
        return Situation(
            self._job.pipeline, self._job.user_id, pauses, workers, self._terms.gpu_grace, self._terms.names
        )

    def _running_reasons(self, rows: Sequence[_RunningRow]) -> Iterator[Reason]:
        for stage in sorted({row.stage for row in rows}):
            for expired in (False, True):
                some = [row for row in rows if row.stage == stage and bool(row.expired) is expired]
                if some:
                    yield self._expired_reason(some) if expired else self._runs_reason(some)

    def _runs_reason(self, rows: Sequence[_RunningRow]) -> Reason:
        slowest = rows[0]
        workers = sorted({row.worker or "an unknown worker" for row in rows})
        age = f"last progress {span(slowest.progress_age or 0.0)} ago"
        if len(rows) == 1:
            alone = " alone" if slowest.isolated else ""
            attempt = f"attempt {slowest.attempt} of {slowest.max_attempts}"
            until = f"{span(slowest.lease_left)} more"
            sentence = f"runs{alone} on {workers[0]}, {attempt}, {age}, its lease is valid for {until}"
        else:
            where = workers[0] if len(workers) == 1 else f"{len(workers)} workers"
            sentence = f"run on {where}, the slowest with its {age}"
        return self._of_tasks(
            ReasonKind.RUNS,
            sentence,
            rows,
            slowest,
            workers=workers,
            progress_seconds=slowest.progress_age,
            lease_seconds=min(row.lease_left for row in rows),
            lease_expires_at=min(row.lease_expires_at for row in rows),
            attempt=slowest.attempt,
            max_attempts=slowest.max_attempts,
        )

    def _expired_reason(self, rows: Sequence[_RunningRow]) -> Reason:
        oldest = min(rows, key=lambda row: row.lease_left)
        workers = sorted({row.worker or "an unknown worker" for row in rows})
        of = workers[0] if len(workers) == 1 else f"{len(workers)} workers"
        sentence = (
            f"the lease of {of} expired {span(-oldest.lease_left)} ago ({oldest.cause}); the keeper takes it back"
        )
        return self._of_tasks(
            ReasonKind.LEASE_EXPIRED,
            sentence,
            rows,
            oldest,
            workers=workers,
            cause=oldest.cause,
            seconds=-oldest.lease_left,
            attempt=oldest.attempt,
            max_attempts=oldest.max_attempts,
        )

    def _of_tasks(
        self, kind: ReasonKind, sentence: str, rows: Sequence[_RunningRow], first: _RunningRow, **data: Json
    ) -> Reason:
        more = len(rows) >= CAP
        name = self._name(first.stage)
        return Reason(kind=kind, sentence=sentence, stage=name, part=first.part, tasks=len(rows), more=more, data=data)

    def _due_reason(self, row: _DueRow) -> Reason:
        attempt = f"attempt {row.attempt} of {row.max_attempts} failed: {error_text(row.error)}"
        data: dict[str, Json] = {"run_after": row.run_after, "seconds": row.seconds}
        if row.status == TaskStatus.ERROR:
            data |= {"attempt": row.attempt, "max_attempts": row.max_attempts, "error": error_text(row.error)}
        if row.reason == UNREADABLE:
            kind, sentence = (
                ReasonKind.UNREADABLE,
                f"{row.reason}: run `reel doctor`; tried again in {span(row.seconds)}",
            )
        elif row.due:
            what = f"a retry ({attempt})" if row.status == TaskStatus.ERROR else "its first run"
            kind, sentence = ReasonKind.DUE, f"due for {what} since {span(-row.seconds)}; a keeper makes it ready"
        elif row.status == TaskStatus.ERROR:
            kind, sentence = ReasonKind.RETRY, f"retry due in {span(row.seconds)} ({attempt})"
        else:
            kind = ReasonKind.DELAYED
            sentence = f"delayed until {row.run_after:%Y-%m-%d %H:%M:%S} UTC, in {span(row.seconds)}"
        more = row.tasks >= CAP
        name = self._name(row.stage)
        return Reason(kind=kind, sentence=sentence, stage=name, part=row.part, tasks=row.tasks, more=more, data=data)

    def _stage_reasons(self, opened: OpenedStages) -> Iterator[Reason]:
        """Yield the stages that wait for others; of a whole job only those that come next."""
        graph = self._graph
        for position, spec in enumerate(graph.stages):
            if self._stage is not None and position != self._stage:
                continue
            known = opened.get(position)
            if known is not None and known[0]:
                if self._stage is not None and known[1].closed:
                    yield self._closed_reason(position, known[1])
                continue
            before = [name for name in spec.after if not self._closed(opened, graph.index[name])]
            waited_for = [opened[graph.index[name]] for name in before if graph.index[name] in opened]
            if (self._stage is None and not waited_for) or self._job.status not in ACTIVE_JOBS:
                continue
            texts, data = [], []
            for name in before:
                row = opened.get(graph.index[name])
                if row is None or not row[0]:
                    texts.append(f"{name} (not open yet)")
                    data.append({"stage": name, "done": 0, "total": None})
                else:
                    ended = row[1].done + row[1].skipped + row[1].failed
                    texts.append(f"{name} ({ended:,} of {row[1].total:,} done)")
                    data.append({"stage": name, "done": ended, "total": row[1].total})
            if before:
                sentence = f"waits for stage{'' if len(before) == 1 else 's'} {', '.join(texts)}"
                yield Reason(kind=ReasonKind.STAGE, sentence=sentence, stage=spec.name, data={"stages": data})

    @staticmethod
    def _closed(opened: OpenedStages, position: int) -> bool:
        known = opened.get(position)
        return known is not None and known[0] and known[1].closed

    def _closed_reason(self, position: int, counts: Counters) -> Reason:
        data = {"done": counts.done, "skipped": counts.skipped, "failed": counts.failed, "total": counts.total}
        parts = [f"{count:,} {name}" for name, count in data.items() if count and name != "total"]
        sentence = f"finished: {', '.join(parts) or 'no tasks'} of {counts.total:,}"
        return Reason(kind=ReasonKind.DONE, sentence=sentence, stage=self._name(position), data=data)

    def _unexplained_reason(self, stage: int, left: int) -> Reason:
        sentence = "no cause is found in the stored state: run `reel doctor`"
        return Reason(kind=ReasonKind.UNREADABLE, sentence=sentence, stage=self._name(stage), tasks=left)

    async def _task_reason(self, transaction: Transaction, stage: int, part: int) -> Reason:
        """Return why a task does not run that is neither ready, nor running, nor waiting for a time."""
        page = {"after_stage": stage, "after_part": part - 1, "stage": stage, "statuses": None, "limit": 1}
        rows: list[Any] = await transaction.run(OBSERVE_TASKS, job_id=self._job.id, **page)
        name = self._name(stage)
        if not rows or rows[0].part != part:
            raise NotFound("task", f"{self._job.id}/{name}/{part}", hint="parts are counted from 0")
        (task,) = rows
        data: dict[str, Json] = {"status": task.status}
        if task.status in FINAL_KINDS:
            kind, sentence = FINAL_KINDS[TaskStatus(task.status)], f"it is {task.status}"
        elif task.status == TaskStatus.ERROR:
            data |= {"attempt": task.attempt, "max_attempts": task.max_attempts, "error": error_text(task.error)}
            kind = ReasonKind.FAILED
            sentence = f"failed for good, attempt {task.attempt} of {task.max_attempts}: {error_text(task.error)}"
        elif self._job.status in STOPPED_JOBS:
            kind, sentence = ReasonKind(str(self._job.status)), f"it waits, because its job is {self._job.status}"
        else:
            kind, sentence = ReasonKind.UNREADABLE, f"it is {task.status} for no cause: run `reel doctor`"
        return Reason(kind=kind, sentence=sentence, stage=name, part=part, tasks=1, data=data)

    async def _keeper_reasons(self, transaction: Transaction) -> list[Reason]:
        """Return that no keeper sweeps, or that the keepers take back no lease for a while; else nothing."""
        rows = await transaction.run(KEEPERS)
        swept = rows[0].swept_at if rows else None
        grace = rows[0].grace_until if rows else None
        ago = None if swept is None else (self._at - swept).total_seconds()
        if ago is None or ago >= LATE_SWEEP:
            since = "ever" if ago is None else f"for {span(ago)}"
            sentence = f"no keeper has swept {since}: start one with `reel up` or `reel serve`"
            return [Reason(kind=ReasonKind.KEEPER, sentence=sentence, data={"swept_at": swept, "seconds": ago})]
        if grace is not None:
            left = (grace - self._at).total_seconds()
            sentence = f"keepers take back no lease for {span(left)} more, after an outage"
            return [Reason(kind=ReasonKind.KEEPER, sentence=sentence, data={"grace_until": grace, "seconds": left})]
        return []

    def _name(self, stage: int) -> str:
        stages = self._graph.stages
        return stages[stage].name if stage < len(stages) else f"#{stage}"


def _job_reasons(job: Job, declared: Declared | None, at: datetime) -> Iterator[Reason]:
    """Yield the reasons that are about the job as a whole."""
    if job.archived:
        yield Reason(kind=ReasonKind.ARCHIVED, sentence="archived, it can only be read")
    if isinstance(job.status, UnknownStatus):
        yield Reason(kind=ReasonKind.UNREADABLE, sentence=f"its status {job.status!r} is unknown: run `reel doctor`")
    elif job.status is JobStatus.COMPLETED:
        yield Reason(kind=ReasonKind.COMPLETED, sentence="completed", data={"finished_at": job.finished_at})
    elif job.status is JobStatus.CANCELLED:
        yield Reason(kind=ReasonKind.CANCELLED, sentence=f"cancelled by {_by(job)}", data=_actor(job))
    elif job.status is JobStatus.QUARANTINED:
        why = _by(job) if job.error is None else f"{_by(job)}: {error_text(job.error)}"
        text = f"quarantined by {why}; only an operator resumes it: `reel retry`"
        yield Reason(kind=ReasonKind.QUARANTINED, sentence=text, data=_actor(job))
    elif job.status is JobStatus.FAILED:
        error = error_text(job.error)
        where = job.error if isinstance(job.error, dict) else {}
        place = "/".join(str(where[name]) for name in ("stage", "part") if name in where)
        text = (
            f"failed for good{f' at {place}' if place else ''}: {error}"
            if job.error is not None
            else f"failed by {_by(job)}"
        )
        yield Reason(kind=ReasonKind.FAILED, sentence=text, data={**_actor(job), "error": error})
    if job.inconsistent:
        yield Reason(kind=ReasonKind.UNREADABLE, sentence=f"its stored state is inconsistent: {job.inconsistent}")
    if declared is None:
        yield Reason(kind=ReasonKind.UNREADABLE, sentence=f"{UNREADABLE}: run `reel doctor`")
    if job.flagged is not None:
        since = 0.0 if job.flagged_at is None else (at - job.flagged_at).total_seconds()
        sentence = f"flagged {span(since)} ago: {job.flagged}"
        yield Reason(kind=ReasonKind.FLAGGED, sentence=sentence, data={"flagged": job.flagged, "seconds": since})


def _actor(job: Job) -> dict[str, Json]:
    return {"actor": job.actor, "reason": job.reason, "finished_at": job.finished_at}


def _by(job: Job) -> str:
    return f"{job.actor}: {job.reason}" if job.reason else job.actor


def _stage_number(graph: Graph, name: str) -> int:
    if name not in graph.index:
        raise InvalidRequest("stage", f"no stage {name!r}", hint=f"stages: {', '.join(graph.index)}")
    return graph.index[name]


def _ordered(reasons: Iterable[Reason]) -> list[Reason]:
    """Return what runs first, then the rest as it was found."""
    return sorted(reasons, key=lambda reason: reason.kind is not ReasonKind.RUNS)
