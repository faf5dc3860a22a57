"""States in the memory of one process: for tests, and for work that needs no more."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.state import (
    FINISHED,
    State,
    StateJob,
    StateKey,
    StateWrite,
    aggregate,
    checked_job,
    following,
    require_generation,
    require_same,
)
from reelstate.feed.feed import Feed
from reelstate.feed.log import Entry, Order, Stretch, Topics, stretch
from reelstate.states.state_store import STATE_MARKS, StoreFigures

Clock = Callable[[], datetime]


@dataclass(slots=True)
class _Kept:
    """One job: what it is, what was said, and who waits for more."""

    job: StateJob
    log: list[State] = field(default_factory=list)
    newest: dict[StateKey, State] = field(default_factory=dict)
    events: dict[tuple[StateKey, str], State] = field(default_factory=dict)
    deleted: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    feed: Feed[State] | None = None


class MemoryStore:
    def __init__(self, clock: Clock = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._jobs: dict[str, _Kept] = {}
        self.figures = StoreFigures()

    async def open_job(self, job: StateJob) -> StateJob:
        wanted = checked_job(job)
        kept = self._jobs.get(wanted.job_id)
        if kept is None:
            kept = self._jobs[wanted.job_id] = _Kept(replace(wanted, generation=1))
        elif kept.deleted:
            kept.job = replace(wanted, generation=kept.job.generation + 1)
            kept.deleted = False
        require_same(wanted, kept.job)
        return kept.job

    async def find_job(self, job_id: str) -> StateJob:
        return self._found(job_id).job

    async def write(self, write: StateWrite, generation: int) -> State:
        with self.figures.writing():
            return self._written(write, generation)

    def _written(self, write: StateWrite, generation: int) -> State:
        kept = self._found(write.job_id)
        require_generation(kept.job, generation)
        key = StateKey(write.task, write.tag)
        if (first := kept.events.get((key, write.event_id))) is not None:
            return first
        state = following(kept.newest.get(key), write, self._clock())
        kept.log.append(state)
        kept.newest[key] = kept.events[key, write.event_id] = state
        kept.changed.set()
        return state

    async def states(self, job_id: str) -> Sequence[State]:
        return list(self._found(job_id).newest.values())

    async def feed(self, job: StateJob) -> Feed[State]:
        kept = self._found(job.job_id)
        require_generation(kept.job, job.generation)
        if kept.feed is None:
            kept.feed = Feed(MemoryLog(kept), marks=STATE_MARKS)
        return kept.feed

    async def delete_job(self, job_id: str) -> bool:
        kept = self._jobs.get(job_id)
        if kept is None or kept.deleted:
            return False
        self._jobs[job_id] = _Kept(kept.job, deleted=True, changed=kept.changed)
        kept.changed.set()
        return True

    async def forget(self, *, older: float) -> list[str]:
        past = self._clock() - timedelta(seconds=older)
        over = [job_id for job_id, kept in self._jobs.items() if not kept.deleted and _finished_before(kept, past)]
        for job_id in over:
            await self.delete_job(job_id)
        return over

    async def close(self) -> None:
        for kept in self._jobs.values():
            if kept.feed is not None:
                await kept.feed.close()

    def _found(self, job_id: str) -> _Kept:
        kept = self._jobs.get(job_id)
        if kept is None or kept.deleted:
            raise NotFound("states of job", job_id)
        return kept


class MemoryLog:
    """The log of one job; a cursor is `generation.number`."""

    def __init__(self, kept: _Kept) -> None:
        self._kept = kept
        self._generation = kept.job.generation

    def first(self) -> str:
        return f"{self._generation}.0"

    async def head(self) -> str:
        return f"{self._generation}.{len(self._kept.log)}"

    async def read(self, after: str, limit: int, topics: Topics = None) -> Stretch[State]:  # noqa: ARG002 - of one job
        self._kept.changed.clear()
        _, start = self.order(after)
        page = self._kept.log[start : start + limit]
        entries = [Entry(f"{self._generation}.{start + number}", state) for number, state in enumerate(page, 1)]
        return stretch(entries, after, limit)

    def order(self, cursor: str) -> Order:
        generation, _, number = cursor.partition(".")
        if generation != str(self._generation) or not number.isdecimal():
            raise InvalidRequest("cursor", f"{cursor!r} is not of this job", hint="start again without a cursor")
        return int(generation), int(number)

    async def wait(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._kept.changed.wait()
        return False

    def begin(self) -> None:
        """Whoever writes wakes whoever waits."""

    def rest(self) -> None:
        """There is nothing to put away."""


def _finished_before(kept: _Kept, past: datetime) -> bool:
    states = kept.newest.values()
    newest = max((state.timestamp for state in states), default=None)
    return newest is not None and newest <= past and aggregate(kept.job, states).status == FINISHED
