"""States in the memory of one process: for tests, and for work within one process."""

from __future__ import annotations

import asyncio
import contextlib
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.state import (
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
from reelstate.feed.feed import Feed
from reelstate.feed.log import CursorGone, Entry, LogPage, Order, Topics, page_after
from reelstate.states.state_store import STATE_MARKS, StoreFigures

Clock = Callable[[], datetime]


@dataclass(slots=True)
class _MemoryJob:
    """One job: its generation, its states, its log and its feed."""

    job: StateJob
    log: list[tuple[int, State]] = field(default_factory=list)
    """Numbered from 1 in each generation; pruned versions leave gaps."""
    newest: dict[StateKey, State] = field(default_factory=dict)
    events: dict[tuple[StateKey, str], State] = field(default_factory=dict)
    numbered: int = 0
    floor: int = 0
    """The number of the last version that was pruned."""
    deleted: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    feed: Feed[State] | None = None

    def append(self, state: State) -> None:
        self.numbered += 1
        self.log.append((self.numbered, state))
        self.newest[state.key] = self.events[state.key, state.event_id] = state
        self.changed.set()

    def delete(self) -> None:
        """Become a tombstone: the next generation, empty."""
        self.job = replace(self.job, generation=self.job.generation + 1)
        self.log, self.newest, self.events = [], {}, {}
        self.numbered = self.floor = 0
        self.deleted = True
        self.changed.set()

    def prune(self, past: datetime) -> int:
        """Delete superseded versions of this time or older; return their number."""
        old = [(number, state) for number, state in self.log if self._is_superseded(state) and state.timestamp <= past]
        for number, state in old:
            self.floor = max(self.floor, number)
            del self.events[state.key, state.event_id]
        gone = {number for number, _ in old}
        self.log = [entry for entry in self.log if entry[0] not in gone]
        return len(old)

    def _is_superseded(self, state: State) -> bool:
        return state.version < self.newest[state.key].version


class MemoryStore:
    """States in memory, lost when the process ends."""

    def __init__(self, clock: Clock = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._jobs: dict[str, _MemoryJob] = {}
        self.figures = StoreFigures()

    async def open_job(self, job: StateJob) -> StateJob:
        wanted = validate_job(job)
        kept = self._jobs.get(wanted.job_id)
        if kept is None:
            kept = self._jobs[wanted.job_id] = _MemoryJob(replace(wanted, generation=1))
        elif kept.deleted:
            kept.job = replace(wanted, generation=kept.job.generation)
            kept.deleted = False
        require_same_job(wanted, kept.job)
        return kept.job

    async def find_job(self, job_id: str) -> StateJob:
        return self._find(job_id).job

    async def write(self, write: StateWrite, generation: int) -> State:
        with self.figures.writing():
            return self._write(write, generation)

    def _write(self, write: StateWrite, generation: int) -> State:
        kept = self._find(write.job_id)
        require_generation(kept.job, generation)
        key = StateKey(write.task, write.tag)
        if (first := kept.events.get((key, write.event_id))) is not None:
            return first
        state = next_state(kept.newest.get(key), write, self._clock(), generation)
        kept.append(state)
        return state

    async def states(self, job_id: str, key: StateKey | None = None) -> JobStates:
        kept = self._find(job_id)
        if key is None:
            return JobStates(kept.job, list(kept.newest.values()))
        return JobStates(kept.job, [kept.newest[key]] if key in kept.newest else [])

    async def feed(self, job_id: str) -> Feed[State]:
        kept = self._jobs.get(job_id)
        if kept is None:
            raise NotFound("states of job", job_id)
        if kept.feed is None:
            kept.feed = Feed(MemoryLog(kept), marks=STATE_MARKS)
        return kept.feed

    async def delete_job(self, job_id: str) -> bool:
        kept = self._jobs.get(job_id)
        if kept is None or kept.deleted:
            return False
        kept.delete()
        return True

    async def forget(self, *, older: float) -> list[str]:
        past = self._clock() - timedelta(seconds=older)
        finished = [job_id for job_id, kept in self._jobs.items() if not kept.deleted and _finished_before(kept, past)]
        for job_id in finished:
            await self.delete_job(job_id)
        return finished

    async def prune(self, *, older: float) -> int:
        past = self._clock() - timedelta(seconds=older)
        return sum(kept.prune(past) for kept in self._jobs.values())

    async def close(self) -> None:
        for kept in self._jobs.values():
            if kept.feed is not None:
                await kept.feed.close()

    def _find(self, job_id: str) -> _MemoryJob:
        kept = self._jobs.get(job_id)
        if kept is None or kept.deleted:
            raise NotFound("states of job", job_id)
        return kept


class MemoryLog:
    """The log of one job; a cursor is `generation.number`."""

    def __init__(self, kept: _MemoryJob) -> None:
        self._kept = kept

    def first(self) -> str:
        return self._cursor(0)

    async def head(self) -> str:
        return self._cursor(self._kept.numbered)

    async def read(self, after: str, limit: int, topics: Topics = None) -> LogPage[State]:  # noqa: ARG002 - of one job
        self._kept.changed.clear()
        generation, start = self.order(after)
        if generation < self._kept.job.generation or 0 < start < self._kept.floor:
            raise CursorGone(after, resume=self._cursor(self._kept.floor))
        first = bisect_right(self._kept.log, start, key=lambda entry: entry[0])
        page = self._kept.log[first : first + limit]
        return page_after([Entry(self._cursor(number), state) for number, state in page], after, limit)

    def order(self, cursor: str) -> Order:
        generation, _, number = cursor.partition(".")
        if not (generation.isdecimal() and number.isdecimal()) or int(generation) > self._kept.job.generation:
            raise InvalidRequest(
                "cursor", f"{cursor!r} is not a cursor of this job", hint="start again without a cursor"
            )
        return int(generation), int(number)

    def _cursor(self, number: int) -> str:
        return f"{self._kept.job.generation}.{number}"

    async def wait(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._kept.changed.wait()
        return False

    def start_listening(self) -> None:
        """Do nothing: a write sets the event that `wait` awaits."""

    def stop_listening(self) -> None:
        """Do nothing."""


def _finished_before(kept: _MemoryJob, past: datetime) -> bool:
    states = kept.newest.values()
    newest = max((state.timestamp for state in states), default=None)
    return newest is not None and newest <= past and aggregate(kept.job, states).status == FINISHED
