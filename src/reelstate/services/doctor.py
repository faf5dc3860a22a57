"""doctor: check every invariant by a query over the whole store, and name the repair of what it finds.

It changes nothing unless asked to. Each repair is recorded as an event of the actor `doctor`: a gap in the events is
bridged, a task gets a status that fits its fields, a job whose state can't be trusted is quarantined. A finished job
is never moved, only marked inconsistent.

Opening a store runs the quick checks, which small indexes answer. Checks of what the guards inside the database make
impossible are among them only where a guard is missing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from reelstate.services import repair
from reelstate.services.catalogue import Catalogue
from reelstate.services.isolation import WHOLE_STORE
from reelstate.services.misplaced import describe_misplaced, repair_misplaced
from reelstate.services.repair import DOCTOR_REPAIRING, GUARDS, Finding, SettingRow
from reelstate.stores.archive import MisplacedJob
from reelstate.stores.store import Statement, Store, Transaction

logger = logging.getLogger("reelstate.doctor")
FINDINGS_LIMIT = 1000
ARCHIVE = "archive"
"""The check of the archive."""

Repair = Callable[[Transaction, Catalogue, Sequence[Finding]], Awaitable[None]]


class FindingRow(NamedTuple):
    """What breaks an invariant; -1 stands for what is not a task or not a stage."""

    job_id: int
    stage: int
    part: int
    status: str
    detail: str


class ClockRow(NamedTuple):
    at: datetime


DOCTOR_PLANNER = Statement("doctor_planner", SettingRow)
DOCTOR_CLOCK = Statement("doctor_clock", ClockRow)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong, and what was wrong and has been repaired."""

    findings: tuple[Finding, ...]
    repaired: tuple[Finding, ...] = ()

    @property
    def healthy(self) -> bool:
        return not self.findings


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """An invariant. The statement `doctor_<name>` finds what breaks it, `repair` restores it as `remedy` describes."""

    name: str
    invariant: str
    remedy: str
    repair: Repair
    quick: bool = False
    """Whether opening a store runs it."""
    guarded: bool = False
    """Whether the guards make it impossible, so that opening a store runs it only where one is missing."""


async def doctor(store: Store, catalogue: Catalogue, *, repair: bool = False) -> Diagnosis:
    """Check the whole store; with `repair`, repair what is found and check again."""
    missing = [_missing_guard(name) for name in await store.missing_guards()]
    findings = tuple(missing + await _run_checks(store, CHECKS) + await _check_archive(store))
    if not repair or not findings:
        return Diagnosis(findings)
    if missing:
        await store.restore_triggers()
    await _repair_all(store, catalogue, findings)
    await _repair_archive(store, findings)
    if missing:
        await store.restore_constraints()
    left = await doctor(store, catalogue)
    return Diagnosis(left.findings, repaired=tuple(finding for finding in findings if finding not in left.findings))


async def check_at_open(store: Store) -> list[Finding]:
    """Run the quick checks and log each finding."""
    findings = await quick_check(store)
    report_findings(findings)
    return findings


async def quick_check(store: Store) -> list[Finding]:
    """Run the checks that small indexes answer."""
    missing = await store.missing_guards()
    quick = [check for check in CHECKS if check.quick and (missing or not check.guarded)]
    return [_missing_guard(name) for name in missing] + await _run_checks(store, quick)


def report_findings(findings: Iterable[Finding]) -> None:
    """Log findings as errors."""
    for finding in findings:
        logger.error(
            "finding check=%s row=%s: %s; run `reel doctor`", finding.check, finding.key or "-", finding.detail
        )


async def _check_archive(store: Store) -> list[Finding]:
    """Find jobs that are in the store and in the archive."""
    try:
        misplaced = await store.archive.misplaced(FINDINGS_LIMIT)
    except WHOLE_STORE:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged month must not hide what the other checks found
        return [Finding(ARCHIVE, -1, -1, -1, "unknown", f"the check failed: {error}")]
    return [Finding(ARCHIVE, job.id, -1, -1, "archived", describe_misplaced(job)) for job in misplaced]


async def _repair_archive(store: Store, findings: Sequence[Finding]) -> None:
    """Leave each job that is in the store and in the archive in one of them."""
    if not any(finding.check == ARCHIVE and finding.job_id >= 0 for finding in findings):
        return
    before: list[MisplacedJob] = []
    while (found := await store.archive.misplaced(FINDINGS_LIMIT)) and found != before:
        await repair_misplaced(store, found)
        before = found
    logger.warning("repaired check=%s: %s", ARCHIVE, REMEDIES[ARCHIVE])


def _missing_guard(name: str) -> Finding:
    return Finding(GUARDS, -1, -1, -1, "missing", name)


async def _run_checks(store: Store, checks: Iterable[DoctorCheck]) -> list[Finding]:
    findings: list[Finding] = []
    for check in checks:
        try:
            findings += await store.survey(_finder(check))
        except WHOLE_STORE:
            raise
        except Exception as error:  # noqa: BLE001 - one bad row must not keep the other checks from running
            findings.append(Finding(check.name, -1, -1, -1, "unknown", f"the check failed: {error}"))
    return findings


def _finder(check: DoctorCheck) -> Callable[[Transaction], Awaitable[list[Finding]]]:
    async def flow(transaction: Transaction) -> list[Finding]:
        await transaction.run(DOCTOR_PLANNER)
        rows = await transaction.run(FIND[check.name], limit=FINDINGS_LIMIT)
        return [Finding(check.name, **row._asdict()) for row in rows]

    return flow


async def _repair_all(store: Store, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Repair check by check, in transactions of their own, what each check finds at that moment."""
    broken = {finding.check for finding in findings}
    for check in CHECKS:
        if check.name in broken:
            before: list[Finding] = []
            while len(found := await _repair(store, check, catalogue)) == FINDINGS_LIMIT and found != before:
                before = found
            logger.warning("repaired check=%s: %s", check.name, check.remedy)


async def _repair(store: Store, check: DoctorCheck, catalogue: Catalogue) -> list[Finding]:
    """Repair what a check finds in one transaction; where that fails, each finding in its own."""
    try:
        return await store.write(_repairer(check, catalogue))
    except WHOLE_STORE:
        raise
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one row, the others are repaired
        logger.warning("repair failed, each finding is repaired alone: check=%s: %s", check.name, error)
    try:
        findings = await store.survey(_finder(check))
    except WHOLE_STORE:
        raise
    except Exception:  # noqa: BLE001 - the check itself fails, as its finding reports
        return []
    for finding in findings:
        try:
            await store.write(_repairer(check, catalogue, only=finding))
        except WHOLE_STORE:
            raise
        except Exception as error:  # noqa: BLE001 - same
            logger.warning("repair failed check=%s row=%s: %s", check.name, finding.key, error)
    return findings


def _repairer(
    check: DoctorCheck, catalogue: Catalogue, only: Finding | None = None
) -> Callable[[Transaction], Awaitable[list[Finding]]]:
    """Repair what a check finds, or the row of one finding, with the guards off."""

    async def flow(transaction: Transaction) -> list[Finding]:
        findings = [each for each in await _finder(check)(transaction) if only is None or each.task == only.task]
        if findings:
            await transaction.run(DOCTOR_REPAIRING, on=True)
            await check.repair(transaction, catalogue, findings)
            await transaction.run(DOCTOR_REPAIRING, on=False)
        return findings

    return flow


CHECKS = (
    DoctorCheck(
        "duplicates",
        "a part has one task",
        "all but the row with the highest token deleted, the job quarantined",
        repair.remove_duplicates,
    ),
    DoctorCheck(
        "unknown_jobs",
        "a job's status is one of the machine's",
        "quarantined, or marked inconsistent if it is finished",
        repair.distrust_jobs,
        quick=True,
    ),
    DoctorCheck(
        "unknown_tasks",
        "a task's status is one of the machine's",
        "set to new and its job quarantined",
        repair.reset_tasks,
        quick=True,
        guarded=True,
    ),
    DoctorCheck(
        "run_without_lease",
        "a running task has a lease",
        "made ready again",
        repair.requeue_tasks,
        quick=True,
        guarded=True,
    ),
    DoctorCheck("unknown_worker", "a lease names a known worker", "made ready again", repair.requeue_tasks, quick=True),
    DoctorCheck(
        "restored",
        "no event has a transaction number from the future",
        "renumbered in their order; cursors start again",
        repair.renumber_events,
        quick=True,
    ),
    DoctorCheck(
        "pipelines",
        "the pipeline of a job is stored",
        "the job quarantined",
        repair.distrust_jobs,
        quick=True,
        guarded=True,
    ),
    DoctorCheck(
        "times",
        "a time is a number (SQLite)",
        "set to the time that its text holds, else to now",
        repair.repair_times,
    ),
    DoctorCheck(
        "lanes",
        "a task waits in a lane that exists",
        "moved to the lane of its stage",
        repair.set_lanes,
        quick=True,
        guarded=True,
    ),
    DoctorCheck("orphans", "a task has a stage and a job", "deleted, with an event", repair.remove_orphans),
    DoctorCheck(
        "attempts", "attempts are within their limit", "the limit raised to the attempts made", repair.rewrite_tasks
    ),
    DoctorCheck("lease_without_run", "only a running task has a lease", "the lease removed", repair.rewrite_tasks),
    DoctorCheck(
        "finished_tasks",
        "finished_at is set exactly when it has finished",
        "the time set or removed",
        repair.rewrite_tasks,
    ),
    DoctorCheck(
        "finished_jobs",
        "finished_at is set exactly when it has finished",
        "the time set or removed",
        repair.rewrite_jobs,
    ),
    DoctorCheck("tokens", "tokens only grow", "raised to the highest token of its events", repair.rewrite_tasks),
    DoctorCheck("counters", "a stage counts its tasks", "recounted", repair.recount_stages),
    DoctorCheck("limits", "a limit counts the tasks that it has admitted", "recounted", repair.recount_limits),
    DoctorCheck("restless", "no task is ready or running in an inactive job", "set to new", repair.park_tasks),
    DoctorCheck("stuck", "an active job has an unfinished open stage", "recounted and advanced", repair.recount_stages),
    DoctorCheck(
        "groups", "a group has the outcomes of its jobs", "set to the statuses of the jobs", repair.repair_groups
    ),
    DoctorCheck(
        "record_jobs", "the events lead to the row, without a gap", "bridged by repair events", repair.bridge_gaps
    ),
    DoctorCheck(
        "record_tasks", "the events lead to the row, without a gap", "bridged by repair events", repair.bridge_gaps
    ),
    DoctorCheck(
        "record_workers", "the events lead to the row, without a gap", "bridged by repair events", repair.bridge_gaps
    ),
)

FIND = {check.name: Statement(f"doctor_{check.name}", FindingRow) for check in CHECKS}
REMEDIES = {
    GUARDS: "restored",
    ARCHIVE: "the older copy deleted, with an event",
    **{check.name: check.remedy for check in CHECKS},
}


async def read_clock(store: Store) -> datetime:
    """Return the time of the database, by which leases expire."""
    (row,) = await store.read(lambda transaction: transaction.run(DOCTOR_CLOCK))
    return row.at
