"""report: renew the leases of the tasks that a worker runs, and store progress, checkpoints, logs, steps and states.

A heartbeat is a report that only lists the tasks which the worker still holds. The answer says which of them it has
lost or must stop, and whether it should drain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reelstate.core import state
from reelstate.core.document import LIMITS, DocumentLimits, encode, encode_optional, shorten, whole_number
from reelstate.core.errors import InvalidRequest, WorkerUnknown
from reelstate.core.model import Progress, Report, TaskKey, Verdict
from reelstate.core.step import normalise_step
from reelstate.services.verdict import LEASE_COLUMNS, LeaseRow, lease_keys, verdicts
from reelstate.stores.store import Batch, NoRow, Row, Statement, Store, Transaction

PROGRESS_COLUMNS = (*LEASE_COLUMNS, "percent", "message", "step", "checkpoint")
LOG_COLUMNS = (*LEASE_COLUMNS, "level", "message", "metadata")
STEP_COLUMNS = (*LEASE_COLUMNS, "step", "type", "started", "argv", "exit_code", "seconds", "output")
STAGE_COLUMNS = ("job_id", "stage")
STATE_COLUMNS = ("name", "task", "tag", "position", "event_id", "status", "severity", "message", "payload")
MAX_PERCENT = 100
MAX_STUCK = 100_000
LEVELS = ("debug", "info", "warning", "error")


class WorkerFlags(NamedTuple):
    drain: bool


class _StateJob(NamedTuple):
    job_id: int
    stage: int
    name: str | None
    """What the states of this stage are stored under; None where its pipeline is no longer stored."""


class _State(NamedTuple):
    """A state that a run has reported."""

    job_id: int
    stage: int
    task: int
    tag: str
    event_id: str
    status: int | None
    severity: str
    message: str
    payload: str | None


REPORT = Statement("report", LeaseRow)
REPORT_WORKER = Statement("report_worker", WorkerFlags)
ADD_LOGS = Statement("report_logs", NoRow)
ADD_STEPS = Statement("report_steps", NoRow)
STATE_JOBS = Statement("report_state_jobs", _StateJob)
ADD_STATES = Statement("report_states", NoRow)


async def report(
    store: Store,
    worker_id: int,
    items: Sequence[Progress],
    limits: DocumentLimits = LIMITS,
    *,
    stuck: int | None = None,
    max_instances: int | None = None,
) -> Report:
    """Renew the leases of these tasks and store what is new of each; return a verdict per item in the order given.

    `stuck` is how many handlers of the worker do not stop; None leaves the number as it is. An instance that is offline
    comes back, unless its name has `max_instances` live ones: then it is unknown. Raises `WorkerUnknown`.
    """
    if stuck is not None:
        whole_number("stuck", stuck, MAX_STUCK)
    rows = [_progress_row(item, limits) for item in items]
    logs = [_log_rows(item, limits) for item in items]
    steps = [_step_rows(item, limits) for item in items]
    states = [_states(item, limits) for item in items]

    async def flow(transaction: Transaction) -> Report:
        flags = await transaction.run(REPORT_WORKER, worker_id=worker_id, stuck=stuck, max_instances=max_instances)
        if not flags:
            raise WorkerUnknown(worker_id)
        answers = await _renew(transaction, items, rows)
        accepted = [number for number, answer in enumerate(answers) if answer is Verdict.OK]
        if lines := [line for number in accepted for line in logs[number]]:
            await transaction.run(ADD_LOGS, Batch(LOG_COLUMNS, lines))
        if commands := [step for number in accepted for step in steps[number]]:
            await transaction.run(ADD_STEPS, Batch(STEP_COLUMNS, commands))
        if reported := [each for number in accepted for each in states[number]]:
            await _add_states(transaction, reported)
        return Report(answers, bool(flags[0].drain))

    return await store.write(flow)


async def _renew(transaction: Transaction, items: Sequence[Progress], rows: list[Row]) -> list[Verdict]:
    if not items:
        return []
    leases = lease_keys(items)
    renewed = {
        (TaskKey(row.job_id, row.stage, row.part), row.token)
        for row in await transaction.run(REPORT, Batch(PROGRESS_COLUMNS, rows))
    }
    answers = await verdicts(transaction, leases, renewed, lambda _: ())
    return [Verdict.OK if answer is Verdict.REPEATED else answer for answer in answers]


async def _add_states(transaction: Transaction, states: list[_State]) -> None:
    """Store states in the order given, each under the job that the states of its stage belong to."""
    stages = sorted({(each.job_id, each.stage) for each in states})
    found = await transaction.run(STATE_JOBS, Batch(STAGE_COLUMNS, stages))
    names = {(row.job_id, row.stage): row.name for row in found}
    rows = [
        (name, each.task, each.tag, position, each.event_id, each.status, each.severity, each.message, each.payload)
        for position, each in enumerate(states)
        if (name := names.get((each.job_id, each.stage)))
    ]
    if rows:
        await transaction.run(ADD_STATES, Batch(STATE_COLUMNS, rows))


def _progress_row(item: Progress, limits: DocumentLimits) -> Row:
    if item.percent is not None and not 0 <= item.percent <= MAX_PERCENT:
        raise InvalidRequest("percent", f"{item.percent!r} is not a percentage", hint="a number from 0 to 100")
    message = None if item.message is None else shorten(item.message, limits.message)
    step = None if item.step is None else shorten(item.step, limits.message)
    checkpoint = encode_optional("checkpoint", item.checkpoint, limits.checkpoint)
    return (*item.key, item.token, item.percent, message, step, checkpoint)


def _log_rows(item: Progress, limits: DocumentLimits) -> list[Row]:
    return [
        (
            *item.key,
            item.token,
            line.level if line.level in LEVELS else "info",
            shorten(line.message, limits.message),
            encode_optional("metadata", line.metadata, limits.metadata),
        )
        for line in item.logs
    ]


def _step_rows(item: Progress, limits: DocumentLimits) -> list[Row]:
    return [
        (
            *item.key,
            item.token,
            step.number,
            step.type,
            step.started,
            encode("argv", list(step.argv), limits.argv),
            step.exit_code,
            step.seconds,
            step.output,
        )
        for step in (normalise_step(each, limits) for each in item.steps)
    ]


def _states(item: Progress, limits: DocumentLimits) -> list[_State]:
    return [
        _State(
            job_id=item.key.job_id,
            stage=item.key.stage,
            task=item.key.part,
            tag=reported.tag,
            event_id=f"{item.token}.{reported.number}",
            status=reported.status,
            severity=str(reported.severity),
            message=reported.message,
            payload=encode_optional("payload", reported.payload, limits.checkpoint),
        )
        for reported in (state.normalise_state(each, limits) for each in item.states)
    ]
