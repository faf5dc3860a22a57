"""limits: set, remove and list limits, and bring the tasks under them that were there before.

A limit is in force for new tasks from its commit on. Claims leave out ready tasks that it selects and does not count
yet (`unsettled`), until those have arrived again; running ones are counted at once. So a limit holds exactly from the
moment that `set_limit` returns, but for tasks that ran before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Unpack

from reelstate.core.document import encode, plain_text
from reelstate.core.errors import InvalidRequest, NotFound, UnknownPipeline
from reelstate.core.limit import Limit, LimitOptions, LimitRecord, LimitUse
from reelstate.core.machine import Actor
from reelstate.core.model import Json
from reelstate.services.catalogue import PIPELINE_NAMES, VERSIONS
from reelstate.services.limits.admission import LOCK, Admission, admit, count, limit_keys, queues_of
from reelstate.services.pause import REASON_LIMIT, TEXT_LIMIT, WAIT_FOR_CLAIMS
from reelstate.stores.store import Batch, Row, Statement, Store, Transaction

OPERATOR: Final = Actor.OPERATOR.value
WEIGHTS_LIMIT: Final = 300_000
MAX_LIMITS: Final = 100
"""Limits in force: each task that arrives is compared with all of them."""
MOVED: Final = 10_000
SETTLE_AFTER: Final = 60.0
"""Seconds for which a transaction that began before a change may still add tasks unseen."""


class _LimitRow(NamedTuple):
    id: int
    name: str
    pipeline: str | None
    stage: str | None
    user_id: str | None
    per: str | None
    running: int | None
    starts: int | None
    period: float | None
    weights: Json
    reason: str | None
    actor: str
    declared: bool
    created_at: datetime
    changed_at: datetime
    removed_at: datetime | None

    def record(self) -> LimitRecord:
        selected = (self.name, self.pipeline, self.stage, self.user_id, self.per)
        limit = Limit(*selected, self.running, self.starts, self.period, _weights(self.weights))
        times = (self.created_at, self.changed_at, self.removed_at)
        return LimitRecord(self.id, limit, self.reason, self.actor, bool(self.declared), *times)


class _UseRow(NamedTuple):
    key: str
    running: int
    starts: int
    waiting: int


class _RunningRow(NamedTuple):
    job_id: int
    stage: int
    part: int
    token: int
    lane: int
    queue: int | None
    wanted: Json


class _QueueId(NamedTuple):
    queue: int


class _Moved(NamedTuple):
    job_id: int


class _Id(NamedTuple):
    id: int


LIST = Statement("limit_list", _LimitRow)
ADD = Statement("limit_add", _LimitRow)
CHANGE = Statement("limit_change", _LimitRow)
REMOVE = Statement("limit_remove", _LimitRow)
USES = Statement("limit_uses", _UseRow)
RUNNING = Statement("limit_running", _RunningRow)
ADOPT = Statement("limit_adopt", _QueueId)
MISPLACED = Statement("limit_misplaced", _Moved)
RETURN = Statement("limit_return", _Moved)
RECALL = Statement("limit_recall", _Moved)
CLOSE = Statement("limit_close", _Id)
UNSETTLED = Statement("limit_unsettled", _Id)
SETTLE = Statement("limit_settle", _Id)
PRUNE = Statement("limit_prune", _Id)


@dataclass(frozen=True, slots=True)
class LimitStatus:
    """A limit and the keys that use it."""

    record: LimitRecord
    uses: list[LimitUse]


def _weights(stored: Json) -> Mapping[str, float]:
    """Return stored weights; what manual SQL has put there instead of numbers is left out."""
    if not isinstance(stored, dict):
        return {}
    return {str(key): float(weight) for key, weight in stored.items() if isinstance(weight, int | float)}


async def set_limit(store: Store, limit: Limit, *, actor: str, reason: str | None = None) -> LimitRecord:
    """Set a limit, or change the one of its name. Tasks that run go on, and count.

    Raises `InvalidRequest` and `UnknownPipeline`.
    """
    limit.check()
    _check_texts(actor, reason)

    async def flow(transaction: Transaction) -> LimitRecord:
        await transaction.run(LOCK)
        await _require_target(transaction, limit)
        return await _put(transaction, limit, actor=actor, reason=reason, declared=False)

    return await store.write(flow)


async def declare_limits(store: Store, limits: Sequence[Limit], *, actor: str) -> None:
    """Set the limits that come with a pipeline; what an operator has set stays."""
    for limit in limits:
        limit.check()

    async def flow(transaction: Transaction) -> None:
        await transaction.run(LOCK)
        for limit in limits:
            await _put(transaction, limit, actor=actor, reason=None, declared=True)

    if limits:
        await store.write(flow)


async def _put(
    transaction: Transaction, limit: Limit, *, actor: str, reason: str | None, declared: bool
) -> LimitRecord:
    """Set a limit and return the one in force."""
    fields = {
        "name": limit.name,
        "pipeline": limit.pipeline,
        "stage": limit.stage,
        "user_id": limit.user_id,
        "per": limit.per,
        "running": limit.running,
        "starts": limit.starts,
        "period": limit.period,
        "weights": encode("weights", dict(limit.weights), WEIGHTS_LIMIT),
        "declared": declared,
        "actor": actor,
        "reason": reason,
    }
    in_force = await transaction.run(LIST, name=limit.name, removed=False, limit=1)
    if declared and in_force and in_force[0].record().limit == limit:
        return in_force[0].record()
    changed = await transaction.run(CHANGE, **fields)
    if changed:
        await transaction.run(RECALL, limit_id=changed[0].id)
        return changed[0].record()
    await transaction.run(REMOVE, name=limit.name, actor=actor, reason=reason, declared=declared)
    if not in_force and len(await transaction.run(LIST, name=None, removed=False, limit=MAX_LIMITS)) >= MAX_LIMITS:
        raise InvalidRequest("limit", f"is one of more than {MAX_LIMITS} in force", hint="remove another")
    added = await transaction.run(ADD, **fields)
    rows = added or await transaction.run(LIST, name=limit.name, removed=False, limit=1)
    return rows[0].record()


async def remove_limit(store: Store, name: str, *, actor: str, reason: str | None = None) -> LimitRecord:
    """Remove a limit: what waits for it alone can be claimed. Raises `NotFound`."""
    _check_texts(actor, reason)

    async def flow(transaction: Transaction) -> list[_LimitRow]:
        await transaction.run(LOCK)
        return await transaction.run(REMOVE, name=name, actor=actor, reason=reason, declared=False)

    removed = await store.write(flow)
    if not removed:
        raise NotFound("limit", repr(name), hint="`reel limits` lists the limits in force")
    return removed[0].record()


async def limits(store: Store, *, removed: bool = False, limit: int = 1000) -> list[LimitRecord]:
    """List the limits in force by name; with `removed`, the records of earlier ones too."""
    rows = await store.read(lambda transaction: transaction.run(LIST, name=None, removed=removed, limit=limit))
    return [row.record() for row in rows]


async def limit_status(store: Store, name: str, *, keys: int = 100) -> LimitStatus:
    """Return a limit in force and the keys that use it most. Raises `NotFound`."""

    async def flow(transaction: Transaction) -> LimitStatus | None:
        found = await transaction.run(LIST, name=name, removed=False, limit=1)
        if not found:
            return None
        uses = await transaction.run(USES, limit_id=found[0].id, limit=keys)
        return LimitStatus(found[0].record(), [LimitUse(*row) for row in uses])

    status = await store.read(flow)
    if status is None:
        raise NotFound("limit", repr(name), hint="`reel limits` lists the limits in force")
    return status


async def settle(store: Store) -> Admission:
    """Bring tasks under a limit that was set, or out of one that was removed; then admit what has room."""
    if not await store.read(lambda transaction: transaction.run(UNSETTLED)):
        return Admission()
    await store.write(lambda transaction: transaction.run(WAIT_FOR_CLAIMS))
    await store.write(_adopt)
    for moving in (MISPLACED, RETURN):
        while await store.write(lambda transaction, moving=moving: _move(transaction, moving)):  # type: ignore[misc]
            pass
    jobs: set[int] = set()
    tasks = 0
    while True:
        admission = await admit(store)
        jobs |= admission.job_ids
        tasks += admission.tasks
        if not admission.tasks and not admission.routed:
            break
    await store.write(_finish)
    return Admission(frozenset(jobs), tasks)


async def prune(store: Store) -> None:
    """Forget keys and queues without tasks, and starts whose period has passed."""

    async def flow(transaction: Transaction) -> None:
        await transaction.run(LOCK)
        await transaction.run(PRUNE, limit=MOVED)

    await store.write(flow)


async def _move(transaction: Transaction, statement: Statement[_Moved]) -> int:
    await transaction.run(LOCK)
    return len(await transaction.run(statement, limit=MOVED))


async def _finish(transaction: Transaction) -> None:
    await transaction.run(LOCK)
    await transaction.run(CLOSE)
    await transaction.run(SETTLE, older=SETTLE_AFTER)


async def _adopt(transaction: Transaction) -> None:
    """Count the running tasks that a new limit selects, more than it permits too."""
    await transaction.run(LOCK)
    rows = await transaction.run(RUNNING, limit=MOVED)
    if not rows:
        return
    queues = await queues_of(transaction, [(row.lane, limit_keys(row.wanted), 0) for row in rows])
    adopted: list[Row] = [
        (row.job_id, row.stage, row.part, row.token, queues[row.lane, limit_keys(row.wanted)].id, row.queue)
        for row in rows
    ]
    columns = ("job_id", "stage", "part", "token", "queue", "before")
    counted = await transaction.run(ADOPT, Batch(columns, adopted))
    keys = {queue.id: queue.keys for queue in queues.values()}
    tasks: dict[int, int] = defaultdict(int)
    for row in counted:
        for key in keys[row.queue]:
            tasks[key] += 1
    if tasks:
        await count(transaction, tasks, adopted=True)


def _check_texts(actor: str, reason: str | None) -> None:
    plain_text("actor", actor, TEXT_LIMIT)
    plain_text("reason", reason or "", REASON_LIMIT)


async def _require_target(transaction: Transaction, limit: Limit) -> None:
    """Raise for a pipeline or stage that is not known, most likely a spelling mistake."""
    if limit.pipeline is None:
        return
    names = sorted(row.name for row in await transaction.run(PIPELINE_NAMES))
    if limit.pipeline not in names:
        raise UnknownPipeline(limit.pipeline, names)
    graphs = [row.graph for row in await transaction.run(VERSIONS, names=[limit.pipeline])]
    stages = {stage["name"] for graph in graphs for stage in graph["stages"]}
    if limit.stage is not None and limit.stage not in stages:
        known = ", ".join(sorted(stages))
        raise InvalidRequest("stage", f"{limit.pipeline} has no stage {limit.stage!r}", hint=f"one of {known}")


class Limits:
    """The limits of one store; `on_admitted` is called with what an admission has moved."""

    def __init__(self, store: Store, on_admitted: Callable[[Admission], None]) -> None:
        self._store = store
        self._on_admitted = on_admitted

    async def set(
        self, name: str, *, actor: str = OPERATOR, reason: str | None = None, **options: Unpack[LimitOptions]
    ) -> LimitRecord:
        """Limit how many tasks run at once or start in a period; a limit of that name is replaced.

        Tasks that run go on, and count. Raises `InvalidRequest` and `UnknownPipeline`.

        ```python
        await reel.limits.set("customers", per="spec.customer", running=4)
        ```
        """
        record = await set_limit(self._store, Limit(name, **options), actor=actor, reason=reason)
        await self.settle()
        await self.admit()
        return record

    async def declare(self, limits: Sequence[Limit]) -> None:
        """Set the limits that come with a pipeline; one that an operator has changed stays."""
        await declare_limits(self._store, limits, actor=Actor.ORCHESTRATOR.value)
        await self.settle()

    async def remove(self, name: str, *, actor: str = OPERATOR, reason: str | None = None) -> LimitRecord:
        """Remove a limit: what waits for it alone can be claimed. Raises `NotFound`."""
        record = await remove_limit(self._store, name, actor=actor, reason=reason)
        await self.settle()
        return record

    async def all(self, *, removed: bool = False, limit: int = 1000) -> list[LimitRecord]:
        """List the limits in force by name; with `removed`, the records of earlier ones too."""
        return await limits(self._store, removed=removed, limit=limit)

    async def get(self, name: str, *, keys: int = 100) -> LimitStatus:
        """Return a limit in force and the keys that use it most. Raises `NotFound`."""
        return await limit_status(self._store, name, keys=keys)

    async def settle(self) -> None:
        """Bring tasks under limits that were set, and out of those that were removed."""
        self._report(await settle(self._store))

    async def admit(self) -> None:
        """Admit tasks that have room. The keeper calls it; workers that find too little to claim do so themselves."""
        self._report(await admit(self._store))

    async def prune(self) -> None:
        """Forget keys and queues without tasks, and starts whose period has passed."""
        await prune(self._store)

    def _report(self, admission: Admission) -> None:
        if admission.tasks:
            self._on_admitted(admission)
