"""The repairs of doctor. The guards are off meanwhile; every change is recorded as an event of the actor `doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reelstate.core.machine import FINISHED_JOBS, MACHINES, JobStatus, TaskStatus
from reelstate.core.model import TaskKey
from reelstate.core.record import RecordedChange, bridge
from reelstate.services.catalogue import Catalogue, lane_for
from reelstate.services.complete import recount
from reelstate.services.jobs import JOB_STATUSES, LockedJob, lock_jobs
from reelstate.services.limits.admission import LOCK
from reelstate.services.orchestrate import advance
from reelstate.services.stages import BrokenFanOut, OpeningStage, job_needs
from reelstate.stores.store import Batch, NoRow, Row, Statement, Transaction

GUARDS = "guards"
"""The check of the triggers and constraints."""
EVENT_COLUMNS = ("entity", "id", "stage", "part", "version", "origin", "target")
JOB_COLUMNS = ("id", "status", "inconsistent")


class SettingRow(NamedTuple):
    set_config: str


class RepairedTaskRow(NamedTuple):
    job_id: int
    stage: int
    part: int
    version: int
    status: str


class RepairedJobRow(NamedTuple):
    id: int
    version: int
    status: str


class TransitionRow(NamedTuple):
    version: int
    origin: str | None
    target: str


class EntityRow(NamedTuple):
    version: int
    status: str


class PendingTaskRow(NamedTuple):
    job_id: int
    stage: int
    part: int
    status: str


DOCTOR_REPAIRING = Statement("doctor_repairing", SettingRow)
REPAIR_TASKS = Statement("repair_tasks", RepairedTaskRow)
REPAIR_JOBS = Statement("repair_jobs", RepairedJobRow)
REPAIR_EVENTS = Statement("repair_events", NoRow)
REPAIR_RECORD = Statement("repair_record", TransitionRow)
REPAIR_ROW = Statement("repair_row", EntityRow)
REPAIR_RESTLESS = Statement("repair_restless", PendingTaskRow)
REPAIR_DUPLICATES = Statement("repair_duplicates", NoRow)
REPAIR_ORPHANS = Statement("repair_orphans", RepairedTaskRow)
REPAIR_LANE = Statement("repair_lane", NoRow)
REPAIR_TIMES = Statement("repair_times", NoRow)
REPAIR_LIMITS = Statement("repair_limits", NoRow)
REPAIR_RESTORED = Statement("repair_restored", NoRow)
REPAIR_GROUPS = Statement("repair_groups", NoRow)
REPAIR_INCONSISTENT = Statement("repair_inconsistent", NoRow)
REPAIR_VERSION = {entity: Statement(f"repair_version_{entity}", NoRow) for entity in ("job", "task", "worker")}


@dataclass(frozen=True, slots=True)
class Finding:
    """A row that breaks an invariant, or a check that failed to run."""

    check: str
    job_id: int
    """The id of the job or of the worker; -1 for neither."""
    stage: int
    part: int
    status: str
    detail: str

    @property
    def task(self) -> TaskKey:
        return TaskKey(self.job_id, self.stage, self.part)

    @property
    def key(self) -> str:
        """The row as JOB, JOB/STAGE or JOB/STAGE/PART."""
        return "/".join(str(number) for number in self.task if number >= 0)


async def _set_tasks(transaction: Transaction, statuses: Sequence[tuple[Finding, str]]) -> None:
    """Set the status of tasks, with every other field as it requires, and record it."""
    if not statuses:
        return
    rows = [(*finding.task, status) for finding, status in statuses]
    reason = f"repair: {statuses[0][0].check}"
    moved = await transaction.run(REPAIR_TASKS, Batch(("job_id", "stage", "part", "status"), rows), reason=reason)
    origins = {finding.task: finding.status for finding, _ in statuses}
    keys = [TaskKey(row.job_id, row.stage, row.part) for row in moved]
    events = [("task", *key, row.version, origins[key], row.status) for key, row in zip(keys, moved, strict=True)]
    await record_repair(transaction, events, reason)
    await recount(transaction, sorted({(row.job_id, row.stage, None) for row in moved}))


async def record_repair(transaction: Transaction, events: Sequence[Row], reason: str) -> None:
    """Write the events of a repair."""
    await transaction.run(REPAIR_EVENTS, Batch(EVENT_COLUMNS, events), reason=reason)


async def distrust_jobs(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Quarantine jobs whose state can't be trusted; mark finished ones inconsistent."""
    jobs = await lock_jobs(transaction, catalogue, _jobs_of(findings))
    reason = f"repair: {findings[0].check}"
    rows = [(job.id, *await _distrusted_status(transaction, job, reason)) for job in jobs]
    origins = {finding.job_id: finding.status for finding in findings if finding.stage < 0}
    origins = {job.id: str(job.status or origins[job.id]) for job in jobs}
    moved = await transaction.run(REPAIR_JOBS, Batch(JOB_COLUMNS, rows), reason=reason)
    events = [("job", row.id, -1, -1, row.version, origins[row.id], row.status) for row in moved]
    await record_repair(transaction, events, reason)
    quarantined = [job_id for job_id, status, _ in rows if status == JobStatus.QUARANTINED]
    if quarantined:
        await _park_jobs(transaction, quarantined, findings[0].check)


async def _distrusted_status(transaction: Transaction, job: LockedJob, reason: str) -> tuple[str, str | None]:
    """Return the status that a job gets, and why it is inconsistent."""
    status = job.status
    if status is None:
        record = await transaction.run(REPAIR_RECORD, entity="job", id=job.id, stage=-1, part=-1)
        status = JOB_STATUSES.get(record[-1].target) if record else None
    return (status, reason) if status in FINISHED_JOBS else (JobStatus.QUARANTINED, None)


async def _park_jobs(transaction: Transaction, job_ids: Sequence[int], check: str) -> None:
    """Set the waiting and running tasks of quarantined jobs to `new`."""
    rows = await transaction.run(REPAIR_RESTLESS, job_ids=sorted(job_ids))
    await _set_tasks(transaction, [(Finding(check, *row, ""), TaskStatus.NEW) for row in rows])


async def reset_tasks(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Set tasks to `new` and distrust their jobs."""
    await _set_tasks(transaction, [(finding, TaskStatus.NEW) for finding in findings])
    await distrust_jobs(transaction, catalogue, findings)


async def requeue_tasks(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Make tasks ready; `new` where the job is not active."""
    jobs = {job.id: job for job in await lock_jobs(transaction, catalogue, _jobs_of(findings))}
    statuses = [
        (finding, TaskStatus.READY if jobs[finding.job_id].active else TaskStatus.NEW)
        for finding in findings
        if finding.job_id in jobs
    ]
    await _set_tasks(transaction, statuses)


async def rewrite_tasks(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Set the fields of tasks as their status requires."""
    await _set_tasks(transaction, [(finding, finding.status) for finding in findings])
    await _advance_jobs(transaction, catalogue, findings)


async def park_tasks(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Set tasks of inactive jobs to `new`; distrust the jobs that are finished."""
    await _set_tasks(transaction, [(finding, TaskStatus.NEW) for finding in findings])
    jobs = await lock_jobs(transaction, catalogue, _jobs_of(findings))
    finished = {job.id for job in jobs if job.status in FINISHED_JOBS}
    if finished:
        await distrust_jobs(transaction, catalogue, [each for each in findings if each.job_id in finished])


async def rewrite_jobs(transaction: Transaction, _: Catalogue, findings: Sequence[Finding]) -> None:
    """Set the fields of jobs as their status requires."""
    reason = f"repair: {findings[0].check}"
    rows = [(finding.job_id, finding.status, None) for finding in findings]
    moved = await transaction.run(REPAIR_JOBS, Batch(JOB_COLUMNS, rows), reason=reason)
    await record_repair(
        transaction, [("job", row.id, -1, -1, row.version, row.status, row.status) for row in moved], reason
    )


async def remove_duplicates(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Keep one row per task, the one with the highest token, and distrust the jobs."""
    keys = [finding.task for finding in findings]
    await transaction.run(REPAIR_DUPLICATES, Batch(TaskKey._fields, keys))
    await recount(transaction, sorted({(key.job_id, key.stage, None) for key in keys}))
    await distrust_jobs(transaction, catalogue, findings)


async def recount_stages(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    await recount(transaction, [(finding.job_id, finding.stage, None) for finding in findings])
    await _advance_jobs(transaction, catalogue, findings)


async def recount_limits(transaction: Transaction, _: Catalogue, __: Sequence[Finding]) -> None:
    """Count the tasks of all keys of limits anew."""
    await transaction.run(LOCK)
    await transaction.run(REPAIR_LIMITS)


async def _advance_jobs(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Advance jobs by their repaired counters, under the guards again."""
    await transaction.run(DOCTOR_REPAIRING, on=False)
    await advance(transaction, catalogue, {finding.job_id: {} for finding in findings})


async def set_lanes(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Move ready tasks to the lane of their stage; distrust a job whose needs are unreadable."""
    jobs = {job.id: job for job in await lock_jobs(transaction, catalogue, _jobs_of(findings))}
    moved = []
    for finding in findings:
        lane = await _find_lane(transaction, jobs[finding.job_id], finding.stage)
        if lane is None:
            await distrust_jobs(transaction, catalogue, [finding])
            continue
        await transaction.run(REPAIR_LANE, lane=lane, **finding.task._asdict())
        moved.append((finding, TaskStatus.READY))
    await _set_tasks(transaction, moved)


async def _find_lane(transaction: Transaction, job: LockedJob, stage: int) -> int | None:
    if job.known is None or stage >= len(job.known.graph.stages):
        return None
    graph = job.known.graph
    opening = OpeningStage([job.id], job.known, graph.opening(stage), priority=job.priority)
    try:
        needs = await job_needs(transaction, opening, job.id, opening.opening.needs)
    except BrokenFanOut:
        return None
    return await lane_for(transaction, graph.name, opening.spec.needs | needs, opening.spec)


async def repair_times(transaction: Transaction, _: Catalogue, _findings: Sequence[Finding]) -> None:
    await transaction.run(REPAIR_TIMES)


async def renumber_events(transaction: Transaction, _: Catalogue, _findings: Sequence[Finding]) -> None:
    await transaction.run(REPAIR_RESTORED)


async def remove_orphans(transaction: Transaction, _: Catalogue, findings: Sequence[Finding]) -> None:
    """Delete tasks and stages without a job, and tasks without a stage."""
    rows = await transaction.run(REPAIR_ORPHANS, Batch(TaskKey._fields, [finding.task for finding in findings]))
    events = [
        ("task" if row.part >= 0 else "stage", row.job_id, row.stage, row.part, row.version + 1, row.status, "removed")
        for row in rows
    ]
    await record_repair(transaction, events, "repair: orphans")


async def repair_groups(transaction: Transaction, _: Catalogue, findings: Sequence[Finding]) -> None:
    """Set the outcomes of jobs in their groups; the keeper looks at the groups again."""
    await transaction.run(REPAIR_GROUPS, job_ids=sorted(_jobs_of(findings)))


async def bridge_gaps(transaction: Transaction, _: Catalogue, findings: Sequence[Finding]) -> None:
    """Add the events that are missing between the record of an entity and its row."""
    for finding in findings:
        await _bridge_one(transaction, finding)


async def _bridge_one(transaction: Transaction, finding: Finding) -> None:
    """Bridge the gaps of one entity; mark its job inconsistent where the events contradict each other."""
    entity = finding.check.removeprefix("record_").removesuffix("s")
    key = {"id": finding.job_id, "stage": finding.stage, "part": finding.part}
    record = [RecordedChange(*row) for row in await transaction.run(REPAIR_RECORD, entity=entity, **key)]
    (row,) = await transaction.run(REPAIR_ROW, entity=entity, **key)
    first = 2 if entity == "task" else 1
    initial = MACHINES[entity].initial_states[-1]
    if entity == "task" and record and record[0].version == first:
        initial = record[0].origin or initial
    bridged = bridge(record, first=first, initial=initial, version=row.version, status=row.status)
    events = [(entity, *key.values(), line.version, line.origin, line.target) for line in bridged.changes]
    if events:
        await record_repair(transaction, events, f"repair: {finding.check}")
    await transaction.run(REPAIR_VERSION[entity], version=bridged.version, **key)
    if not events and bridged.version == row.version and entity != "worker":
        await transaction.run(REPAIR_INCONSISTENT, job_id=finding.job_id, inconsistent="its record contradicts itself")


def _jobs_of(findings: Iterable[Finding]) -> set[int]:
    return {finding.job_id for finding in findings}
