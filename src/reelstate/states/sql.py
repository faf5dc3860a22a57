"""States in the engine's own database: SQLite or PostgreSQL. A bell tells other processes when to look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reelstate.core.document import LIMITS, encode_optional
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.state import Severity, State, StateJob, StateWrite, checked_job, require_free, require_same
from reelstate.dispatch.dispatch import Bell, Dispatch
from reelstate.feed.feed import Feed
from reelstate.feed.listening import Listening
from reelstate.feed.log import Entry, Order, Stretch, Topics, stretch
from reelstate.states.state_store import STATE_MARKS, StoreFigures
from reelstate.stores.store import Row, Store, Transaction

PIECES = 3
"""Of a cursor: the epoch of the database, the transaction, the number."""


class SqlStateStore:
    def __init__(self, store: Store, dispatch: Dispatch) -> None:
        self._store = store
        self._dispatch = dispatch
        self._feeds: dict[tuple[str, int], Feed[State]] = {}
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
        self._dispatch.ring(Bell.STATE)
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

    async def states(self, job_id: str) -> Sequence[State]:
        async def flow(transaction: Transaction) -> list[Row]:
            job = await _job(transaction, job_id)
            return await transaction.run("states_all", job_id=job_id, generation=job.generation)

        return [state_of(row) for row in await self._store.read(flow)]

    async def feed(self, job: StateJob) -> Feed[State]:
        key = job.job_id, job.generation
        if key not in self._feeds:
            epoch = await self._store.read(_epoch)
            log = SqlLog(self._store, self._dispatch, job, epoch)
            self._feeds.setdefault(key, Feed(log, marks=STATE_MARKS))
        return self._feeds[key]

    async def delete_job(self, job_id: str) -> bool:
        return bool(await self._deleted([job_id]))

    async def forget(self, *, older: float) -> list[str]:
        quiet = await self._store.read(lambda transaction: transaction.run("states_quiet", older=float(older)))
        return await self._deleted([row[0] for row in quiet])

    async def close(self) -> None:
        for feed in self._feeds.values():
            await feed.close()

    async def _deleted(self, job_ids: list[str]) -> list[str]:
        if not job_ids:
            return []
        rows = await self._store.write(lambda transaction: transaction.run("states_delete", job_ids=job_ids))
        return sorted(row[0] for row in rows)


class SqlLog:
    """The log of one job. Its cursors are those of the engine's own feed."""

    def __init__(self, store: Store, dispatch: Dispatch, job: StateJob, epoch: str) -> None:
        self._store = store
        self._listening = Listening(dispatch, [Bell.STATE])
        self._job = job
        self._epoch = epoch

    def first(self) -> str:
        return f"{self._epoch}.0.0"

    async def head(self) -> str:
        ((_, xid, number, _),) = await self._store.read(lambda transaction: transaction.run("observe_head"))
        return f"{self._epoch}.{xid}.{number}"

    async def read(self, after: str, limit: int, topics: Topics = None) -> Stretch[State]:  # noqa: ARG002 - of one job
        xid, number = self.order(after)
        parameters: dict[str, Any] = {"job_id": self._job.job_id, "generation": self._job.generation}
        rows = await self._store.read(
            lambda transaction: transaction.run(
                "states_feed", after_xid=str(xid), after_id=number, limit=limit, **parameters
            )
        )
        return stretch([Entry(f"{self._epoch}.{row[0]}.{row[1]}", state_of(row[2:])) for row in rows], after, limit)

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
    name, tasks, tags, generation = rows[0]
    return StateJob(job_id=name, tasks=tasks, tags=tuple(tags), generation=generation)


async def _epoch(transaction: Transaction) -> str:
    ((epoch,),) = await transaction.run("observe_epoch")
    return str(epoch)


def state_of(row: Row) -> State:
    """A row of the table of states, or of their log."""
    job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id = row
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
    )
