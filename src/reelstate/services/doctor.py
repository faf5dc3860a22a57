"""doctor: every invariant as a query over the whole store. It names what it finds and what would mend it.

It changes nothing unless told to. Every repair is written to the record by the actor `doctor`: a gap is bridged, a task
is put where its fields make sense, a job whose state can't be trusted is quarantined. A job that has ended is never
moved, only marked suspect. The quick checks are answered by small indexes and run whenever a store is opened.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from reelstate.core.machine import ENDED_JOBS, JobStatus, TaskStatus
from reelstate.core.record import Line, bridge
from reelstate.services.catalogue import Catalogue
from reelstate.services.complete import recount
from reelstate.services.jobs import KNOWN, LockedJob, lock_jobs
from reelstate.services.orchestrate import advance
from reelstate.stores.store import Batch, Row, Store, Transaction

logger = logging.getLogger("reelstate.doctor")
FINDINGS_LIMIT = 1000
EVENT_COLUMNS = ("entity", "id", "stage", "part", "version", "origin", "target")


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where the stored state breaks an invariant."""

    check: str
    job_id: int
    stage: int
    part: int
    status: str
    detail: str

    @property
    def place(self) -> str:
        """The row, as people write it; a worker's is told by the detail."""
        numbers = [self.job_id, self.stage, self.part]
        return "/".join(str(number) for number in numbers if number >= 0)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    findings: tuple[Finding, ...]
    repaired: tuple[Finding, ...] = ()

    @property
    def healthy(self) -> bool:
        return not self.findings


Repair = Callable[[Transaction, Catalogue, Sequence[Finding]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Check:
    """An invariant: the statement that finds what breaks it, and the repair, in words and in deed."""

    name: str
    invariant: str
    remedy: str
    repair: Repair
    quick: bool = False


async def doctor(store: Store, catalogue: Catalogue, *, repair: bool = False, quick: bool = False) -> Diagnosis:
    """Check the store; with `repair`, mend what is found and check again."""
    guards = await store.missing_guards()
    findings = [Finding("guards", -1, -1, -1, "missing", name) for name in guards]
    if guards and repair:
        findings += await _examine(store, quick=quick)
        await _mend(store, catalogue, findings)
        await store.restore_guards()
    else:
        findings += await _examine(store, quick=quick)
        if repair:
            await _mend(store, catalogue, findings)
    if not repair or not findings:
        return Diagnosis(tuple(findings))
    left = await doctor(store, catalogue, quick=quick)
    return Diagnosis(left.findings, repaired=tuple(findings))


async def check_at_open(store: Store) -> list[Finding]:
    """The quick checks, with each finding in the log."""
    findings = await _examine(store, quick=True)
    for finding in findings:
        logger.error("%s %s: %s; run `reel doctor`", finding.check, finding.place, finding.detail)
    return findings


async def _examine(store: Store, *, quick: bool) -> list[Finding]:
    findings: list[Finding] = []
    for check in CHECKS:
        if check.quick or not quick:
            rows = await store.write(_finder(check.name))
            findings += [Finding(check.name, *row) for row in rows]
    return findings


def _finder(name: str) -> Callable[[Transaction], Awaitable[list[Row]]]:
    async def flow(transaction: Transaction) -> list[Row]:
        await transaction.run("doctor_planner")
        return await transaction.run(f"doctor_{name}", limit=FINDINGS_LIMIT)

    return flow


async def _mend(store: Store, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Each check's repair in a transaction of its own, on what that check finds at that moment."""
    broken = {finding.check for finding in findings}
    for check in CHECKS:
        if check.name in broken:
            await store.write(_mender(check, catalogue))
            logger.warning("%s: %s", check.name, check.remedy)


def _mender(check: Check, catalogue: Catalogue) -> Callable[[Transaction], Awaitable[None]]:
    async def flow(transaction: Transaction) -> None:
        rows = await _finder(check.name)(transaction)
        if rows:
            await transaction.run("doctor_repairing", on=True)
            await check.repair(transaction, catalogue, [Finding(check.name, *row) for row in rows])
            await transaction.run("doctor_repairing", on=False)

    return flow


async def _put_tasks(transaction: Transaction, placed: Sequence[tuple[Finding, str]]) -> None:
    """Put tasks into a state, all their fields as it demands, and tell it."""
    if not placed:
        return
    columns = ("job_id", "stage", "part", "status")
    rows = [(finding.job_id, finding.stage, finding.part, status) for finding, status in placed]
    reason = f"repair: {placed[0][0].check}"
    moved = await transaction.run("repair_tasks", Batch(columns, rows), reason=reason)
    origins = {(finding.job_id, finding.stage, finding.part): finding.status for finding, _ in placed}
    told = [("task", *key, version, origins[tuple(key)], status) for *key, version, status in moved]
    await transaction.run("repair_events", Batch(EVENT_COLUMNS, told), reason=reason)
    stages = sorted({(job_id, stage, None) for _, job_id, stage, *_ in told})
    await recount(transaction, stages)


async def _distrust(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Quarantine jobs whose state can't be trusted; mark those suspect that have ended."""
    jobs = await lock_jobs(transaction, catalogue, {finding.job_id for finding in findings})
    reason = f"repair: {findings[0].check}"
    rows = [(job.id, *await _distrusted(transaction, job, reason)) for job in jobs]
    origins = {finding.job_id: finding.status for finding in findings if finding.stage < 0}
    origins = {job.id: str(job.status or origins[job.id]) for job in jobs}
    moved = await transaction.run("repair_jobs", Batch(("id", "status", "suspect"), rows), reason=reason)
    told = [("job", job_id, -1, -1, version, origins[job_id], status) for job_id, version, status in moved]
    await transaction.run("repair_events", Batch(EVENT_COLUMNS, told), reason=reason)
    resting = [job_id for job_id, status, _ in rows if status == JobStatus.QUARANTINED]
    if resting:
        await _park(transaction, resting, reason)


async def _distrusted(transaction: Transaction, job: LockedJob, reason: str) -> tuple[str, str | None]:
    status = job.status
    if status is None:
        told = await transaction.run("repair_record", entity="job", id=job.id, stage=-1, part=-1)
        status = KNOWN.get(told[-1][2]) if told else None
    return (status, reason) if status in ENDED_JOBS else (JobStatus.QUARANTINED, None)


async def _park(transaction: Transaction, job_ids: Sequence[int], reason: str) -> None:
    """What waits or runs in a quarantined job goes back to `new`."""
    rows = await transaction.run("repair_restless", job_ids=sorted(job_ids))
    await _put_tasks(transaction, [(Finding(reason.removeprefix("repair: "), *row, ""), "new") for row in rows])


async def _unknown_tasks(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    await _put_tasks(transaction, [(finding, TaskStatus.NEW) for finding in findings])
    await _distrust(transaction, catalogue, findings)


async def _requeue(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    jobs = {job.id: job for job in await lock_jobs(transaction, catalogue, {finding.job_id for finding in findings})}
    placed = [(f, TaskStatus.READY if jobs[f.job_id].active else TaskStatus.NEW) for f in findings if f.job_id in jobs]
    await _put_tasks(transaction, placed)


async def _normalise(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    await _put_tasks(transaction, [(finding, finding.status) for finding in findings])
    await _settle_jobs(transaction, catalogue, findings)


async def _to_new(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    await _put_tasks(transaction, [(finding, TaskStatus.NEW) for finding in findings])
    ended = [job for job in await lock_jobs(transaction, catalogue, {f.job_id for f in findings}) if job.status in ENDED_JOBS]
    if ended:
        await _distrust(transaction, catalogue, [f for f in findings if f.job_id in {job.id for job in ended}])


async def _normalise_jobs(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    reason = f"repair: {findings[0].check}"
    rows = [(finding.job_id, finding.status, None) for finding in findings]
    moved = await transaction.run("repair_jobs", Batch(("id", "status", "suspect"), rows), reason=reason)
    told = [("job", job_id, -1, -1, version, status, status) for job_id, version, status in moved]
    await transaction.run("repair_events", Batch(EVENT_COLUMNS, told), reason=reason)


async def _deduplicate(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    keys = [(finding.job_id, finding.stage, finding.part) for finding in findings]
    await transaction.run("repair_duplicates", Batch(("job_id", "stage", "part"), keys))
    await recount(transaction, sorted({(job_id, stage, None) for job_id, stage, _ in keys}))
    await _distrust(transaction, catalogue, findings)


async def _recount(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    await recount(transaction, [(finding.job_id, finding.stage, None) for finding in findings])
    await _settle_jobs(transaction, catalogue, findings)


async def _settle_jobs(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """What the mended counters allow happens now, under the guards again."""
    await transaction.run("doctor_repairing", on=False)
    await advance(transaction, catalogue, {finding.job_id: {} for finding in findings})


async def _remove_orphans(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    keys = [(finding.job_id, finding.stage, finding.part) for finding in findings]
    gone = await transaction.run("repair_orphans", Batch(("job_id", "stage", "part"), keys))
    told = [("task", *key, version + 1, status, "removed") for *key, version, status in gone]
    await transaction.run("repair_events", Batch(EVENT_COLUMNS, told), reason="repair: orphans")


async def _bridge(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    for finding in findings:
        await _bridge_one(transaction, catalogue, finding)


async def _bridge_one(transaction: Transaction, catalogue: Catalogue, finding: Finding) -> None:
    """Bridge the gaps of one entity; where the lines themselves contradict each other, its job is marked suspect."""
    entity = finding.check.removeprefix("record_").removesuffix("s")
    place = {"id": finding.job_id, "stage": finding.stage, "part": finding.part}
    told = [Line(*row) for row in await transaction.run("repair_record", entity=entity, **place)]
    ((version, status),) = await transaction.run("repair_row", entity=entity, **place)
    birth, first = (TaskStatus.READY, 2) if entity == "task" else (JobStatus.PENDING, 1)
    if entity == "task" and told:
        birth = TaskStatus(told[0].origin or birth) if told[0].version == first else birth
    bridged = bridge(told, first=first, birth=birth, version=version, status=status)
    rows = [(entity, *place.values(), line.version, line.origin, line.target) for line in bridged.lines]
    if rows:
        await transaction.run("repair_events", Batch(EVENT_COLUMNS, rows), reason=f"repair: {finding.check}")
    await transaction.run(f"repair_version_{entity}", version=bridged.version, **place)
    if not rows and bridged.version == version and entity != "worker":
        await transaction.run("repair_suspect", job_id=finding.job_id, suspect="its record contradicts itself")


CHECKS = (
    Check("unknown_jobs", "a job's status is one of the machine's", "quarantined, or marked suspect if it had ended", _distrust, quick=True),
    Check("unknown_tasks", "a task's status is one of the machine's", "put back to new and its job quarantined", _unknown_tasks, quick=True),
    Check("run_without_lease", "a running task has a lease", "made ready again", _requeue, quick=True),
    Check("unknown_worker", "a lease names a known worker", "made ready again", _requeue, quick=True),
    Check("duplicates", "a part has one task", "the one that got furthest kept, its job quarantined", _deduplicate),
    Check("orphans", "a task has a stage and a job", "removed, and kept in the record", _remove_orphans),
    Check("attempts", "attempts are within their limit", "the limit raised to what was counted", _normalise),
    Check("lease_without_run", "only a running task has a lease", "the lease removed", _normalise),
    Check("finished_tasks", "finished_at tells what has finished", "the time set or removed", _normalise),
    Check("finished_jobs", "finished_at tells what has finished", "the time set or removed", _normalise_jobs),
    Check("tokens", "tokens only grow", "raised to the highest that was given out", _normalise),
    Check("counters", "a stage counts its tasks", "counted again", _recount),
    Check("restless", "nothing waits or runs in a job at rest", "put back to new", _to_new),
    Check("stuck", "a job at work has something that can move", "moved on", _recount),
    Check("record_jobs", "the events give the row, without a gap", "bridged by repair events", _bridge),
    Check("record_tasks", "the events give the row, without a gap", "bridged by repair events", _bridge),
    Check("record_workers", "the events give the row, without a gap", "bridged by repair events", _bridge),
)  # fmt: skip

REMEDIES = {"guards": "put back", **{check.name: check.remedy for check in CHECKS}}
