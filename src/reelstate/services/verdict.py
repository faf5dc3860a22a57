"""Verdicts: what became of a worker's report on each task.

A report that was not accepted is explained by the event that ended the run under its token.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import Actor, TaskStatus
from reelstate.core.model import TaskKey, Verdict
from reelstate.stores.store import Batch, Statement, Transaction

LeaseKey = tuple[TaskKey, int]
"""A task, and the token under which a worker holds it."""

Targets = Callable[[LeaseKey], Sequence[str]]

LEASE_COLUMNS = ("job_id", "stage", "part", "token")
MAX_ID, MAX_STAGE, MAX_PART = 2**63 - 1, 2**15 - 1, 2**31 - 1


class LeaseRow(NamedTuple):
    """A task and its token."""

    job_id: int
    stage: int
    part: int
    token: int


class _EndedRun(NamedTuple):
    """A task as it is, and the event that ended the run under the token `asked`."""

    job_id: int
    stage: int
    part: int
    token: int | None
    status: str | None
    target: str | None
    actor: str | None
    asked: int


ENDED_RUNS = Statement("complete_verdicts", _EndedRun)


class _Item(Protocol):
    @property
    def key(self) -> TaskKey: ...

    @property
    def token(self) -> int: ...


def lease_keys(items: Iterable[_Item]) -> list[LeaseKey]:
    """Return the task and token of each item. Raises `InvalidRequest` for a key or token out of range."""
    keys = []
    for item in items:
        (job_id, stage, part), token = item.key, item.token
        is_valid = type(token) is type(job_id) is type(stage) is type(part) is int
        if not is_valid or not (
            0 <= token <= MAX_ID and 0 <= job_id <= MAX_ID and 0 <= stage <= MAX_STAGE and 0 <= part <= MAX_PART
        ):
            raise InvalidRequest(
                "key", f"{item.key} with token {token!r} names no task", hint="use the key and token of the claim"
            )
        keys.append((item.key, token))
    return keys


async def verdicts(
    transaction: Transaction, asked: Sequence[LeaseKey], accepted: Collection[LeaseKey], targets: Targets
) -> list[Verdict]:
    """Return a verdict per item, in the order of `asked`: ok for the accepted ones, the others are looked up.

    `targets` gives the statuses to which this report would have moved a task. If the worker itself has ended the run
    under that token in one of them, the report is a repetition and the first answer stands. An item that stands twice
    in `asked` was accepted once and repeated after that.
    """
    if len(accepted) == len(asked):
        return [Verdict.OK] * len(asked)
    answers = dict.fromkeys(accepted, Verdict.OK)
    refused = [(*key, token) for key, token in asked if (key, token) not in answers]
    if refused:
        for run in await transaction.run(ENDED_RUNS, Batch(LEASE_COLUMNS, refused)):
            lease = TaskKey(run.job_id, run.stage, run.part), run.asked
            answers[lease] = _verdict(run, targets(lease))
    result: list[Verdict] = []
    seen: set[LeaseKey] = set()
    for lease in asked:
        repeated = answers[lease] is Verdict.OK and lease in seen
        result.append(Verdict.REPEATED if repeated else answers[lease])
        seen.add(lease)
    return result


def _verdict(run: _EndedRun, targets: Sequence[str]) -> Verdict:
    if run.token is None or run.asked > run.token:
        return Verdict.UNKNOWN
    if run.actor is not None and run.actor.partition(":")[0] == Actor.WORKER and run.target in targets:
        return Verdict.REPEATED
    if TaskStatus.CANCELLED in (run.target, run.status if run.asked == run.token else None):
        return Verdict.CANCELLED
    return Verdict.LOST
