"""States in the database of the engine, SQLite or PostgreSQL. A wake-up tells other processes to read."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from reelstate.core.document import LIMITS, encode_optional
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.model import Json
from reelstate.core.month import Month
from reelstate.core.state import (
    JobStates,
    Severity,
    State,
    StateJob,
    StateKey,
    StateWrite,
    refuse_stage_job,
    require_same_job,
    validate_job,
)
from reelstate.dispatch.dispatch import Dispatch, Wakeup
from reelstate.feed.feed import Feed
from reelstate.feed.head import OBSERVE_EPOCH, OBSERVE_HEAD
from reelstate.feed.log import CursorGone, Entry, LogPage, Order, Topics, page_after
from reelstate.feed.subscription import LogSubscription
from reelstate.states.state_store import STATE_MARKS, StoreFigures
from reelstate.stores.store import NoRow, Statement, Store, Transaction, row_type

CURSOR_PARTS = 3
"""The epoch of the database, the transaction and the number."""
START: Order = (0, 0)
"""The position before everything. A reader from there gets what is kept, without a reset."""
FORGET_BATCH = 200
"""Jobs that one transaction deletes at most: writers wait for it."""
PRUNE_BATCH = 5_000
"""Versions that one transaction deletes at most."""


class StateRow(NamedTuple):
    job_id: str
    task: int
    tag: str
    status: int
    severity: str
    message: str
    payload: Json
    schema_version: int
    at: datetime
    version: int
    event_id: str
    generation: int


class StateJobRow(NamedTuple):
    job_id: str
    tasks: int
    tags: list[str]
    generation: int


class JobIdRow(NamedTuple):
    job_id: str


class LogIdRow(NamedTuple):
    id: int


class SupersededRow(NamedTuple):
    xid: str
    id: int


STATE_COLUMNS = StateRow._fields
OneStateRow = row_type(
    "OneStateRow", *StateJobRow._fields, *(name for name in STATE_COLUMNS if name not in StateJobRow._fields)
)
StateFeedRow = row_type("StateFeedRow", "floor_xid", "floor_id", "xid", "id", *STATE_COLUMNS)

STATES_OPEN = Statement("states_open", NoRow)
STATES_JOB = Statement("states_job", StateJobRow)
STATES_WRITE = Statement("states_write", StateRow)
STATES_WRITTEN = Statement("states_written", StateRow)
STATES_ALL = Statement("states_all", StateRow)
STATES_ONE = Statement("states_one", OneStateRow)
STATES_FEED = Statement("states_feed", StateFeedRow)
STATES_QUIET = Statement("states_quiet", JobIdRow)
STATES_DELETE = Statement("states_delete", JobIdRow)
STATES_SUPERSEDED = Statement("states_superseded", SupersededRow)
STATES_PRUNE = Statement("states_prune", LogIdRow)


class SqlStateStore:
    """States in the tables of an engine's store."""

    def __init__(self, store: Store, dispatch: Dispatch) -> None:
        self._store = store
        self._dispatch = dispatch
        self._feeds: dict[str, Feed[State]] = {}
        self.figures = StoreFigures()

    async def open_job(self, job: StateJob) -> StateJob:
        wanted = validate_job(job)
        refuse_stage_job(wanted.job_id)

        async def flow(transaction: Transaction) -> StateJob:
            await transaction.run(STATES_OPEN, job_id=wanted.job_id, tasks=wanted.tasks, tags=list(wanted.tags))
            return await _find_job(transaction, wanted.job_id)

        stored = await self._store.write(flow)
        require_same_job(wanted, stored)
        return stored

    async def find_job(self, job_id: str) -> StateJob:
        return await self._store.read(lambda transaction: _find_job(transaction, job_id))

    async def write(self, write: StateWrite, generation: int) -> State:
        refuse_stage_job(write.job_id)
        with self.figures.writing():
            state = await self._write(write, generation)
        self._dispatch.notify(Wakeup.STATE)
        return state

    async def _write(self, write: StateWrite, generation: int) -> State:
        identity = {
            "job_id": write.job_id,
            "generation": generation,
            "task": write.task,
            "tag": write.tag,
            "event_id": write.event_id,
        }
        values = {
            "status": write.status,
            "severity": str(write.severity),
            "message": write.message,
            "payload": encode_optional("payload", write.payload, LIMITS.result),
            "schema_version": write.schema_version,
        }
        rows = await self._store.write_alone(lambda transaction: transaction.run(STATES_WRITE, **identity, **values))
        if not rows:
            rows = await self._store.read(lambda transaction: transaction.run(STATES_WRITTEN, **identity))
        if not rows:
            raise NotFound("states of job", f"{write.job_id!r} in generation {generation}")
        return state_of(rows[0])

    async def states(self, job_id: str, key: StateKey | None = None) -> JobStates:
        if key is None:
            return await self._store.read(lambda transaction: _read_all(transaction, job_id))
        return await self._store.read(lambda transaction: _read_one(transaction, job_id, key))

    async def feed(self, job_id: str) -> Feed[State]:
        if job_id not in self._feeds:
            epoch = await self._store.read(_epoch)
            self._feeds.setdefault(job_id, Feed(SqlLog(self._store, self._dispatch, job_id, epoch), marks=STATE_MARKS))
        return self._feeds[job_id]

    async def delete_job(self, job_id: str) -> bool:
        return bool(await self._delete_jobs([job_id]))

    async def forget(self, *, older: float) -> list[str]:
        forgotten: list[str] = []
        while found := await self._store.survey(
            lambda transaction: transaction.run(STATES_QUIET, older=float(older), limit=FORGET_BATCH)
        ):
            forgotten += await self._delete_jobs([row.job_id for row in found])
            if len(found) < FORGET_BATCH:
                break
        return forgotten

    async def prune(self, *, older: float) -> int:
        pruned = 0
        while found := await self._store.survey(
            lambda transaction: transaction.run(STATES_SUPERSEDED, older=float(older), limit=PRUNE_BATCH)
        ):
            pruned += await self._delete_versions(found)
            if len(found) < PRUNE_BATCH:
                break
        return pruned

    async def close(self) -> None:
        for feed in self._feeds.values():
            await feed.close()

    async def _delete_versions(self, versions: list[SupersededRow]) -> int:
        xids, ids = [row.xid for row in versions], [row.id for row in versions]
        return len(await self._store.write(lambda transaction: transaction.run(STATES_PRUNE, xids=xids, ids=ids)))

    async def _delete_jobs(self, job_ids: list[str]) -> list[str]:
        if not job_ids:
            return []
        rows = await self._store.write(lambda transaction: transaction.run(STATES_DELETE, job_ids=job_ids))
        self._dispatch.notify(Wakeup.STATE)
        return sorted(row.job_id for row in rows)


class ArchivedStates:
    """The states in one month of the archive, for readers."""

    def __init__(self, store: Store, month: Month) -> None:
        self._store = store
        self._month = month

    async def find_job(self, job_id: str) -> StateJob:
        return await self._store.archive.read(self._month, lambda transaction: _find_job(transaction, job_id))

    async def states(self, job_id: str) -> JobStates:
        return await self._store.archive.read(self._month, lambda transaction: _read_all(transaction, job_id))


class SqlLog:
    """The log of one job across its generations. Its cursors are those of the feed of the engine."""

    def __init__(self, store: Store, dispatch: Dispatch, job_id: str, epoch: str) -> None:
        self._store = store
        self._wakeups = LogSubscription(dispatch, [Wakeup.STATE])
        self._job_id = job_id
        self._epoch = epoch

    def first(self) -> str:
        return f"{self._epoch}.0.0"

    async def head(self) -> str:
        (head,) = await self._store.read(lambda transaction: transaction.run(OBSERVE_HEAD))
        return f"{self._epoch}.{head.xid}.{head.id}"

    async def read(self, after: str, limit: int, topics: Topics = None) -> LogPage[State]:  # noqa: ARG002 - of one job
        order = self.order(after)
        span: dict[str, Any] = {"after_xid": str(order[0]), "after_id": order[1]}
        rows = await self._store.read(
            lambda transaction: transaction.run(STATES_FEED, job_id=self._job_id, limit=limit, **span)
        )
        floor = max(((int(row.floor_xid), row.floor_id) for row in rows), default=START)
        if START < order < floor:
            raise CursorGone(after, resume=self._cursor(floor))
        found = [row for row in rows if row.id is not None]  # a job without states has one row, without any
        return page_after([Entry(self._cursor((int(row.xid), row.id)), state_of(row)) for row in found], after, limit)

    def _cursor(self, order: Order) -> str:
        return ".".join([self._epoch, *map(str, order)])

    def order(self, cursor: str) -> Order:
        parts = cursor.split(".")
        if len(parts) != CURSOR_PARTS or parts[0] != self._epoch or not all(map(str.isdecimal, parts[1:])):
            raise InvalidRequest(
                "cursor", f"the cursor {cursor!r} belongs to another database", hint="start again without a cursor"
            )
        return int(parts[1]), int(parts[2])

    async def wait(self, seconds: float) -> bool:
        return await self._wakeups.wait(seconds)

    def start_listening(self) -> None:
        self._wakeups.open()

    def stop_listening(self) -> None:
        self._wakeups.close()


async def _find_job(transaction: Transaction, job_id: str) -> StateJob:
    rows = await transaction.run(STATES_JOB, job_id=job_id)
    if not rows:
        raise NotFound("states of job", job_id)
    return _job_of(rows[0])


async def _read_all(transaction: Transaction, job_id: str) -> JobStates:
    job = await _find_job(transaction, job_id)
    rows = await transaction.run(STATES_ALL, job_id=job_id, generation=job.generation)
    return JobStates(job, [state_of(row) for row in rows])


async def _read_one(transaction: Transaction, job_id: str, key: StateKey) -> JobStates:
    rows = await transaction.run(STATES_ONE, job_id=job_id, task=key.task, tag=key.tag)
    if not rows:
        raise NotFound("states of job", job_id)
    (row,) = rows
    return JobStates(_job_of(row), [] if row.version is None else [state_of(row)])


def _job_of(row: Any) -> StateJob:
    return StateJob(job_id=row.job_id, tasks=row.tasks, tags=tuple(row.tags), generation=row.generation)


async def _epoch(transaction: Transaction) -> str:
    (row,) = await transaction.run(OBSERVE_EPOCH)
    return row.epoch


def state_of(row: Any) -> State:
    """Build a state from a row with the columns of `StateRow`; it may have more."""
    return State(
        job_id=row.job_id,
        task=row.task,
        tag=row.tag,
        status=row.status,
        severity=Severity(row.severity),
        message=row.message,
        payload=row.payload,
        schema_version=row.schema_version,
        timestamp=row.at,
        version=row.version,
        event_id=row.event_id,
        generation=row.generation,
    )
