"""Why a worker's word on a task was not accepted. The event that ended the run under its token tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from reelstate.core.errors import InvalidRequest
from reelstate.core.machine import Actor, TaskStatus
from reelstate.core.model import TaskKey, Verdict
from reelstate.stores.store import Batch, Row, Transaction

Held = tuple[TaskKey, int]
"""A task, and the token under which a worker speaks of it."""

Targets = Callable[[Held], Sequence[str]]

LARGEST = 2**63 - 1
HELD_COLUMNS = ("job_id", "stage", "part", "token")


def held(items: Iterable[_Item]) -> list[Held]:
    """What these items speak of; a key or token that could not be one is refused."""
    result = []
    for item in items:
        (job_id, stage, part), token = item.key, item.token
        if not (type(token) is type(job_id) is type(stage) is type(part) is int):
            raise InvalidRequest("key", f"{item.key} with token {token!r} names no task", hint="use them as claimed")
        if not (0 <= token <= LARGEST and 0 <= job_id <= LARGEST and 0 <= stage < 2**15 and 0 <= part < 2**31):
            raise InvalidRequest("key", f"{item.key} with token {token} names no task", hint="use them as claimed")
        result.append((item.key, token))
    return result


class _Item(Protocol):
    @property
    def key(self) -> TaskKey: ...

    @property
    def token(self) -> int: ...


def held_rows(held: Iterable[Held]) -> list[Row]:
    return [(*key, token) for key, token in held]


def held_of(row: Row) -> Held:
    """The task and token that a statement's row begins with."""
    return TaskKey(*row[:3]), row[3]


def row_key(row: Row) -> Row:
    """The order in which tasks are locked."""
    return row[:4]


async def verdicts(
    transaction: Transaction, asked: Sequence[Held], accepted: set[Held], targets: Targets
) -> list[Verdict]:
    """A verdict per item in its order: the accepted are ok, the others are looked up.

    `targets` tells the statuses to which this same report would have moved a task: if the token's run has ended there
    by the worker's own word, the report is a repetition and the first answer stands.
    """
    if len(accepted) == len(asked):
        return [Verdict.OK] * len(asked)
    answers = {item: Verdict.OK for item in asked if item in accepted}
    refused = [item for item in asked if item not in answers]
    if refused:
        for *key, token, status, target, actor, given in await _ends(transaction, refused):
            item = TaskKey(*key), given
            answers[item] = _verdict(token, given, status, target, actor, targets(item))
    return _one_each(asked, answers)


async def _ends(transaction: Transaction, refused: Sequence[Held]) -> list[Row]:
    return await transaction.run("complete_verdicts", Batch(HELD_COLUMNS, held_rows(refused)))


def _verdict(
    token: int | None,
    asked: int,
    status: str | None,
    target: str | None,
    actor: str | None,
    targets: Sequence[str],
) -> Verdict:
    if token is None or asked > token:
        return Verdict.UNKNOWN
    if actor is not None and actor.partition(":")[0] == Actor.WORKER and target in targets:
        return Verdict.REPEATED
    if TaskStatus.CANCELLED in (target, status if asked == token else None):
        return Verdict.CANCELLED
    return Verdict.LOST


def _one_each(asked: Sequence[Held], answers: Mapping[Held, Verdict]) -> list[Verdict]:
    """An item given twice in one batch was accepted once and repeated after that."""
    seen: set[Held] = set()
    result = []
    for item in asked:
        verdict = answers[item]
        result.append(Verdict.REPEATED if verdict is Verdict.OK and item in seen else verdict)
        seen.add(item)
    return result
