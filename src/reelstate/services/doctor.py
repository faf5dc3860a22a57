"""doctor: every invariant as a query over the whole store. It names what it finds and what would mend it.

It changes nothing unless told to. Every repair is written to the record by the actor `doctor`: a gap is bridged, a task
is put where its fields make sense, a job whose state can't be trusted is quarantined. A job that has ended is never
moved, only marked inconsistent.

Whenever a store is opened, the checks run that small indexes answer. What the guards inside the database make
impossible is looked for only where a guard is missing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from reelstate.services import repair
from reelstate.services.catalogue import Catalogue
from reelstate.services.isolation import WHOLE_STORE
from reelstate.services.repair import Finding
from reelstate.stores.store import Row, Store, Transaction

logger = logging.getLogger("reelstate.doctor")
FINDINGS_LIMIT = 1000
GUARDS = "guards"

Repair = Callable[[Transaction, Catalogue, Sequence[Finding]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong, and what was wrong and has been mended."""

    findings: tuple[Finding, ...]
    repaired: tuple[Finding, ...] = ()

    @property
    def healthy(self) -> bool:
        return not self.findings


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """An invariant: the statement `doctor_<name>` finds what breaks it; the repair, in words and in deed."""

    name: str
    invariant: str
    remedy: str
    repair: Repair
    quick: bool = False
    """Run whenever a store is opened: answered by a small index, or …"""
    guarded: bool = False
    """… impossible while the guards stand, so looked for only where one is missing."""


async def doctor(store: Store, catalogue: Catalogue, *, mend: bool = False) -> Diagnosis:
    """Check the whole store; with `mend`, repair what is found and check again."""
    missing = [Finding(GUARDS, -1, -1, -1, "missing", name) for name in await store.missing_guards()]
    findings = tuple(missing + await _examine(store, CHECKS))
    if not findings or not mend:
        return Diagnosis(findings)
    if missing:
        await store.restore_triggers()
    await _mend(store, catalogue, findings)
    if missing:
        await store.restore_constraints()
    left = await doctor(store, catalogue)
    return Diagnosis(left.findings, repaired=tuple(finding for finding in findings if finding not in left.findings))


async def check_at_open(store: Store) -> list[Finding]:
    """The quick checks, with each finding in the log."""
    findings = await quick_check(store)
    report_findings(findings)
    return findings


async def quick_check(store: Store) -> list[Finding]:
    """The checks that small indexes answer."""
    missing = await store.missing_guards()
    findings = [Finding(GUARDS, -1, -1, -1, "missing", name) for name in missing]
    quick = [check for check in CHECKS if check.quick and (missing or not check.guarded)]
    return findings + await _examine(store, quick)


def report_findings(findings: Iterable[Finding]) -> None:
    for finding in findings:
        logger.error("%s %s: %s; run `reel doctor`", finding.check, finding.place, finding.detail)


async def _examine(store: Store, checks: Iterable[DoctorCheck]) -> list[Finding]:
    findings: list[Finding] = []
    for check in checks:
        try:
            rows = await store.survey(_finder(check.name))
        except WHOLE_STORE:
            raise
        except Exception as error:  # noqa: BLE001 - one bad row must not keep the other checks from running
            rows = [(-1, -1, -1, "unknown", f"the check failed: {error}")]
        findings += [Finding(check.name, *row) for row in rows]
    return findings


def _finder(name: str) -> Callable[[Transaction], Awaitable[list[Row]]]:
    async def flow(transaction: Transaction) -> list[Row]:
        await transaction.run("doctor_planner")
        return await transaction.run(f"doctor_{name}", limit=FINDINGS_LIMIT)

    return flow


async def _mend(store: Store, catalogue: Catalogue, findings: Sequence[Finding]) -> None:
    """Each check's repair in transactions of its own, on what that check finds at that moment."""
    broken = {finding.check for finding in findings}
    for check in CHECKS:
        if check.name in broken:
            before: list[Row] = []
            while len(rows := await _repair(store, check, catalogue)) == FINDINGS_LIMIT and rows != before:
                before = rows
            logger.warning("%s: %s", check.name, check.remedy)


async def _repair(store: Store, check: DoctorCheck, catalogue: Catalogue) -> list[Row]:
    """Repair what a check finds in one transaction; where that fails, each finding in one of its own."""
    try:
        return await store.write(_mender(check, catalogue))
    except WHOLE_STORE:
        raise
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one row, the others are repaired
        logger.warning("repair failed, each finding is repaired alone: check=%s: %s", check.name, error)
    try:
        rows = await store.survey(_finder(check.name))
    except WHOLE_STORE:
        raise
    except Exception:  # noqa: BLE001 - the check itself fails, as its finding says
        return []
    for row in rows:
        try:
            await store.write(_mender(check, catalogue, only=row))
        except WHOLE_STORE:
            raise
        except Exception as error:  # noqa: BLE001 - same
            place = Finding(check.name, *row).place
            logger.warning("repair failed check=%s row=%s: %s", check.name, place, error)
    return rows


def _mender(
    check: DoctorCheck, catalogue: Catalogue, only: Row | None = None
) -> Callable[[Transaction], Awaitable[list[Row]]]:
    """Repair what a check finds, or one row of it, with the guards off."""

    async def flow(transaction: Transaction) -> list[Row]:
        rows = [row for row in await _finder(check.name)(transaction) if only is None or row[:3] == only[:3]]
        if rows:
            await transaction.run("doctor_repairing", on=True)
            await check.repair(transaction, catalogue, [Finding(check.name, *row) for row in rows])
            await transaction.run("doctor_repairing", on=False)
        return rows

    return flow


CHECKS = (
    DoctorCheck(
        "duplicates",
        "a part has one task",
        "the one that got furthest kept, its job quarantined",
        repair.deduplicate,
    ),
    DoctorCheck(
        "unknown_jobs",
        "a job's status is one of the machine's",
        "quarantined, or marked inconsistent if it had ended",
        repair.distrust,
        quick=True,
    ),
    DoctorCheck(
        "unknown_tasks",
        "a task's status is one of the machine's",
        "put back to new and its job quarantined",
        repair.forget_status,
        quick=True,
        guarded=True,
    ),
    DoctorCheck(
        "run_without_lease",
        "a running task has a lease",
        "made ready again",
        repair.requeue,
        quick=True,
        guarded=True,
    ),
    DoctorCheck("unknown_worker", "a lease names a known worker", "made ready again", repair.requeue, quick=True),
    DoctorCheck(
        "restored",
        "events are no younger than their server",
        "renumbered in their order; cursors start again",
        repair.renumber,
        quick=True,
    ),
    DoctorCheck(
        "pipelines",
        "the pipeline of a job is stored",
        "the job quarantined",
        repair.distrust,
        quick=True,
        guarded=True,
    ),
    DoctorCheck(
        "times",
        "an instant is a number (SQLite)",
        "set to the time that its text names, else to now",
        repair.set_times,
    ),
    DoctorCheck(
        "lanes",
        "a task waits in a lane that exists",
        "put into the lane of its stage",
        repair.set_lanes,
        quick=True,
        guarded=True,
    ),
    DoctorCheck("orphans", "a task has a stage and a job", "removed, and kept in the record", repair.remove_orphans),
    DoctorCheck(
        "attempts", "attempts are within their limit", "the limit raised to what was counted", repair.normalise
    ),
    DoctorCheck("lease_without_run", "only a running task has a lease", "the lease removed", repair.normalise),
    DoctorCheck("finished_tasks", "finished_at tells what has finished", "the time set or removed", repair.normalise),
    DoctorCheck(
        "finished_jobs", "finished_at tells what has finished", "the time set or removed", repair.normalise_jobs
    ),
    DoctorCheck("tokens", "tokens only grow", "raised to the highest that was given out", repair.normalise),
    DoctorCheck("counters", "a stage counts its tasks", "counted again", repair.count_again),
    DoctorCheck("restless", "nothing waits or runs in a job at rest", "put back to new", repair.put_back),
    DoctorCheck("stuck", "a job at work has something that can move", "moved on", repair.count_again),
    DoctorCheck(
        "record_jobs", "the events give the row, without a gap", "bridged by repair events", repair.bridge_gaps
    ),
    DoctorCheck(
        "record_tasks", "the events give the row, without a gap", "bridged by repair events", repair.bridge_gaps
    ),
    DoctorCheck(
        "record_workers", "the events give the row, without a gap", "bridged by repair events", repair.bridge_gaps
    ),
)

REMEDIES = {GUARDS: "put back", **{check.name: check.remedy for check in CHECKS}}


async def read_clock(store: Store) -> datetime:
    """The time by the clock that leases go by: the database's."""

    async def flow(transaction: Transaction) -> datetime:
        ((now,),) = await transaction.run("doctor_clock")
        return now if isinstance(now, datetime) else datetime.fromtimestamp(now, UTC)

    return await store.read(flow)
