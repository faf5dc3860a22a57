"""report: a worker's word on the tasks it runs. It renews their leases, notes progress and keeps checkpoints, logs,
steps and states.

A heartbeat is the same verb with nothing to say but which tasks it still holds; the answer tells which of them it has
lost or must stop, and whether the worker should drain.
"""

from __future__ import annotations

from collections.abc import Sequence

from reelstate.core import state
from reelstate.core.document import LIMITS, DocumentLimits, encode, encode_optional, shorten, whole_number
from reelstate.core.errors import InvalidRequest, WorkerUnknown
from reelstate.core.model import Progress, Report, Verdict
from reelstate.core.step import normalise_step
from reelstate.services.verdict import HELD_COLUMNS, held, held_of, verdicts
from reelstate.stores.store import Batch, Row, Store, Transaction

COLUMNS = (*HELD_COLUMNS, "percent", "message", "step", "checkpoint")
LOG_COLUMNS = (*HELD_COLUMNS, "level", "message", "metadata")
STEP_COLUMNS = (*HELD_COLUMNS, "place", "type", "started", "argv", "exit_code", "seconds", "output")
STAGE_COLUMNS = ("job_id", "stage")
STATE_COLUMNS = ("name", "task", "tag", "place", "event_id", "status", "severity", "message", "payload")
WHOLE = 100
MAX_STUCK = 100_000
LEVELS = ("debug", "info", "warning", "error")


async def report(
    store: Store,
    worker_id: int,
    items: Sequence[Progress],
    limits: DocumentLimits = LIMITS,
    *,
    stuck: int | None = None,
    max_instances: int | None = None,
) -> Report:
    """Renew the leases of these tasks, and note what is new of each; a verdict per item in the order given.

    `stuck` is how many handlers of the worker do not stop; None: as many as before. An instance that is offline comes
    back, unless its name has `max_instances` live ones: then it is unknown.
    """
    if stuck is not None:
        whole_number("stuck", stuck, MAX_STUCK)
    rows = [_row(item, limits) for item in items]
    logs = [_log_rows(item, limits) for item in items]
    steps = [_step_rows(item, limits) for item in items]
    states = [_state_rows(item, limits) for item in items]

    async def flow(transaction: Transaction) -> Report:
        drain = await _heartbeat(transaction, worker_id, stuck=stuck, max_instances=max_instances)
        answers = await _renew(transaction, items, rows)
        if lines := _accepted(logs, answers):
            await transaction.run("report_logs", Batch(LOG_COLUMNS, lines))
        if commands := _accepted(steps, answers):
            await transaction.run("report_steps", Batch(STEP_COLUMNS, commands))
        if said := _accepted(states, answers):
            await _state(transaction, said)
        return Report(answers, drain)

    return await store.write(flow)


async def _heartbeat(transaction: Transaction, worker_id: int, *, stuck: int | None, max_instances: int | None) -> bool:
    found = await transaction.run("report_worker", worker_id=worker_id, stuck=stuck, max_instances=max_instances)
    if not found:
        raise WorkerUnknown(worker_id)
    return bool(found[0][0])


async def _renew(transaction: Transaction, items: Sequence[Progress], rows: list[Row]) -> list[Verdict]:
    if not items:
        return []
    renewed = {held_of(row) for row in await transaction.run("report", Batch(COLUMNS, rows))}
    answers = await verdicts(transaction, held(items), renewed, lambda _: ())
    return [Verdict.OK if answer is Verdict.REPEATED else answer for answer in answers]


async def _state(transaction: Transaction, said: list[Row]) -> None:
    """Store states in the order in which they were said; the job they belong to is that of their stage."""
    stages = sorted({row[:2] for row in said})
    names = {row[:2]: row[2] for row in await transaction.run("report_state_jobs", Batch(STAGE_COLUMNS, stages))}
    # A stage without a name is one of a pipeline that is not stored any more: its states belong nowhere.
    rows = [(names[row[:2]], row[2], row[3], place, *row[4:]) for place, row in enumerate(said) if names.get(row[:2])]
    if rows:
        await transaction.run("report_states", Batch(STATE_COLUMNS, rows))


def _accepted(rows: list[list[Row]], answers: list[Verdict]) -> list[Row]:
    """What was said under a token that still holds."""
    return [row for said, answer in zip(rows, answers, strict=True) if answer is Verdict.OK for row in said]


def _row(item: Progress, limits: DocumentLimits) -> Row:
    if item.percent is not None and not 0 <= item.percent <= WHOLE:
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
        for step in (normalise_step(said, limits) for said in item.steps)
    ]


def _state_rows(item: Progress, limits: DocumentLimits) -> list[Row]:
    return [
        (
            *item.key,
            said.tag,
            f"{item.token}.{said.number}",
            said.status,
            str(said.severity),
            said.message,
            encode_optional("payload", said.payload, limits.checkpoint),
        )
        for said in (state.normalise_state(each, limits) for each in item.states)
    ]
