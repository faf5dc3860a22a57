"""The log of a job in Firestore: one listener per process, a tail of recent versions, and queries for older ones.

A cursor is the time of a commit. Firestore orders commits by time, and a snapshot reports up to which time it is
complete, so no counter is needed that writers of a job would wait for. A query can't select by the time of the commit,
only by the `timestamp` in the document, which the server sets shortly before. So a query starts `MAX_COMMIT_DELAY`
before its cursor and drops the documents that were read already: a few are read twice after a reconnect or for an old
cursor. A commit that took even longer shows as a gap in the versions, and is read by its version.

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
from reelstate.feed.log import CursorGone, Entry, LogPage, Order, Topics, page_after
from reelstate.runtime.cancellation import cancel_and_wait
from reelstate.states.firestore_documents import (
    BEFORE_ALL,
    DELETED,
    LOG,
    SECOND,
    STATES,
    TIMESTAMP,
    LoggedState,
    logged_from,
    nanoseconds,
    time_of,
)

logger = logging.getLogger("reelstate.states.firestore")

CallGuard = Callable[[], AbstractAsyncContextManager[None]]
"""Wraps every call: it limits concurrent calls and translates errors."""

MAX_COMMIT_DELAY: Final = 15 * SECOND
"""From the timestamp of a document to its commit."""
TAIL_LENGTH: Final = 10_000
"""Versions in memory; older ones are read from the store."""
LISTENER_TIMEOUT: Final = 60.0
"""Seconds without a message from the listener after which the log is queried."""
CURSOR_PARTS: Final = 4
TARGET: Final = 1


class FirestoreLog:
    """The log of the current generation of a job. Its cursors are `generation.time.version.number`.

    A document in the log reports a deletion to the listener; that, or its first state, reports a new generation.
    """

    def __init__(
        self,
        client: Any,
        document: Any,
        job: StateJob,
        guard: CallGuard,
        floor: Callable[[str], Awaitable[Order]],
        *,
        tick: int = 0,
        delay: float = FIRST_DELAY,
    ) -> None:
        self._client = client
        self._states = document.collection(STATES)
        self._log = document.collection(LOG)
        self._job = job
        self._generation = job.generation
        self._stored_floor = floor
        self._floor = BEFORE_ALL
        self._guard = guard
        self._tick = tick
        self._delay = delay
        self._newest: dict[StateKey, State] = {}
        self._settled_versions: dict[StateKey, int] = {}
        self._pending: dict[Order, LoggedState] = {}
        self._tail: list[LoggedState] = []
        self._begin = self._through = self._own = BEFORE_ALL
        self._adding = asyncio.Lock()
        self._changed = asyncio.Event()
        self._connected = asyncio.Event()
        self._error: str | None = None
        self._notified: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._last_seen = 0.0
        self._listener: asyncio.Task[None] | None = None
        self.reconnects = 0
        self.back_filled = 0

    async def open(self) -> None:
        """Read the states and start the listener."""
        await self.read_states()
        self._last_seen = time.monotonic()
        self._listener = asyncio.create_task(self._listen_forever(), name=f"states of {self._job.job_id}")

    async def read_states(self) -> None:
        """Read the newest state of each key."""
        async with self._guard():
            snapshots = [snapshot async for snapshot in self._states.stream()]
        states = [self._logged(snapshot) for snapshot in snapshots if self._is_current(snapshot.to_dict())]
        if states:
            self._start(states, nanoseconds(snapshots[0].read_time) - self._tick)

    def begin_generation(self, generation: int) -> bool:
        """Switch to a newer generation and drop the earlier one; return whether it is newer."""
        if generation <= self._generation:
            return False
        self._generation = generation
        self._newest, self._settled_versions, self._pending, self._tail = {}, {}, {}, []
        self._begin = self._through = self._own = self._floor = BEFORE_ALL
        self._changed.set()
        return True

    def raise_floor(self, floor: Order) -> None:
        """Note the position up to which versions were pruned."""
        self._floor = max(self._floor, floor)

    async def close(self) -> None:
        if self._listener is not None:
            await cancel_and_wait(self._listener)
            self._listener = None

    def states(self) -> list[State]:
        """Return the newest state of each key, from the listener and from the writes of this process."""
        return list(self._newest.values())

    def add_written(self, fields: dict[str, Any], committed: datetime) -> State:
        """Add a write of this process, so that it reads its own writes at once."""
        each = logged_from(self._job.job_id, fields, committed)
        self.begin_generation(each.state.generation)
        if not self._is_current(fields):
            return each.state
        self._own = max(self._own, each.order)
        self._remember(each.state)
        return each.state

    def first(self) -> str:
        return self._cursor(BEFORE_ALL)

    async def head(self) -> str:
        await self._require_connected()
        while self._through < self._own:
            await self._poll()
        return self._cursor(self._through)

    async def read(self, after: str, limit: int, topics: Topics = None) -> LogPage[State]:  # noqa: ARG002 - of one job
        order = self.order(after)[1:]
        self._changed.clear()
        await self._require_connected()
        self._require_kept(after)
        if self._pending or time.monotonic() - self._last_seen > LISTENER_TIMEOUT:
            await self._poll()
        if order >= self._begin:
            start = bisect_right(self._tail, order, key=lambda each: each.order)
            page = self._tail[start : start + limit]
        else:
            page = await self._read_older(order, limit)
            self.raise_floor(await self._stored_floor(self._job.job_id))
        self._require_kept(after)
        return page_after([Entry(self._cursor(each.order), each.state) for each in page], after, limit)

    def order(self, cursor: str) -> Order:
        parts = cursor.split(".")
        if len(parts) != CURSOR_PARTS or not all(map(str.isdecimal, parts)) or int(parts[0]) > self._generation:
            raise InvalidRequest(
                "cursor", f"{cursor!r} is not a cursor of this job", hint="start again without a cursor"
            )
        return tuple(map(int, parts))

    async def wait(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._changed.wait()
        return False

    def start_listening(self) -> None:
        """Do nothing: the listener runs while the log is open."""

    def stop_listening(self) -> None:
        """Do nothing: the listener also keeps the cache of newest states."""

    def _cursor(self, order: Order) -> str:
        return ".".join(map(str, (self._generation, *order)))

    def _require_kept(self, after: str) -> None:
        """Raise `CursorGone` for a cursor of an earlier generation, or from before a pruned version."""
        generation, *order = self.order(after)
        if generation < self._generation or BEFORE_ALL < tuple(order) < self._floor:
            raise CursorGone(after, resume=self._cursor(self._floor))

    def _is_current(self, fields: dict[str, Any]) -> bool:
        """Return whether a document is of the current generation, after switching to a newer one."""
        self.begin_generation(fields[DELETED] + 1 if DELETED in fields else fields["generation"])
        return bool(fields["generation"] == self._generation)

    def _logged(self, snapshot: Any) -> LoggedState:
        return logged_from(self._job.job_id, snapshot.to_dict(), snapshot.update_time)

    def _start(self, states: Iterable[LoggedState], settled: int) -> None:
        """Take states as read. One that is newer than `settled` may hide an older version that is still to come."""
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
        """Return a query of the documents that may have been committed after a position."""
        return where(self._log, TIMESTAMP, ">=", time_of(order[0] - MAX_COMMIT_DELAY)).order_by(TIMESTAMP)

    async def _poll(self) -> None:
        """Query what the listener would report."""
        async with self._guard():
            snapshots = [snapshot async for snapshot in self._since(self._through).stream()]
        self._last_seen = time.monotonic()
        if snapshots:
            found = [self._logged(snapshot) for snapshot in snapshots if self._is_current(snapshot.to_dict())]
            await self._add(found, nanoseconds(snapshots[0].read_time))
        if self._pending:
            self._changed.set()

    async def _read_older(self, order: Order, limit: int) -> list[LoggedState]:
        """Read a page from the store, complete up to its last entry: a later timestamp means a later commit."""
        through, enough = self._through, limit + 1
        found: list[LoggedState] = []
        async with self._guard(), contextlib.aclosing(self._since(order).stream()) as snapshots:
            async for snapshot in snapshots:
                fields = snapshot.to_dict()
                each = self._logged(snapshot)
                if self._is_current(fields) and order < each.order <= through:
                    found.append(each)
                if len(found) >= enough:
                    stamped = nanoseconds(fields[TIMESTAMP])
                    safe = [each for each in found if each.order[0] < stamped]
                    if len(safe) >= limit:
                        return _in_order(safe)[:limit]
                    enough += max(1, limit // 10)
        return _in_order(found)[:limit]

    async def _add(self, found: Iterable[LoggedState], complete: int) -> None:
        """Add versions in order; all up to the time `complete` were found. Concurrent calls wait for each other.

        Where the clock is coarse (an emulator counts milliseconds), the last tick may yet get another commit.
        """
        async with self._adding:
            for each in found:
                if each.order > self._through and each.state.generation == self._generation:
                    self._pending[each.order] = each
                    self._remember(each.state)
            ready = [self._pending.pop(order) for order in sorted(self._pending) if order[0] <= complete - self._tick]
            for each in ready:
                missing = await self._missing_before(each)
                if each.state.generation != self._generation:  # the job was deleted meanwhile
                    break
                self._tail += [*missing, each]
                self._settled_versions[each.state.key] = each.state.version
                self._through = each.order
            self._trim()
        if ready or self._pending:
            self._changed.set()

    def _trim(self) -> None:
        if len(self._tail) > 2 * TAIL_LENGTH:
            self._begin = self._tail[-TAIL_LENGTH - 1].order
            del self._tail[:-TAIL_LENGTH]

    async def _missing_before(self, each: LoggedState) -> list[LoggedState]:
        """Return the versions that were skipped before this one. They get its position: cursors are past their own."""
        last = self._settled_versions.get(each.state.key, 0)
        if last < 0:
            return []
        missing = range(last + 1, each.state.version)
        return [await self._read_version(each, version) for version in missing]

    async def _read_version(self, later: LoggedState, version: int) -> LoggedState:
        query = where(self._log, "generation", "==", self._generation)
        query = where(where(query, "taskID", "==", later.state.task), "tag", "==", later.state.tag)
        query = where(query, "version", "==", version)
        async with self._guard():
            snapshots = [snapshot async for snapshot in query.stream()]
        if not snapshots:
            raise StoreError(f"version {version} of {later.state.key} of job {self._job.job_id!r} is not in its log")
        self.back_filled += 1
        found = self._logged(snapshots[0])
        return found._replace(order=(later.order[0], version, found.order[2]))

    async def _require_connected(self) -> None:
        """While Firestore is unreachable, raise `StoreUnavailable` once per caller, then wait."""
        caller = asyncio.current_task()
        if self._error is None or caller is None:
            return
        if caller not in self._notified:
            self._notified.add(caller)
            raise StoreUnavailable(f"Firestore is unreachable: {self._error}", hint="the listener reconnects by itself")
        await self._connected.wait()

    async def _listen_forever(self) -> None:
        delay = self._delay
        while True:
            try:
                await self._listen()
                error = "the stream ended"
            except Exception as failure:  # noqa: BLE001 - no error may end the listener
                error = str(failure)
            if self._error is None:
                logger.warning("listener lost job=%s: %s", self._job.job_id, error)
                delay = self._delay
                self._connected.clear()
                self._notified.clear()
                self._error = error
                self._changed.set()
            await asyncio.sleep(random.uniform(self._delay, delay))
            delay = min(MAX_DELAY, 2 * delay)

    async def _listen(self) -> None:
        from google.cloud.firestore_v1.types import TargetChange  # noqa: PLC0415 - an extra

        kinds = TargetChange.TargetChangeType
        stream = await self._client._firestore_api.listen(
            requests=self._requests(), metadata=self._client._rpc_metadata, retry=None
        )
        found: list[LoggedState] = []
        current = False
        async for response in stream:
            change = response.target_change
            kind = change.target_change_type
            if response.document_change.document.name:
                found += self._entries_of(response.document_change.document)
            elif kind == kinds.REMOVE:
                raise StoreUnavailable(f"the listener was refused: {change.cause.message}")
            elif kind in {kinds.RESET, kinds.CURRENT}:
                current = kind == kinds.CURRENT
                found = found if current else []
            elif current and kind == kinds.NO_CHANGE and not change.target_ids and change.read_time:
                await self._add(found, nanoseconds(change.read_time))
                found = []
                self._set_connected()

    async def _requests(self) -> AsyncIterator[dict[str, Any]]:
        query = self._since(self._through)
        parent, _ = self._log._parent_info()
        target = {"query": {"parent": parent, "structured_query": query._to_protobuf()}, "target_id": TARGET}
        yield {"database": self._client._database_string, "add_target": target}
        await asyncio.Event().wait()  # the stream lasts as long as this does

    def _entries_of(self, document: Any) -> list[LoggedState]:
        from google.cloud.firestore_v1._helpers import decode_dict  # noqa: PLC0415 - an extra

        if nanoseconds(document.update_time) < self._through[0]:
            return []
        fields: Any = decode_dict(document.fields, self._client)
        return [logged_from(self._job.job_id, fields, document.update_time)] if self._is_current(fields) else []

    def _set_connected(self) -> None:
        self._last_seen = time.monotonic()
        if self._error is not None:
            logger.warning("listener reconnected job=%s", self._job.job_id)
            self._error = None
            self.reconnects += 1
            self._connected.set()


def where(query: Any, name: str, operator: str, value: Any) -> Any:
    """Add a filter to a query."""
    from google.cloud.firestore_v1.base_query import FieldFilter  # noqa: PLC0415 - an extra

    return query.where(filter=FieldFilter(name, operator, value))


def _in_order(found: Iterable[LoggedState]) -> list[LoggedState]:
    return sorted(found, key=lambda each: each.order)
