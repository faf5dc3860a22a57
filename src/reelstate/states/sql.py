"""States in the engine's own database: SQLite or PostgreSQL. A bell tells other processes when to look."""

from __future__ import annotations

from typing import Any

from reelstate.core.document import LIMITS, encode_optional
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.state import (
    JobStates,
    Severity,
    State,
    StateJob,
    StateKey,
    StateWrite,
    checked_job,
    require_free,
    require_same,
)
from reelstate.dispatch.dispatch import Dispatch, Wakeup
from reelstate.feed.feed import Feed
from reelstate.feed.log import CursorGone, Entry, Order, Stretch, Topics, stretch
from reelstate.feed.subscription import LogSubscription
from reelstate.states.state_store import STATE_MARKS, StoreFigures
from reelstate.stores.store import Row, Store, Transaction

PIECES = 3
"""Of a cursor: the epoch of the database, the transaction, the number."""
START: Order = (0, 0)
"""The position before everything. A reader from there gets what is kept, without a reset."""
FORGET_BATCH = 200
PRUNE_BATCH = 5_000
"""Jobs, and versions, that one transaction deletes at most: writers wait for it."""


class SqlStateStore:
    def __init__(self, store: Store, dispatch: Dispatch) -> None:
        self._store = store
        self._dispatch = dispatch
        self._feeds: dict[str, Feed[State]] = {}
        self.figures = StoreFigures()

    async def open_job(self, job: StateJob) -> StateJob:
        wanted = checked_job(job)
        require_free(wanted.job_id)

        async def flow(transaction: Transaction) -> StateJob:
            await transaction.run("states_open", job_id=wanted.job_id, tasks=wanted.tasks, tags=list(wanted.tags))
            return await _job(transaction, wanted.job_id)

        stored = await self._store.write(flow)
        require_same(wanted, stored)
        return stored

    async def find_job(self, job_id: str) -> StateJob:
        return await self._store.read(lambda transaction: _job(transaction, job_id))

    async def write(self, write: StateWrite, generation: int) -> State:
        require_free(write.job_id)
        with self.figures.writing():
            state = await self._written(write, generation)
        self._dispatch.notify(Wakeup.STATE)
        return state

    async def _written(self, write: StateWrite, generation: int) -> State:
        asked = {
            "job_id": write.job_id,
            "generation": generation,
            "task": write.task,
            "tag": write.tag,
            "event_id": write.event_id,
        }
        said = {
            "status": write.status,
            "severity": str(write.severity),
            "message": write.message,
            "payload": encode_optional("payload", write.payload, LIMITS.result),
            "schema_version": write.schema_version,
        }
        rows = await self._store.write_alone(lambda transaction: transaction.run("states_write", **asked, **said))
        if not rows:
            rows = await self._store.read(lambda transaction: transaction.run("states_written", **asked))
        if not rows:
            raise NotFound("states of job", f"{write.job_id!r}, or it was deleted and made anew")
        return state_of(rows[0])

    async def states(self, job_id: str, key: StateKey | None = None) -> JobStates:
        async def all_of_them(transaction: Transaction) -> JobStates:
            job = await _job(transaction, job_id)
            rows = await transaction.run("states_all", job_id=job_id, generation=job.generation)
            return JobStates(job, [state_of(row) for row in rows])

        if key is None:
            return await self._store.read(all_of_them)
        return await self._store.read(lambda transaction: _one(transaction, job_id, key))

    async def feed(self, job_id: str) -> Feed[State]:
        if job_id not in self._feeds:
            epoch = await self._store.read(_epoch)
            self._feeds.setdefault(job_id, Feed(SqlLog(self._store, self._dispatch, job_id, epoch), marks=STATE_MARKS))
        return self._feeds[job_id]

    async def delete_job(self, job_id: str) -> bool:
        return bool(await self._deleted([job_id]))

    async def forget(self, *, older: float) -> list[str]:
        forgotten: list[str] = []
        while found := await self._store.survey(
            lambda transaction: transaction.run("states_quiet", older=float(older), limit=FORGET_BATCH)
        ):
            forgotten += await self._deleted([row[0] for row in found])
            if len(found) < FORGET_BATCH:
                break
        return forgotten

    async def prune(self, *, older: float) -> int:
        pruned = 0
        while found := await self._store.survey(
            lambda transaction: transaction.run("states_superseded", older=float(older), limit=PRUNE_BATCH)
        ):
            pruned += await self._pruned(found)
            if len(found) < PRUNE_BATCH:
                break
        return pruned

    async def close(self) -> None:
        for feed in self._feeds.values():
            await feed.close()

    async def _pruned(self, versions: list[Row]) -> int:
        xids, ids = [row[0] for row in versions], [row[1] for row in versions]
        return len(await self._store.write(lambda transaction: transaction.run("states_prune", xids=xids, ids=ids)))

    async def _deleted(self, job_ids: list[str]) -> list[str]:
        if not job_ids:
            return []
        rows = await self._store.write(lambda transaction: transaction.run("states_delete", job_ids=job_ids))
        self._dispatch.notify(Wakeup.STATE)
        return sorted(row[0] for row in rows)


class SqlLog:
    """The log of one job, whatever its generation. Its cursors are those of the engine's own feed."""

    def __init__(self, store: Store, dispatch: Dispatch, job_id: str, epoch: str) -> None:
        self._store = store
        self._listening = LogSubscription(dispatch, [Wakeup.STATE])
        self._job_id = job_id
        self._epoch = epoch

    def first(self) -> str:
        return f"{self._epoch}.0.0"

    async def head(self) -> str:
        ((_, xid, number, _),) = await self._store.read(lambda transaction: transaction.run("observe_head"))
        return f"{self._epoch}.{xid}.{number}"

    async def read(self, after: str, limit: int, topics: Topics = None) -> Stretch[State]:  # noqa: ARG002 - of one job
        order = self.order(after)
        place: dict[str, Any] = {"after_xid": str(order[0]), "after_id": order[1]}
        rows = await self._store.read(
            lambda transaction: transaction.run("states_feed", job_id=self._job_id, limit=limit, **place)
        )
        floor = max((_place(row) for row in rows), default=START)
        if START < order < floor:
            raise CursorGone(after, resume=self._cursor(floor))
        found = [row[2:] for row in rows if row[3] is not None]
        return stretch([Entry(self._cursor(_place(row)), state_of(row[2:])) for row in found], after, limit)

    def _cursor(self, order: Order) -> str:
        return ".".join([self._epoch, *map(str, order)])

    def order(self, cursor: str) -> Order:
        pieces = cursor.split(".")
        if len(pieces) != PIECES or pieces[0] != self._epoch or not all(map(str.isdecimal, pieces[1:])):
            raise InvalidRequest("cursor", f"{cursor!r} is not of this database", hint="start again without a cursor")
        return int(pieces[1]), int(pieces[2])

    async def wait(self, seconds: float) -> bool:
        return await self._listening.wait(seconds)

    def begin(self) -> None:
        self._listening.open()

    def rest(self) -> None:
        self._listening.close()


async def _job(transaction: Transaction, job_id: str) -> StateJob:
    rows = await transaction.run("states_job", job_id=job_id)
    if not rows:
        raise NotFound("states of job", job_id)
    return _job_of(rows[0])


async def _one(transaction: Transaction, job_id: str, key: StateKey) -> JobStates:
    rows = await transaction.run("states_one", job_id=job_id, task=key.task, tag=key.tag)
    if not rows:
        raise NotFound("states of job", job_id)
    row = rows[0]
    return JobStates(_job_of(row[:4]), [state_of(row[4:])] if row[4] is not None else [])


def _job_of(row: Row) -> StateJob:
    name, tasks, tags, generation = row
    return StateJob(job_id=name, tasks=tasks, tags=tuple(tags), generation=generation)


def _place(row: Row) -> Order:
    """The position that a row begins with: a transaction and a number."""
    return int(row[0]), row[1]


async def _epoch(transaction: Transaction) -> str:
    ((epoch,),) = await transaction.run("observe_epoch")
    return str(epoch)


def state_of(row: Row) -> State:
    """A row of the table of states, or of their log."""
    job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id, generation = row
    return State(
        job_id=job_id,
        task=task,
        tag=tag,
        status=status,
        severity=Severity(severity),
        message=message,
        payload=payload,
        schema_version=schema_version,
        timestamp=at,
        version=version,
        event_id=event_id,
        generation=generation,
    )
