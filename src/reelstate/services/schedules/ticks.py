"""Run the ticks of schedules: each makes one job, whoever looks and whatever dies.

A tick is run by the transaction that moves the schedule's row past it. That statement names the version and the tick
that were read, so of several keepers one runs it, and a keeper that dies before the commit has run nothing. The job's
idempotency key is `schedule:NAME:TIME`; once is once without it, because keys expire.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from reelstate.core.document import LIMITS, DocumentLimits, shorten
from reelstate.core.errors import (
    ReelstateError,
    SchemaMismatch,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from reelstate.core.machine import ACTIVE_JOBS, Actor
from reelstate.core.model import Submission, Submitted, Verdict
from reelstate.core.schedule import CatchUp, Overlap, RunOutcome, RunSource
from reelstate.services.catalogue import Catalogue
from reelstate.services.extension import NO_EXTENSION, Extension
from reelstate.services.operate.cancel import cancel_in
from reelstate.services.operate.operation import Operation
from reelstate.services.schedules.definition import DueRow, RunRow, submission_of, tick_text, timing_of
from reelstate.services.schedules.timing import Plan, Timing
from reelstate.services.submit import CheckedRequest, check, submit_in
from reelstate.services.webhooks.address import NO_PRIVATE_HOSTS, AddressRules
from reelstate.stores.store import Batch, NoRow, Row, Statement, Store, Transaction

logger = logging.getLogger("reelstate.schedules")

MAX_QUEUED: Final = 1000
"""Runs of one schedule that wait; later ones are skipped."""
MAX_DUE: Final = 500
"""Schedules that one query reads."""
MAX_ROUNDS: Final = 20
REASON_LIMIT: Final = 500
RUN_COLUMNS: Final = ("key", "tick", "source", "outcome", "job_id", "reason")
OUTAGES: Final = (StoreUnavailable, StoreFull, StoreReadOnly, SchemaMismatch)
"""Errors that concern the store, not one schedule."""


class ScheduleId(NamedTuple):
    id: int


DUE: Statement[Any] = Statement("schedules_due", DueRow)
WAITING: Statement[Any] = Statement("schedules_waiting", DueRow)
ADVANCE = Statement("schedules_advance", ScheduleId)
ACTIVE = Statement("schedules_active", ScheduleId)
QUEUED = Statement("schedules_queued", RunRow)
ADD_RUNS = Statement("schedules_add_runs", NoRow)


class OutdatedVersion(Exception):
    """The pipeline has another current version than was looked up; the transaction is rolled back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """What came of ticks: the jobs that were created, with their submissions, and those that were cancelled."""

    created: list[tuple[int, Submission]] = field(default_factory=list)
    cancelled: set[int] = field(default_factory=set)
    runs: int = 0
    """Ticks that this call has decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitter:
    """What is needed to submit a job inside a transaction."""

    store: Store
    catalogue: Catalogue
    limits: DocumentLimits = LIMITS
    extension: Extension = NO_EXTENSION
    rules: AddressRules = NO_PRIVATE_HOSTS

    async def check(self, submission: Submission, *, refresh: bool = False) -> CheckedRequest:
        """Check a submission. Raises `InvalidRequest`."""
        (request,) = await check(self.store, self.catalogue, [submission], self.limits, self.rules, refresh=refresh)
        return request

    async def submit(self, transaction: Transaction, request: CheckedRequest, keys: Sequence[str]) -> list[Submitted]:
        """Create a job for each idempotency key. Raises `OutdatedVersion`."""
        if not keys:
            return []
        requests = [replace(request, key=key) for key in keys]
        answers = await submit_in(transaction, self.catalogue, self.extension, requests)
        if answers is None:
            raise OutdatedVersion
        return answers


@dataclass(slots=True)
class Decision:
    """What becomes of some runs of one schedule."""

    submit: list[RunRow] = field(default_factory=list)
    others: list[Row] = field(default_factory=list)
    """Rows of runs without a job."""
    cancel: bool = False


def run_key(name: str, key: str) -> str:
    """Return the idempotency key of a run."""
    return f"schedule:{name}:{key}"


def row_of(run: RunRow, outcome: RunOutcome, job_id: int | None = None, reason: str | None = None) -> Row:
    """Return a row for `RUN_COLUMNS`."""
    return (run.key, run.tick.timestamp(), run.source, outcome, job_id, reason)


def new_run(tick: datetime, source: RunSource, key: str | None = None) -> RunRow:
    """Return a run that nothing is known of yet."""
    return RunRow(0, key or tick_text(tick), tick, source, RunOutcome.QUEUED, None, None, None, tick)


def decide(overlap: Overlap, runs: Sequence[RunRow], active: Collection[int], queued: int) -> Decision:
    """Decide which runs make a job now, in the order of their ticks."""
    if overlap is Overlap.ALLOW:
        return Decision(submit=list(runs))
    if overlap is Overlap.CANCEL_OTHER:
        reason = "a later tick took its place"
        skipped = [row_of(run, RunOutcome.SKIPPED, reason=reason) for run in runs[:-1]]
        return Decision(submit=list(runs[-1:]), others=skipped, cancel=bool(active))
    decision = Decision()
    busy = bool(active) or queued > 0
    room = {Overlap.SKIP: 0, Overlap.QUEUE_ONE: 1, Overlap.QUEUE_ALL: MAX_QUEUED}[overlap] - queued
    for run in runs:
        if not busy:
            decision.submit.append(run)
            busy = True
        elif room > 0:
            decision.others.append(row_of(run, RunOutcome.QUEUED, reason="a job of an earlier tick is active"))
            room -= 1
        else:
            full = "too many ticks wait" if overlap is not Overlap.SKIP else "a job of an earlier tick is active"
            decision.others.append(row_of(run, RunOutcome.SKIPPED, reason=full))
    return decision


async def apply_decision(
    transaction: Transaction, submitter: Submitter, schedule: Any, request: CheckedRequest, decision: Decision
) -> Ticked:
    """Submit, cancel and record what was decided, in the transaction that holds the schedule's row."""
    ticked = Ticked(runs=len(decision.submit) + len(decision.others))
    if decision.cancel:
        active = await active_jobs(transaction, schedule.id)
        reason = f"the next run of schedule {schedule.name} takes its place"
        operation = Operation(job_ids=active, actor=Actor.USER, reason=reason)
        outcomes = await cancel_in(transaction, submitter.catalogue, operation)
        ticked.cancelled.update(each.job_id for each in outcomes if each.verdict is Verdict.OK)
    keys = [run_key(schedule.name, run.key) for run in decision.submit]
    answers = await submitter.submit(transaction, request, keys)
    submission = submission_of(schedule._asdict(), schedule.spec)
    ticked.created.extend((each.job_id, submission) for each in answers if each.verdict is Verdict.OK)
    rows = [
        row_of(run, RunOutcome.SUBMITTED, answer.job_id) for run, answer in zip(decision.submit, answers, strict=True)
    ]
    await add_runs(transaction, schedule.id, [*rows, *decision.others])
    return ticked


async def active_jobs(transaction: Transaction, schedule_id: int) -> list[int]:
    """Return the jobs of a schedule that are active."""
    rows = await transaction.run(ACTIVE, id=schedule_id, statuses=list(ACTIVE_JOBS))
    return [row.id for row in rows]


async def add_runs(transaction: Transaction, schedule_id: int, rows: Sequence[Row]) -> None:
    """Record what became of runs."""
    if rows:
        await transaction.run(ADD_RUNS, Batch(RUN_COLUMNS, rows), id=schedule_id)


async def run_due(submitter: Submitter, on_ticked: Callable[[Ticked], None]) -> int:
    """Run every tick that is due, and queued runs whose turn it is; return the number of runs that were decided.

    A schedule that can't be run is recorded as failed and stops no other. `on_ticked` is called after each commit.
    """
    decided = 0
    waiting = {"limit": MAX_DUE, "statuses": list(ACTIVE_JOBS)}
    for statement, terms, run in ((DUE, {"limit": MAX_DUE}, _run_ticks), (WAITING, waiting, _run_queued)):
        for _ in range(MAX_ROUNDS):
            rows: list[Any] = await submitter.store.read(
                lambda transaction, statement=statement, terms=terms: transaction.run(statement, **terms)  # type: ignore[misc]
            )
            done = 0
            for row in rows:
                ticked = await _isolated(run, submitter, row)
                on_ticked(ticked)
                done += ticked.runs
            decided += done
            if not done:
                break
    return decided


async def _isolated(run: Callable[[Submitter, Any], Any], submitter: Submitter, row: Any) -> Ticked:
    """Run one schedule; an error that concerns it alone is logged."""
    try:
        ticked: Ticked = await run(submitter, row)
    except OUTAGES:
        raise
    except Exception:
        logger.exception("schedule failed name=%s", row.name)
        return Ticked()
    return ticked


async def _run_ticks(submitter: Submitter, row: Any) -> Ticked:
    """Run the due ticks of a schedule."""
    try:
        timing = timing_of(row.name, row._asdict())
        plan = timing.plan(row.next_tick, row.at, CatchUp(row.catch_up), row.catch_up_window)
    except (ReelstateError, ValueError) as error:  # manual SQL may have written anything
        stopped, cause = Plan(ticks=(row.next_tick,), missed=None, next_tick=None), error
        return await submitter.store.write(lambda transaction: _fail(transaction, row, None, stopped, cause))
    runs = [new_run(tick, RunSource.TICK) for tick in plan.ticks]

    async def flow(transaction: Transaction, request: CheckedRequest | None) -> Ticked:
        if not await _advance(transaction, row, timing, plan):
            return Ticked()
        await _record_missed(transaction, row, plan)
        if request is None:
            return Ticked(runs=1)
        overlap = Overlap(row.overlap)
        active, queued = [], 0
        if overlap is not Overlap.ALLOW:
            active = await active_jobs(transaction, row.id)
            queued = len(await transaction.run(QUEUED, id=row.id, limit=MAX_QUEUED))
        decision = decide(overlap, runs, active, queued)
        return await apply_decision(transaction, submitter, row, request, decision)

    async def fail(error: Exception) -> Ticked:
        return await submitter.store.write(lambda transaction: _fail(transaction, row, timing, plan, error))

    if not runs:
        return await submitter.store.write(lambda transaction: flow(transaction, None))
    return await _with_request(submitter, row, flow, fail)


async def _run_queued(submitter: Submitter, row: Any) -> Ticked:
    """Submit the oldest queued run of a schedule if none of its jobs is active."""
    oldest: list[RunRow] = []

    async def flow(transaction: Transaction, request: CheckedRequest) -> Ticked:
        oldest[:] = []
        if not await _hold(transaction, row) or await active_jobs(transaction, row.id):
            return Ticked()
        oldest[:] = await transaction.run(QUEUED, id=row.id, limit=1)
        return await apply_decision(transaction, submitter, row, request, Decision(submit=list(oldest)))

    async def fail(error: Exception) -> Ticked:
        async def record(transaction: Transaction) -> Ticked:
            if not await _hold(transaction, row):
                return Ticked()
            queued = await transaction.run(QUEUED, id=row.id, limit=1)
            rows = [row_of(run, RunOutcome.FAILED, reason=reason_of(error)) for run in queued]
            await add_runs(transaction, row.id, rows)
            return Ticked(runs=len(rows))

        return await submitter.store.write(record)

    return await _with_request(submitter, row, flow, fail)


async def _with_request(
    submitter: Submitter,
    row: Any,
    flow: Callable[[Transaction, CheckedRequest], Any],
    fail: Callable[[Exception], Any],
) -> Ticked:
    """Run a flow with the checked submission of a schedule; where that is refused, record why."""
    submission = replace(submission_of(row._asdict(), row.spec), idempotency_key="checked in the flow")
    refresh = False
    while True:
        try:
            request = await submitter.check(submission, refresh=refresh)
            ticked: Ticked = await submitter.store.write(
                lambda transaction, request=request: flow(transaction, request)  # type: ignore[misc]
            )
        except OutdatedVersion:
            refresh = True
        except OUTAGES:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one schedule, others must be run
            logger.warning("schedule refused name=%s error=%s", row.name, reason_of(error))
            failed: Ticked = await fail(error)
            return failed
        else:
            return ticked


async def _advance(transaction: Transaction, row: Any, timing: Timing | None, plan: Plan) -> bool:
    """Move a schedule past the ticks of a plan; return whether this transaction does."""
    next_tick = plan.next_tick
    next_run_at = None if next_tick is None or timing is None else timing.run_at(next_tick)
    moved = await transaction.run(
        ADVANCE, id=row.id, version=row.version, expected=row.next_tick, next_tick=next_tick, next_run_at=next_run_at
    )
    return bool(moved)


async def _hold(transaction: Transaction, row: Any) -> bool:
    """Lock a schedule that nobody has changed since it was read."""
    held = await transaction.run(
        ADVANCE,
        id=row.id,
        version=row.version,
        expected=row.next_tick,
        next_tick=row.next_tick,
        next_run_at=row.next_run_at,
    )
    return bool(held)


async def _record_missed(transaction: Transaction, row: Any, plan: Plan) -> None:
    if plan.missed is None:
        return
    first, last = plan.missed
    run = new_run(first, RunSource.TICK, f"missed:{tick_text(first)}")
    reason = f"no keeper ran in time: not run from {tick_text(first)} until {tick_text(last)} (catch-up {row.catch_up})"
    await add_runs(transaction, row.id, [row_of(run, RunOutcome.MISSED, reason=reason)])


async def _fail(transaction: Transaction, row: Any, timing: Timing | None, plan: Plan, error: Exception) -> Ticked:
    """Record that the ticks of a plan could not be run, and go on after them."""
    if not await _advance(transaction, row, timing, plan):
        return Ticked()
    await _record_missed(transaction, row, plan)
    runs = [new_run(tick, RunSource.TICK) for tick in plan.ticks]
    await add_runs(transaction, row.id, [row_of(run, RunOutcome.FAILED, reason=reason_of(error)) for run in runs])
    return Ticked(runs=len(runs))


def reason_of(error: Exception) -> str:
    """Return an error as the reason of a failed run."""
    text = str(error) if isinstance(error, ReelstateError) else f"{type(error).__name__}: {error}"
    return shorten(json.dumps(text)[1:-1] if not text.isprintable() else text, REASON_LIMIT)
