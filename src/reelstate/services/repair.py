"""Repairs: what doctor does about each kind of finding. The guards stand aside; every change is told as `doctor`'s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reelstate.core.machine import FINISHED_JOBS, MACHINES, JobStatus, TaskStatus
from reelstate.core.record import Line, bridge
from reelstate.services.catalogue import Catalogue, lane_for
from reelstate.services.complete import recount
from reelstate.services.jobs import KNOWN, LockedJob, lock_jobs
from reelstate.services.orchestrate import advance
from reelstate.services.stages import BrokenFanOut, OpeningStage, job_needs
from reelstate.stores.store import Batch, Transaction

EVENT_COLUMNS = ("entity", "id", "stage", "part", "version", "origin", "target")


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where the stored state breaks an invariant, or a check that could not be run."""

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


async def distrust(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Quarantine jobs whose state can't be trusted; mark the finished ones as inconsistent."""
    jobs = await lock_jobs(transaction, catalogue, {finding.job_id for finding in findings})
    reason = f"repair: {findings[0].check}"
    rows = [(job.id, *await _distrusted(transaction, job, reason)) for job in jobs]
    origins = {finding.job_id: finding.status for finding in findings if finding.stage < 0}
    origins = {job.id: str(job.status or origins[job.id]) for job in jobs}
    moved = await transaction.run("repair_jobs", Batch(("id", "status", "inconsistent"), rows), reason=reason)
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
    return (status, reason) if status in FINISHED_JOBS else (JobStatus.QUARANTINED, None)


async def _park(transaction: Transaction, job_ids: Sequence[int], reason: str) -> None:
    """What waits or runs in a quarantined job goes back to `new`."""
    check = reason.removeprefix("repair: ")
    rows = await transaction.run("repair_restless", job_ids=sorted(job_ids))
    findings = [Finding(check, job_id, stage, part, status, "") for job_id, stage, part, status in rows]
    await _put_tasks(transaction, [(finding, TaskStatus.NEW) for finding in findings])


async def forget_status(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    await _put_tasks(transaction, [(finding, TaskStatus.NEW) for finding in findings])
    await distrust(transaction, catalogue, findings)


async def requeue(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    jobs = {job.id: job for job in await lock_jobs(transaction, catalogue, {finding.job_id for finding in findings})}
    placed = [(f, TaskStatus.READY if jobs[f.job_id].active else TaskStatus.NEW) for f in findings if f.job_id in jobs]
    await _put_tasks(transaction, placed)


async def normalise(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    await _put_tasks(transaction, [(finding, finding.status) for finding in findings])
    await _settle_jobs(transaction, catalogue, findings)


async def put_back(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    await _put_tasks(transaction, [(finding, TaskStatus.NEW) for finding in findings])
    ended = [
        job
        for job in await lock_jobs(transaction, catalogue, {f.job_id for f in findings})
        if job.status in FINISHED_JOBS
    ]
    if ended:
        await distrust(transaction, catalogue, [f for f in findings if f.job_id in {job.id for job in ended}])


async def normalise_jobs(transaction: Transaction, _: Catalogue, findings: Sequence[Finding]) -> None:
    reason = f"repair: {findings[0].check}"
    rows = [(finding.job_id, finding.status, None) for finding in findings]
    moved = await transaction.run("repair_jobs", Batch(("id", "status", "inconsistent"), rows), reason=reason)
    told = [("job", job_id, -1, -1, version, status, status) for job_id, version, status in moved]
    await transaction.run("repair_events", Batch(EVENT_COLUMNS, told), reason=reason)


async def deduplicate(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    keys = [(finding.job_id, finding.stage, finding.part) for finding in findings]
    await transaction.run("repair_duplicates", Batch(("job_id", "stage", "part"), keys))
    await recount(transaction, sorted({(job_id, stage, None) for job_id, stage, _ in keys}))
    await distrust(transaction, catalogue, findings)


async def count_again(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    await recount(transaction, [(finding.job_id, finding.stage, None) for finding in findings])
    await _settle_jobs(transaction, catalogue, findings)


async def _settle_jobs(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """What the mended counters allow happens now, under the guards again."""
    await transaction.run("doctor_repairing", on=False)
    await advance(transaction, catalogue, {finding.job_id: {} for finding in findings})


async def set_lanes(transaction: Transaction, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Put ready tasks into the lane of their stage; a job whose needs can't be read any more is quarantined."""
    jobs = {job.id: job for job in await lock_jobs(transaction, catalogue, {finding.job_id for finding in findings})}
    placed = []
    for finding in findings:
        lane = await _lane(transaction, jobs[finding.job_id], finding.stage)
        if lane is None:
            await distrust(transaction, catalogue, [finding])
            continue
        place = {"job_id": finding.job_id, "stage": finding.stage, "part": finding.part}
        await transaction.run("repair_lane", lane=lane, **place)
        placed.append((finding, TaskStatus.READY))
    await _put_tasks(transaction, placed)


async def _lane(transaction: Transaction, job: LockedJob, stage: int) -> int | None:
    if job.known is None or stage >= len(job.known.graph.stages):
        return None
    graph = job.known.graph
    opening = OpeningStage([job.id], job.known, graph.opening(stage), priority=job.priority)
    try:
        needs = await job_needs(transaction, opening, job.id, opening.opening.needs)
    except BrokenFanOut:
        return None
    return await lane_for(transaction, graph.name, opening.spec.needs | needs, opening.spec)


async def set_times(transaction: Transaction, _: Catalogue, _findings: Sequence[Finding]) -> None:
    await transaction.run("repair_times")


async def renumber(transaction: Transaction, _: Catalogue, _findings: Sequence[Finding]) -> None:
    await transaction.run("repair_restored")


async def remove_orphans(transaction: Transaction, _: Catalogue, findings: Sequence[Finding]) -> None:
    keys = [(finding.job_id, finding.stage, finding.part) for finding in findings]
    gone = await transaction.run("repair_orphans", Batch(("job_id", "stage", "part"), keys))
    told = [
        ("task" if key[2] >= 0 else "stage", *key, version + 1, status, "removed") for *key, version, status in gone
    ]
    await transaction.run("repair_events", Batch(EVENT_COLUMNS, told), reason="repair: orphans")


async def bridge_gaps(transaction: Transaction, _: Catalogue, findings: Sequence[Finding]) -> None:
    for finding in findings:
        await _bridge_one(transaction, finding)


async def _bridge_one(transaction: Transaction, finding: Finding) -> None:
    """Bridge the gaps of one entity; mark its job as inconsistent where the events contradict each other."""
    entity = finding.check.removeprefix("record_").removesuffix("s")
    place = {"id": finding.job_id, "stage": finding.stage, "part": finding.part}
    told = [Line(*row) for row in await transaction.run("repair_record", entity=entity, **place)]
    ((version, status),) = await transaction.run("repair_row", entity=entity, **place)
    first = 2 if entity == "task" else 1
    birth = MACHINES[entity].births[-1]
    if entity == "task" and told and told[0].version == first:
        birth = told[0].origin or birth
    bridged = bridge(told, first=first, birth=birth, version=version, status=status)
    rows = [(entity, *place.values(), line.version, line.origin, line.target) for line in bridged.lines]
    if rows:
        await transaction.run("repair_events", Batch(EVENT_COLUMNS, rows), reason=f"repair: {finding.check}")
    await transaction.run(f"repair_version_{entity}", version=bridged.version, **place)
    if not rows and bridged.version == version and entity != "worker":
        await transaction.run(
            "repair_inconsistent", job_id=finding.job_id, inconsistent="its record contradicts itself"
        )
