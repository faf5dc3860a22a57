"""States in Firestore: for fleets that share a Google Cloud project and no database.

A write is one transaction: it reads the job (its generation), the newest state (the next version) and the log document
of its event (a repeated write), and writes the state and a new log document. Writers of other keys never wait for it.
The cost: a collection whose documents are indexed by time takes some 500 writes per second, so a job does too; and
readers go by the time of commits, not by a counter (see `firestore_log`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from reelstate.core.errors import InvalidRequest, NotFound, StoreError, StoreUnavailable
from reelstate.core.state import (
    BEGINNING,
    FINISHED,
    JobStates,
    State,
    StateJob,
    StateKey,
    StateWrite,
    aggregate,
    next_state,
    require_generation,
    require_same_job,
    validate_job,
)
from reelstate.feed.feed import FIRST_DELAY, Feed
from reelstate.feed.log import Order
from reelstate.states.firestore_documents import (
    DELETED,
    FLOOR,
    JOBS,
    LOG,
    STATES,
    TIMESTAMP,
    floor_of,
    job_from,
    job_name,
    log_name,
    logged_from,
    state_fields,
    state_from,
    state_name,
    tombstone_fields,
)
from reelstate.states.firestore_log import FirestoreLog, where
from reelstate.states.state_store import STATE_MARKS, StoreFigures

EMULATOR: Final = "FIRESTORE_EMULATOR_HOST"
MILLISECOND: Final = 1_000_000
BATCH: Final = 300
CHECK_AT: Final = "checkAt"
"""The field of a job with the time of its last known write: `forget` reads jobs where that is long enough ago."""
MAX_ATTEMPTS: Final = 20
"""Of a transaction that conflicts with another one."""

Result = TypeVar("Result")


class FirestoreStore:
    """The states in one Google Cloud project. `calls` limits concurrent calls."""

    def __init__(
        self,
        project_id: str,
        *,
        database: str = "(default)",
        collection: str = JOBS,
        calls: int | None = None,
        delay: float = FIRST_DELAY,
    ) -> None:
        if not project_id:
            raise InvalidRequest("project_id", "is empty", hint="name the Google Cloud project; there is no default")
        self._library = library()
        self._client = self._library.AsyncClient(project=project_id, database=database)
        self._jobs = self._client.collection(collection)
        self._calls = asyncio.Semaphore(calls) if calls else contextlib.nullcontext()
        self._delay = delay
        self._tick = MILLISECOND if EMULATOR in os.environ else 0
        self._writing: WeakValueDictionary[tuple[str, StateKey], asyncio.Lock] = WeakValueDictionary()
        self._opening = asyncio.Lock()
        self._logs: dict[str, FirestoreLog] = {}
        self._feeds: dict[str, Feed[State]] = {}
        self.figures = StoreFigures()

    async def open_job(self, job: StateJob) -> StateJob:
        wanted = validate_job(job)
        document = self._document(wanted.job_id)

        async def flow(transaction: Any) -> StateJob:
            (about,) = await self._read(transaction, document)
            if about.exists and not about.get("deleted"):
                return job_from(wanted.job_id, about.to_dict())
            created = replace(wanted, generation=about.get("generation") + 1 if about.exists else 1)
            transaction.set(document, self._job_fields(created))
            return created

        stored, _ = await self._transaction(flow)
        require_same_job(wanted, stored)
        return stored

    async def find_job(self, job_id: str) -> StateJob:
        fields = await self._fields(job_id)
        if fields["deleted"]:
            raise NotFound("states of job", job_id)
        return job_from(job_id, fields)

    async def write(self, write: StateWrite, generation: int) -> State:
        with self.figures.writing():
            return await self._write(write, generation)

    async def states(self, job_id: str, key: StateKey | None = None) -> JobStates:
        """Read the document of the job, for its generation; the listener has the states.

        Without a listener the state of one key is read by its name: two documents.
        """
        known = job_id in self._logs
        self.figures.read(hit=known)
        if key is not None and not known:
            return await self._read_one(job_id, key)
        job = await self.find_job(job_id)
        states = (await self._log(job)).states()
        return JobStates(job, states if key is None else [state for state in states if state.key == key])

    async def feed(self, job_id: str) -> Feed[State]:
        fields = await self._fields(job_id)
        job = job_from(job_id, fields)
        log = await self._log(replace(job, generation=job.generation + 1) if fields["deleted"] else job)
        log.raise_floor(floor_of(fields))
        return self._feeds.setdefault(job_id, Feed(log, delay=self._delay, marks=STATE_MARKS))

    async def delete_job(self, job_id: str) -> bool:
        """Write the tombstone first: documents that an interruption leaves are of a generation that is not read."""
        document = self._document(job_id)

        async def flow(transaction: Any) -> int | None:
            (about,) = await self._read(transaction, document)
            if not about.exists or about.get("deleted"):
                return None
            generation = int(about.get("generation"))
            transaction.update(document, {"deleted": True, CHECK_AT: None, FLOOR: None})
            tombstone = {**tombstone_fields(job_id, generation), TIMESTAMP: self._library.SERVER_TIMESTAMP}
            transaction.set(document.collection(LOG).document(DELETED), tombstone)
            return generation

        generation, _ = await self._transaction(flow)
        if generation is None:
            return False
        if (log := self._logs.get(job_id)) is not None:
            log.begin_generation(generation + 1)
        for name in (STATES, LOG):
            await self._purge(document.collection(name), generation)
        return True

    async def forget(self, *, older: float) -> list[str]:
        """Check only jobs that are due; an unfinished job is due again after `older` seconds."""
        now = datetime.now(UTC)
        past = now - timedelta(seconds=older)
        async with self._guard_call():
            due = [snapshot async for snapshot in where(self._jobs, CHECK_AT, "<=", past).stream()]
        return sorted([name for name in [await self._forget_job(each, past, now) for each in due] if name is not None])

    async def _forget_job(self, snapshot: Any, past: datetime, now: datetime) -> str | None:
        job = job_from(snapshot.get("jobID"), snapshot.to_dict())
        newest, finished = await self._newest(job)
        if finished and newest <= past:
            return job.job_id if await self.delete_job(job.job_id) else None
        async with self._guard_call():
            await snapshot.reference.update({CHECK_AT: newest if newest > past else now})
        return None

    async def prune(self, *, older: float) -> int:
        """Read every job that is not deleted: run it rarely, and from one process."""
        past = datetime.now(UTC) - timedelta(seconds=older)
        async with self._guard_call():
            jobs = [snapshot async for snapshot in where(self._jobs, "deleted", "==", False).stream()]
        return sum([await self._prune_job(job_from(each.get("jobID"), each.to_dict()), past) for each in jobs])

    async def _prune_job(self, job: StateJob, past: datetime) -> int:
        """Raise the floor first: a reader that misses a version finds the floor above its cursor."""
        document = self._document(job.job_id)
        newest = {state.key: state.version for state in await self._newest_states(job)}
        async with self._guard_call():
            query = where(document.collection(LOG), TIMESTAMP, "<=", past)
            found = [snapshot async for snapshot in query.stream() if snapshot.get("generation") == job.generation]
        logged = [(logged_from(job.job_id, each.to_dict(), each.update_time), each.reference) for each in found]
        old = [(each.order, name) for each, name in logged if each.state.version < newest.get(each.state.key, 0)]
        if old:
            await self._raise_floor(job, max(order for order, _ in old))
            for start in range(0, len(old), BATCH):
                await self._delete([name for _, name in old[start : start + BATCH]])
        return len(old)

    async def _raise_floor(self, job: StateJob, floor: Order) -> None:
        document = self._document(job.job_id)

        async def flow(transaction: Any) -> None:
            (about,) = await self._read(transaction, document)
            if about.exists and about.get("generation") == job.generation and not about.get("deleted"):
                raised = max(floor, floor_of(about.to_dict()))
                transaction.update(document, {FLOOR: ".".join(map(str, raised))})

        await self._transaction(flow)

    async def close(self) -> None:
        for feed in self._feeds.values():
            await feed.close()
        for log in self._logs.values():
            await log.close()
        await self._client._firestore_api.transport.close()  # noqa: SLF001 - the client's own close awaits nothing

    def _document(self, job_id: str) -> Any:
        return self._jobs.document(job_name(job_id))

    async def _fields(self, job_id: str) -> dict[str, Any]:
        async with self._guard_call():
            snapshot = await self._document(job_id).get()
        fields: dict[str, Any] | None = snapshot.to_dict()
        if fields is None:
            raise NotFound("states of job", job_id)
        return fields

    async def _floor(self, job_id: str) -> Order:
        return floor_of(await self._fields(job_id))

    async def _read_one(self, job_id: str, key: StateKey) -> JobStates:
        document = self._document(job_id)
        async with self._guard_call():
            about, newest = await self._read(None, document, document.collection(STATES).document(state_name(key)))
        if not about.exists or about.get("deleted"):
            raise NotFound("states of job", job_id)
        job = job_from(job_id, about.to_dict())
        same = newest.exists and newest.get("generation") == job.generation
        return JobStates(job, [state_from(job_id, newest.to_dict(), newest.update_time)] if same else [])

    def _job_fields(self, job: StateJob) -> dict[str, Any]:
        return {
            "jobID": job.job_id,
            "numTasks": job.tasks,
            "tags": list(job.tags),
            "generation": job.generation,
            "deleted": False,
            "createdAt": self._library.SERVER_TIMESTAMP,
            CHECK_AT: datetime.now(UTC),
            FLOOR: None,
        }

    async def _write(self, write: StateWrite, generation: int) -> State:
        key = StateKey(write.task, write.tag)
        lock = self._writing.setdefault((write.job_id, key), asyncio.Lock())
        async with lock:  # another write of this process would only conflict with this transaction
            job, stored, fields, committed = await self._store_state(write, key, generation)
        if job is None:
            raise NotFound("states of job", write.job_id)
        require_generation(job, generation)
        if (log := self._logs.get(write.job_id)) is not None and fields:
            log.add_written(fields, committed)
        return stored if not fields else state_from(write.job_id, fields, committed)

    async def _store_state(
        self, write: StateWrite, key: StateKey, generation: int
    ) -> tuple[StateJob | None, State, dict[str, Any], datetime]:
        """Return the job, the state that the same event stored before or the fields stored now, and the commit time."""
        document = self._document(write.job_id)
        newest = document.collection(STATES).document(state_name(key))
        logged = document.collection(LOG).document(log_name(generation, key, write.event_id))
        nothing = next_state(None, write, BEGINNING)

        async def flow(transaction: Any) -> tuple[StateJob | None, State, dict[str, Any]]:
            about, before, first = await self._read(transaction, document, newest, logged)
            if not about.exists or about.get("deleted"):
                return None, nothing, {}
            job = job_from(write.job_id, about.to_dict())
            if job.generation != generation:
                return job, nothing, {}
            if first.exists:
                return job, state_from(write.job_id, first.to_dict(), first.update_time), {}
            same = before.exists and before.get("generation") == generation
            last = state_from(write.job_id, before.to_dict(), before.update_time) if same else None
            fields = state_fields(next_state(last, write, BEGINNING, generation), generation)
            stamped = {**fields, TIMESTAMP: self._library.SERVER_TIMESTAMP}
            transaction.set(newest, stamped)
            transaction.create(logged, stamped)
            return job, nothing, fields

        (job, stored, fields), committed = await self._transaction(flow)
        return job, stored, fields, committed

    async def _log(self, job: StateJob) -> FirestoreLog:
        """Return the log of a job; there is one listener per job."""
        async with self._opening:
            log = self._logs.get(job.job_id)
            if log is None:
                document = self._document(job.job_id)
                log = FirestoreLog(
                    self._client, document, job, self._guard_call, self._floor, tick=self._tick, delay=self._delay
                )
                await log.open()
                self._logs[job.job_id] = log
            elif log.begin_generation(job.generation):
                await log.read_states()
            return log

    async def _purge(self, collection: Any, generation: int) -> None:
        old = where(where(collection, "generation", "<=", generation), "generation", ">=", 1).limit(BATCH)
        while True:
            async with self._guard_call():
                found = [snapshot.reference async for snapshot in old.stream()]
            await self._delete(found)
            if len(found) < BATCH:
                return

    async def _delete(self, references: Sequence[Any]) -> None:
        async with self._guard_call():
            batch = self._client.batch()
            for reference in references:
                batch.delete(reference)
            if references:
                await batch.commit()

    async def _newest(self, job: StateJob) -> tuple[datetime, bool]:
        """Return the time of the newest state, and whether all states are finished."""
        states = await self._newest_states(job)
        newest = max((state.timestamp for state in states), default=BEGINNING)
        return newest, bool(states) and aggregate(job, states).status == FINISHED

    async def _newest_states(self, job: StateJob) -> list[State]:
        async with self._guard_call():
            query = where(self._document(job.job_id).collection(STATES), "generation", "==", job.generation)
            snapshots = [snapshot async for snapshot in query.stream()]
        return [state_from(job.job_id, snapshot.to_dict(), snapshot.update_time) for snapshot in snapshots]

    async def _read(self, transaction: Any, *documents: Any) -> list[Any]:
        """Read documents in a transaction, in the order given."""
        found = self._client.get_all(documents, transaction=transaction)
        named = {snapshot.reference.path: snapshot async for snapshot in found}
        return [named[document.path] for document in documents]

    async def _transaction(self, flow: Callable[[Any], Awaitable[Result]]) -> tuple[Result, datetime]:
        """Run a flow in a transaction; return its result and the commit time."""
        from google.api_core.exceptions import AlreadyExists, InvalidArgument  # noqa: PLC0415 - an extra

        run = self._library.async_transactional(flow)
        async with self._guard_call():
            transaction = self._client.transaction(max_attempts=MAX_ATTEMPTS)
            try:
                result = await run(transaction)
            except (AlreadyExists, InvalidArgument):  # the response to its commit was lost: the event is found now
                result = await run(transaction)
            return result, transaction.commit_time

    @contextlib.asynccontextmanager
    async def _guard_call(self) -> AsyncIterator[None]:
        async with self._calls:
            try:
                yield
            except Exception as error:
                if (translated := _translate_error(error)) is None:
                    raise
                raise translated from error


def library() -> ModuleType:
    """Return the client library; raise `StoreUnavailable` where it is not installed."""
    try:
        from google.cloud import firestore  # noqa: PLC0415 - an extra
    except ImportError:
        hint = "pip install reelstate[firestore]"
        raise StoreUnavailable("the client library of Firestore is not installed", hint=hint) from None
    module: ModuleType = firestore
    return module


def _translate_error(error: BaseException) -> StoreError | None:
    """Return the error of a call. The library may hide it behind others, such as a failed rollback."""
    from google.api_core import exceptions  # noqa: PLC0415 - an extra

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, exceptions.GoogleAPIError):
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return None
    if isinstance(cause, (exceptions.Forbidden, exceptions.Unauthorized)):
        return StoreError(f"Firestore refused: {cause}", hint="see its roles in docs/guides/states.md")
    if isinstance(cause, exceptions.ClientError) and not isinstance(cause, exceptions.Aborted):
        return StoreError(f"Firestore refused: {cause}")
    return StoreUnavailable(f"Firestore is unreachable: {cause}", hint="retry with the same event id")
