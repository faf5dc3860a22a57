"""settle: finish groups in which no job is active, and start or cancel the jobs that wait for others.

The transaction that ends a job notes it in `ended_jobs`, by a trigger and only where a group or a waiting job depends
on it. The keeper takes these notes out. It decides from the stored statuses, not from the note: a note that is repeated
or handled by two keepers changes nothing more. So that nothing depends on notes alone, each pass also looks at the next
waiting jobs.

Locks are taken in the order groups, tasks, stages, jobs, waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from reelstate.core.aggregate import lowest_job
from reelstate.core.machine import Actor
from reelstate.core.model import Json
from reelstate.dispatch.dispatch import Wakeup
from reelstate.services.catalogue import Catalogue
from reelstate.services.groups.groups import count_jobs, progress_of
from reelstate.services.groups.reasons import first_failure
from reelstate.services.isolation import Isolation
from reelstate.services.jobs import END_WAITS, lock_jobs
from reelstate.services.operate.cancel import cancel_in
from reelstate.services.operate.operation import Operation
from reelstate.services.orchestrate import advance
from reelstate.services.webhooks.event_types import EmittedEvent, emit
from reelstate.stores.store import Batch, NoRow, Row, Statement, Store, Transaction

ENDED_LIMIT = 500
"""Ended jobs that one transaction looks at."""
DUE_LIMIT = 5000
"""Waiting jobs that one transaction makes due."""
WINDOW = 100
"""Waiting jobs that a pass looks at without a note."""
MAX_ROUNDS = 20
"""Times that one pass looks for more: a cancelled job may let others be cancelled."""


class _EndedJob(NamedTuple):
    id: int
    job_id: int


class _GroupId(NamedTuple):
    id: int


class _FinishedGroup(NamedTuple):
    id: int
    user_id: str
    name: str
    round: int
    callback_id: str | None
    callback_url: str | None
    callback_lane: str | None
    created_at: datetime
    finished_at: datetime


class _Due(NamedTuple):
    jobs: int
    last: int | None


class _Verdict(NamedTuple):
    """What becomes of a waiting job: start, cancel, wait, or end where an operator has stopped it."""

    job_id: int
    verdict: str


TAKE_ENDED = Statement("ended_take", _EndedJob)
LOCK_GROUPS = Statement("ended_groups", _GroupId)
REOPEN_GROUPS = Statement("groups_reopen", NoRow)
FINISH_GROUPS = Statement("groups_finish", _FinishedGroup)
DELIVER = Statement("groups_deliver", NoRow)
MAKE_DUE = Statement("waits_due", _Due)
FORGET_ENDED = Statement("ended_seen", NoRow)
KEEP_POSITION = Statement("ended_position", NoRow)
VERDICTS = Statement("waits_verdicts", _Verdict)
WINDOW_VERDICTS = Statement("waits_window", _Verdict)
VERDICTS_AGAIN = Statement("waits_again", _Verdict)
MARK = Statement("waits_mark", NoRow)


@dataclass(slots=True)
class WaitSearch:
    """The search for waiting jobs without a note. Each pass looks at the next ones."""

    after: int = 0


@dataclass(slots=True)
class Settled:
    """What one pass of `settle` did."""

    started: set[int] = field(default_factory=set)
    cancelled: set[int] = field(default_factory=set)
    wakeups: set[Wakeup] = field(default_factory=set)

    @property
    def jobs(self) -> int:
        """The number of jobs that wait no more."""
        return len(self.started) + len(self.cancelled)


async def settle(
    store: Store,
    catalogue: Catalogue,
    *,
    limit: int = 500,
    isolation: Isolation | None = None,
    search: WaitSearch | None = None,
) -> Settled:
    """Finish groups, and start or cancel waiting jobs; return what was done, with the wake-ups."""
    looking = search or WaitSearch()
    settler = _Settler(store, catalogue, isolation or Isolation(), limit)
    for _ in range(MAX_ROUNDS):
        if not await settler.round(looking):
            break
    return settler.done


class _Settler:
    """One pass."""

    def __init__(self, store: Store, catalogue: Catalogue, isolation: Isolation, limit: int) -> None:
        self._store = store
        self._catalogue = catalogue
        self._isolation = isolation
        self._limit = limit
        self.done = Settled()

    async def round(self, looking: WaitSearch) -> bool:
        """Handle what there is; return whether there may be more."""
        if await self._store.read(lambda transaction: transaction.run(TAKE_ENDED, limit=1)):
            while await self._store.write(_take_ended):
                pass
        due = await self._store.read(self._due)
        window = await self._store.read(lambda transaction: _window(transaction, looking.after))
        looking.after = window[-1].job_id if len(window) == WINDOW else 0
        verdicts = {row.job_id: row.verdict for row in (*due, *window)}
        start = [job_id for job_id, verdict in verdicts.items() if verdict in {"start", "end"}]
        cancelled = [job_id for job_id, verdict in verdicts.items() if verdict == "cancel"]
        wait = [row.job_id for row in due if row.verdict == "wait"]
        before = self.done.jobs
        if start:
            await self._sweep("start waiting", self._start, start)
        if cancelled:
            await self._sweep("cancel waiting", self._cancel, cancelled)
        if wait:
            await self._store.write(lambda transaction: _wait_on(transaction, wait))
        return self.done.jobs > before or len(wait) == self._limit

    async def _due(self, transaction: Transaction) -> list[_Verdict]:
        return await transaction.run(VERDICTS, without=[], limit=self._limit)

    async def _sweep(self, verb: str, work: Any, found: Sequence[int]) -> None:
        """Change all jobs in one transaction, else each alone."""

        async def change(only: Sequence[int] | None, without: Sequence[int]) -> None:
            chosen = found if only is None else [job_id for job_id in found if job_id in only]
            chosen = sorted(set(chosen).difference(without))
            if chosen:
                await self._store.write(lambda transaction: work(transaction, chosen))

        async def find() -> Sequence[int]:
            return found

        await self._isolation.sweep(verb, change, find)

    async def _start(self, transaction: Transaction, job_ids: Sequence[int]) -> None:
        await lock_jobs(transaction, self._catalogue, job_ids)
        ended = [row.job_id for row in await transaction.run(END_WAITS, job_ids=list(job_ids))]
        wakeups = await advance(transaction, self._catalogue, {job_id: {} for job_id in ended})
        self.done.wakeups |= wakeups
        self.done.started.update(ended)

    async def _cancel(self, transaction: Transaction, job_ids: Sequence[int]) -> None:
        by_reason: dict[str, list[int]] = {}
        for job_id in job_ids:
            by_reason.setdefault(await first_failure(transaction, job_id), []).append(job_id)
        for reason, some in by_reason.items():
            operation = Operation(job_ids=some, actor=Actor.ORCHESTRATOR, reason=reason)
            await cancel_in(transaction, self._catalogue, operation)
        self.done.wakeups |= {Wakeup.STOP, Wakeup.JOB_INACTIVE}
        self.done.cancelled.update(job_ids)


async def _window(transaction: Transaction, after: int) -> list[_Verdict]:
    return await transaction.run(WINDOW_VERDICTS, after=after, without=[], limit=WINDOW)


async def _wait_on(transaction: Transaction, job_ids: list[int]) -> None:
    """Let jobs wait on. A job that ended before they were marked is seen here; one that ends later marks them again."""
    await transaction.run(MARK, job_ids=job_ids, due=False)
    changed = [row.job_id for row in await transaction.run(VERDICTS_AGAIN, job_ids=job_ids) if row.verdict != "wait"]
    if changed:
        await transaction.run(MARK, job_ids=changed, due=True)


async def _take_ended(transaction: Transaction) -> bool:
    """Take notes of ended jobs out: finish their groups, and make due what waits for them; return whether any was."""
    ended = await transaction.run(TAKE_ENDED, limit=ENDED_LIMIT)
    if not ended:
        return False
    ids = [row.id for row in ended]
    groups = [row.id for row in await transaction.run(LOCK_GROUPS, job_ids=[row.job_id for row in ended])]
    if groups:
        await transaction.run(REOPEN_GROUPS, ids=ids)
        await _notify(transaction, await transaction.run(FINISH_GROUPS, ids=groups))
    (due,) = await transaction.run(MAKE_DUE, ids=ids, limit=DUE_LIMIT)
    if due.jobs == DUE_LIMIT:
        await transaction.run(KEEP_POSITION, ids=ids, position=due.last)
    else:
        await transaction.run(FORGET_ENDED, ids=ids)
    return True


async def _notify(transaction: Transaction, finished: Sequence[_FinishedGroup]) -> None:
    """Write the events of groups that have finished a round: one for each webhook, and one for the callback."""
    if not finished:
        return
    counts = await count_jobs(transaction, [group.id for group in finished])
    events = [
        EmittedEvent("group.finished", group.user_id, None, f"group:{group.id}:{group.round}", _data(group, counts))
        for group in finished
    ]
    await emit(transaction, events)
    callbacks: list[Row] = [
        (group.callback_id, group.callback_lane, group.callback_url, event.once, event.encoded)
        for group, event in zip(finished, events, strict=True)
        if group.callback_id is not None
    ]
    if callbacks:
        await transaction.run(DELIVER, Batch(("webhook_id", "lane", "url", "once", "data"), callbacks))


def _data(group: _FinishedGroup, counts: dict[int, dict[str, int]]) -> dict[str, Json]:
    own = counts[group.id]
    return {
        "group": group.name,
        "user_id": group.user_id,
        "round": group.round,
        "status": lowest_job(own),
        "jobs": sum(own.values()),
        "counts": own,
        "progress": progress_of(own),
        "created_at": group.created_at.timestamp(),
        "finished_at": group.finished_at.timestamp(),
    }
