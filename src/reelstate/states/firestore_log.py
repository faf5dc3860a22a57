"""The log of a job in Firestore: one listener a process, a tail of what it heard, and queries for what is older.

A cursor is the time of a commit. Firestore's commits are ordered by their time, and a snapshot says up to which time
it is complete: what it has handed out stays as it was, and no counter makes the writers of a job wait for each other.
A query can't ask for the time of the commit, though, only for the `timestamp` in the document, which the server sets
shortly before. So a query begins `LATEST` before its cursor and drops what was there already: a few documents are read
twice, after a reconnect or when an old cursor is followed. Should a commit take even longer, its version is missed by
the one after it, and fetched by its number.

```text
 listener ──▶ tail (settled, in order) ──▶ read          query by timestamp ──▶ read of what is older
    └──▶ newest state of each key: the cache
```
"""
# ruff: noqa: SLF001 - the async client has no listener; this one makes the call that the other client's listener makes

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Final
from weakref import WeakSet

from reelstate.core.errors import InvalidRequest, StoreError, StoreUnavailable
from reelstate.core.state import State, StateJob, StateKey
from reelstate.feed.feed import FIRST_DELAY, MAX_DELAY
from reelstate.feed.log import CursorGone, Entry, Order, Stretch, Topics, stretch
from reelstate.runtime.cancellation import cancel_and_wait
from reelstate.states.firestore_documents import (
    BEFORE_ALL,
    DELETED,
    LOG,
    SECOND,
    STATES,
    TIMESTAMP,
    Logged,
    logged_from,
    moment,
    nanoseconds,
)

logger = logging.getLogger("reelstate.states.firestore")

Asking = Callable[[], AbstractAsyncContextManager[None]]
"""Around every call: it keeps the rate, and says errors in our words."""

LATEST: Final = 15 * SECOND
"""The longest that a commit takes after the server has stamped it."""
KEPT: Final = 10_000
"""Entries in memory for those who follow; who is further behind reads from the store."""
QUIET: Final = 60.0
"""Seconds without a word from the listener after which the log is looked at anyway."""
PIECES: Final = 4
TARGET: Final = 1


class FirestoreLog:
    """The log of a job, of its present generation alone. Its cursors are `generation.time.version.number`.

    The listener learns of a deletion by a document in the log, and of a new generation by that or by its first state.
    """

    def __init__(
        self,
        client: Any,
        document: Any,
        job: StateJob,
        asking: Asking,
        floor: Callable[[str], Awaitable[Order]],
        *,
        tick: int = 0,
        pause: float = FIRST_DELAY,
    ) -> None:
        self._client = client
        self._states = document.collection(STATES)
        self._log = document.collection(LOG)
        self._job = job
        self._generation = job.generation
        self._stored_floor = floor
        self._floor = BEFORE_ALL
        self._asking = asking
        self._tick = tick
        self._pause = pause
        self._newest: dict[StateKey, State] = {}
        self._settled_versions: dict[StateKey, int] = {}
        self._pending: dict[Order, Logged] = {}
        self._tail: list[Logged] = []
        self._begin = self._through = self._own = BEFORE_ALL
        self._taking = asyncio.Lock()
        self._changed = asyncio.Event()
        self._back = asyncio.Event()
        self._error: str | None = None
        self._told: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._heard = 0.0
        self._listener: asyncio.Task[None] | None = None
        self.reconnects = 0
        self.back_filled = 0

    async def open(self) -> None:
        """Read what is, and listen from there on."""
        await self.read_states()
        self._heard = time.monotonic()
        self._listener = asyncio.create_task(self._listen_for_ever(), name=f"states of {self._job.job_id}")

    async def read_states(self) -> None:
        async with self._asking():
            snapshots = [snapshot async for snapshot in self._states.stream()]
        states = [self._logged(snapshot) for snapshot in snapshots if self._is_ours(snapshot.to_dict())]
        if states:
            self._start(states, nanoseconds(snapshots[0].read_time) - self._tick)

    def begin_generation(self, generation: int) -> bool:
        """Drop what is known of an earlier generation; whether this one is new here."""
        if generation <= self._generation:
            return False
        self._generation = generation
        self._newest, self._settled_versions, self._pending, self._tail = {}, {}, {}, []
        self._begin = self._through = self._own = self._floor = BEFORE_ALL
        self._changed.set()
        return True

    def raise_floor(self, floor: Order) -> None:
        """Note up to where versions were deleted because of their age."""
        self._floor = max(self._floor, floor)

    async def close(self) -> None:
        if self._listener is not None:
            await cancel_and_wait(self._listener)
            self._listener = None

    def states(self) -> list[State]:
        """The newest of each key, by what was heard and by what this process wrote itself."""
        return list(self._newest.values())

    def wrote(self, fields: dict[str, Any], committed: datetime) -> State:
        """What this process wrote is known here at once: whoever writes reads what he wrote."""
        each = logged_from(self._job.job_id, fields, committed)
        self.begin_generation(each.state.generation)
        if not self._is_ours(fields):
            return each.state
        self._own = max(self._own, each.order)
        self._remember(each.state)
        return each.state

    def first(self) -> str:
        return self._cursor(BEFORE_ALL)

    async def head(self) -> str:
        await self._present()
        while self._through < self._own:
            await self._look()
        return self._cursor(self._through)

    async def read(self, after: str, limit: int, topics: Topics = None) -> Stretch[State]:  # noqa: ARG002 - of one job
        order = self.order(after)[1:]
        self._changed.clear()
        await self._present()
        self._require_kept(after)
        if self._pending or time.monotonic() - self._heard > QUIET:
            await self._look()
        if order >= self._begin:
            start = bisect_right(self._tail, order, key=lambda each: each.order)
            page = self._tail[start : start + limit]
        else:
            page = await self._older(order, limit)
            self.raise_floor(await self._stored_floor(self._job.job_id))
        self._require_kept(after)
        return stretch([Entry(self._cursor(each.order), each.state) for each in page], after, limit)

    def order(self, cursor: str) -> Order:
        pieces = cursor.split(".")
        if len(pieces) != PIECES or not all(map(str.isdecimal, pieces)) or int(pieces[0]) > self._generation:
            raise InvalidRequest("cursor", f"{cursor!r} is not of this job", hint="start again without a cursor")
        return tuple(map(int, pieces))

    async def wait(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._changed.wait()
        return False

    def begin(self) -> None:
        """The listener is there since the log was opened."""

    def rest(self) -> None:
        """The listener goes on: it also keeps what is newest at hand."""

    def _cursor(self, order: Order) -> str:
        return ".".join(map(str, (self._generation, *order)))

    def _require_kept(self, after: str) -> None:
        """Refuse a cursor of an earlier generation, or from before a version that was deleted."""
        generation, *order = self.order(after)
        if generation < self._generation or BEFORE_ALL < tuple(order) < self._floor:
            raise CursorGone(after, resume=self._cursor(self._floor))

    def _is_ours(self, fields: dict[str, Any]) -> bool:
        """Whether a document is of the present generation, which a later one, or a deletion, has begun."""
        self.begin_generation(fields[DELETED] + 1 if DELETED in fields else fields["generation"])
        return bool(fields["generation"] == self._generation)

    def _logged(self, snapshot: Any) -> Logged:
        return logged_from(self._job.job_id, snapshot.to_dict(), snapshot.update_time)

    def _start(self, states: Iterable[Logged], settled: int) -> None:
        """A state that is newer than the moment of reading may hide an older version that is still to come."""
        for each in states:
            self._remember(each.state)
            if each.order[0] <= settled:
                self._begin = self._through = max(self._begin, each.order)
                self._settled_versions[each.state.key] = each.state.version
            else:
                self._settled_versions[each.state.key] = -1

    def _remember(self, state: State) -> None:
        known = self._newest.get(state.key)
        if known is None or known.version < state.version:
            self._newest[state.key] = state

    def _since(self, order: Order) -> Any:
        """The documents that may have been committed after an order."""
        return where(self._log, TIMESTAMP, ">=", moment(order[0] - LATEST)).order_by(TIMESTAMP)

    async def _look(self) -> None:
        """What the listener would say, asked for."""
        async with self._asking():
            snapshots = [snapshot async for snapshot in self._since(self._through).stream()]
        self._heard = time.monotonic()
        if snapshots:
            found = [self._logged(snapshot) for snapshot in snapshots if self._is_ours(snapshot.to_dict())]
            await self._take(found, nanoseconds(snapshots[0].read_time))
        if self._pending:
            self._changed.set()

    async def _older(self, order: Order, limit: int) -> list[Logged]:
        """A page from the store, complete up to its last entry: what is stamped later was committed later still."""
        through, enough = self._through, limit + 1
        found: list[Logged] = []
        async with self._asking(), contextlib.aclosing(self._since(order).stream()) as snapshots:
            async for snapshot in snapshots:
                fields = snapshot.to_dict()
                each = self._logged(snapshot)
                if self._is_ours(fields) and order < each.order <= through:
                    found.append(each)
                if len(found) >= enough:
                    stamped = nanoseconds(fields[TIMESTAMP])
                    safe = [each for each in found if each.order[0] < stamped]
                    if len(safe) >= limit:
                        return _in_order(safe)[:limit]
                    enough += max(1, limit // 10)
        return _in_order(found)[:limit]

    async def _take(self, found: Iterable[Logged], complete: int) -> None:
        """Put what was found at its place; everything up to a moment is there. Two are taken one after the other.

        Where the clock has ticks (an emulator counts milliseconds), another commit may yet come in the last of them.
        """
        async with self._taking:
            for each in found:
                if each.order > self._through and each.state.generation == self._generation:
                    self._pending[each.order] = each
                    self._remember(each.state)
            ready = [self._pending.pop(order) for order in sorted(self._pending) if order[0] <= complete - self._tick]
            for each in ready:
                missing = await self._missing_before(each)
                if each.state.generation != self._generation:  # it was deleted meanwhile
                    break
                self._tail += [*missing, each]
                self._settled_versions[each.state.key] = each.state.version
                self._through = each.order
            self._trim()
        if ready or self._pending:
            self._changed.set()

    def _trim(self) -> None:
        if len(self._tail) > 2 * KEPT:
            self._begin = self._tail[-KEPT - 1].order
            del self._tail[:-KEPT]

    async def _missing_before(self, each: Logged) -> list[Logged]:
        """The versions between the last one and this one. They stand right before it: cursors have gone past them."""
        last = self._settled_versions.get(each.state.key, 0)
        if last < 0:
            return []
        missing = range(last + 1, each.state.version)
        return [await self._version(each, version) for version in missing]

    async def _version(self, later: Logged, version: int) -> Logged:
        query = where(self._log, "generation", "==", self._generation)
        query = where(where(query, "taskID", "==", later.state.task), "tag", "==", later.state.tag)
        query = where(query, "version", "==", version)
        async with self._asking():
            snapshots = [snapshot async for snapshot in query.stream()]
        if not snapshots:
            raise StoreError(f"version {version} of {later.state.key} of job {self._job.job_id!r} is not in its log")
        self.back_filled += 1
        found = self._logged(snapshots[0])
        return found._replace(order=(later.order[0], version, found.order[2]))

    async def _present(self) -> None:
        """While the store is away each caller is told so once, and then waits for it."""
        caller = asyncio.current_task()
        if self._error is None or caller is None:
            return
        if caller not in self._told:
            self._told.add(caller)
            raise StoreUnavailable(f"Firestore is away: {self._error}", hint="it is asked again, for ever")
        await self._back.wait()

    async def _listen_for_ever(self) -> None:
        pause = self._pause
        while True:
            try:
                await self._listen()
                error = "the stream ended"
            except Exception as failure:  # noqa: BLE001 - whatever it was: a listener that is gone is missed by all
                error = str(failure)
            if self._error is None:
                logger.warning("the listener of job %s is away: %s", self._job.job_id, error)
                pause = self._pause
                self._back.clear()
                self._told.clear()
                self._error = error
                self._changed.set()
            await asyncio.sleep(random.uniform(self._pause, pause))
            pause = min(MAX_DELAY, 2 * pause)

    async def _listen(self) -> None:
        from google.cloud.firestore_v1.types import TargetChange  # noqa: PLC0415 - an extra

        kinds = TargetChange.TargetChangeType
        stream = await self._client._firestore_api.listen(
            requests=self._requests(), metadata=self._client._rpc_metadata, retry=None
        )
        found: list[Logged] = []
        current = False
        async for response in stream:
            change = response.target_change
            kind = change.target_change_type
            if response.document_change.document.name:
                found += self._heard_of(response.document_change.document)
            elif kind == kinds.REMOVE:
                raise StoreUnavailable(f"the listener was refused: {change.cause.message}")
            elif kind in {kinds.RESET, kinds.CURRENT}:
                current = kind == kinds.CURRENT
                found = found if current else []
            elif current and kind == kinds.NO_CHANGE and not change.target_ids and change.read_time:
                await self._take(found, nanoseconds(change.read_time))
                found = []
                self._hear()

    async def _requests(self) -> AsyncIterator[dict[str, Any]]:
        query = self._since(self._through)
        parent, _ = self._log._parent_info()
        target = {"query": {"parent": parent, "structured_query": query._to_protobuf()}, "target_id": TARGET}
        yield {"database": self._client._database_string, "add_target": target}
        await asyncio.Event().wait()  # the stream lasts as long as this does

    def _heard_of(self, document: Any) -> list[Logged]:
        from google.cloud.firestore_v1._helpers import decode_dict  # noqa: PLC0415 - an extra

        if nanoseconds(document.update_time) < self._through[0]:
            return []
        fields: Any = decode_dict(document.fields, self._client)
        return [logged_from(self._job.job_id, fields, document.update_time)] if self._is_ours(fields) else []

    def _hear(self) -> None:
        self._heard = time.monotonic()
        if self._error is not None:
            logger.warning("the listener of job %s is back", self._job.job_id)
            self._error = None
            self.reconnects += 1
            self._back.set()


def where(query: Any, name: str, operator: str, value: Any) -> Any:
    from google.cloud.firestore_v1.base_query import FieldFilter  # noqa: PLC0415 - an extra

    return query.where(filter=FieldFilter(name, operator, value))


def _in_order(found: Iterable[Logged]) -> list[Logged]:
    return sorted(found, key=lambda each: each.order)
