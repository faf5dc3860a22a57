"""What both queues of hints in Redis share: their keys, the lanes, the horizon, and batched calls.

state      epoch: the mark of a filled mirror; without it nothing else counts
           horizon: the last mirrored position, where the store has more ready tasks than are kept here
           busy_periods: how often workers became busy
busy       exists while workers find as much as they ask for: nothing is mirrored, every claim asks the store
lanes      number of a lane -> pipeline, needs, prefers
filling    exists while a process fills the mirror, so that the others do not
comparing  the same after an outage, for a few seconds
positions  task -> where its hint is
taken      hints that were handed out and not settled
lane:…     the hints of a lane; those of isolated tasks under its negative number
"""

from __future__ import annotations

import abc
import json
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

from reelstate.connections.redis import Client, RedisClient
from reelstate.core.model import TaskKey
from reelstate.dispatch.hints import Hint, Lane, ReadyTask

SET_HORIZON = """
local old, edge = redis.call('HGET', KEYS[1], 'horizon') or '', ARGV[1]
local busy_periods = redis.call('HGET', KEYS[1], 'busy_periods') or '0'
if redis.call('EXISTS', KEYS[2]) == 1 or busy_periods ~= ARGV[2] then edge = '0' end
redis.call('HSET', KEYS[1], 'horizon', edge)
if old ~= '' and old ~= edge then redis.call('HDEL', KEYS[1], 'epoch') end
return 1
"""
BEGIN_FILL = """
if redis.call('EXISTS', KEYS[4]) == 1 then return 0 end
local state = redis.call('HMGET', KEYS[1], 'epoch', 'horizon')
if state[1] and state[2] ~= '0' and redis.call('HLEN', KEYS[2]) * 2 >= tonumber(ARGV[1]) then return 0 end
return redis.call('SET', KEYS[3], '1', 'NX', 'PX', ARGV[2]) and 1 or 0
"""
SET_BUSY = """
if not redis.call('SET', KEYS[2], '1', 'NX', 'PX', ARGV[1]) then return redis.call('PEXPIRE', KEYS[2], ARGV[1]) end
redis.call('HINCRBY', KEYS[1], 'busy_periods', 1)
return redis.call('HSET', KEYS[1], 'horizon', '0')
"""
BUSY_MILLISECONDS = 1000
"""How long workers count as busy after one found as much as it asked for."""
FILL_MILLISECONDS = 5000
"""After which another process may fill the mirror: the one that began may be dead."""
BATCH = 500
"""Tasks per script call; several calls are sent together."""
TAKEN_MILLISECONDS = 5000
"""After which an unclaimed hint is handed out again: its worker may be dead."""
HIGHEST_PRIORITY, PRIORITY_STEP = 10, 10**13
SECOND_BITS = 22
"""The bits of a job id below the second in which it was created."""
HIGH, NORMAL = 7, 5


@dataclass(frozen=True, slots=True)
class TakenHints:
    """What `take` returns."""

    hints: list[Hint]
    epoch: str
    """Empty if nothing is mirrored."""
    lanes: int
    """How many lanes Redis knows; if the caller knows fewer, another process has added some."""
    is_cut: bool
    """Whether the store has more ready tasks than are kept here."""
    has_isolated: bool
    """Whether isolated tasks wait."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Every hint, and the tasks that have a position."""

    hints: list[Hint]
    positioned: set[TaskKey]


class HintQueue(abc.ABC):
    """A queue of hints in Redis."""

    kind: ClassVar[str]

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis
        self._lanes = redis.key(self.kind, "lanes")
        self._positions, self._taken = redis.key(self.kind, "positions"), redis.key(self.kind, "taken")
        self._state, self._filling = redis.key(self.kind, "state"), redis.key(self.kind, "filling")
        self._busy, self._busy_until = redis.key(self.kind, "busy"), 0.0
        self._prefix = redis.key(self.kind, "lane", "")
        self.taken_milliseconds = TAKEN_MILLISECONDS

    async def add(self, tasks: Sequence[ReadyTask], *, announce: tuple[str, str] | None = None) -> int:
        """Add tasks, or move them to their position, and announce it, in one round trip. Return how many."""
        began = time.monotonic()
        lanes = {task.number: task.lane for task in tasks}

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                if lanes:
                    pipe.hset(self._lanes, mapping={str(number): _encode_lane(lane) for number, lane in lanes.items()})
                for batch in _batches(tasks):
                    pipe.eval(self._script("add"), 3, *self._keys, self._prefix, "".join(map(_add_line, batch)))
                pipe.pttl(self._busy)
                if announce is not None:
                    pipe.publish(*announce)
                return await pipe.execute()

        results = await self._redis.run(call)
        calls = -(-len(tasks) // BATCH)
        self._extend_busy(began, results[bool(lanes) + calls])
        return sum(results[bool(lanes) : bool(lanes) + calls])

    async def take(self, lanes: Sequence[int], limit: int) -> TakenHints:
        """Take up to `limit` hints. They are handed out again after a while unless they are settled."""
        arguments = [
            str(each) for each in (self._prefix, limit, self.taken_milliseconds, *lanes, *self._extra_arguments())
        ]

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                pipe.eval(self._script("take"), 4, *self._keys, self._lanes, *arguments)
                pipe.pttl(self._busy)
                return await pipe.execute()

        began = time.monotonic()
        (epoch, *rest), busy = await self._redis.run(call)
        self._extend_busy(began, busy)
        if not epoch:
            return TakenHints([], "", 0, is_cut=False, has_isolated=False)
        known, horizon, isolated, taken = rest
        hints = [Hint(key_of(member), int(lane), ticket) for member, lane, ticket in taken]
        return TakenHints(hints, epoch, known, is_cut=bool(horizon), has_isolated=bool(isolated))

    async def settle(self, gone: Iterable[Hint] = (), back: Iterable[Hint] = ()) -> None:
        """Remove hints whose tasks were claimed, and put the others back."""
        await self._settle([*(("gone", hint) for hint in gone), *(("back", hint) for hint in back)])

    async def remove(self, keys: Iterable[TaskKey]) -> None:
        """Remove the hints of tasks, wherever they are."""
        await self._settle([("remove", Hint(key, 0)) for key in keys])

    async def discard(self, hints: Iterable[Hint]) -> None:
        """Remove these hints, unless their tasks were added again."""
        await self._settle([("remove", hint) for hint in hints])

    async def size(self) -> int:
        """Return how many tasks have a hint, taken or not."""
        return int(await self._redis.run(lambda client: client.hlen(self._positions)))

    async def peek(self, limit: int) -> list[TaskKey]:
        """Return the first waiting tasks in the order of delivery, without taking them."""
        hints = [hint for hint in (await self.contents()).hints if hint.lane > 0]
        return [hint.key for hint in await self._sort(hints)][:limit]

    @property
    def is_busy(self) -> bool:
        """Whether workers are known to be busy: then nothing is mirrored."""
        return time.monotonic() < self._busy_until

    async def set_busy(self) -> None:
        """Mark workers as busy for a while: the horizon is before every task, and every claim asks the store."""
        began = time.monotonic()
        if self._busy_until - began > BUSY_MILLISECONDS / 2000:
            return
        await self._redis.run(lambda client: client.eval(SET_BUSY, 2, self._state, self._busy, str(BUSY_MILLISECONDS)))
        self._extend_busy(began, BUSY_MILLISECONDS)

    async def busy_periods(self) -> str | None:
        """Return how often workers became busy; None while they are."""

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                pipe.exists(self._busy)
                pipe.hget(self._state, "busy_periods")
                return await pipe.execute()

        busy, count = await self._redis.run(call)
        return None if busy else count or "0"

    async def set_horizon(self, last: ReadyTask | None, busy_periods: str = "0") -> None:
        """Set the last mirrored task; None if all ready tasks are mirrored.

        A horizon that moved admits tasks that were left out before, so the mirror counts as empty until it is marked
        again. If workers became busy since `busy_periods` was read, tasks were not mirrored: the horizon is then set
        before every task.
        """
        edge = "" if last is None else f"{score(last)}{member(last.key)}"
        await self._redis.run(lambda client: client.eval(SET_HORIZON, 2, self._state, self._busy, edge, busy_periods))

    async def mark(self) -> None:
        """Mark the mirror as filled."""
        await self._redis.run(lambda client: client.hsetnx(self._state, "epoch", secrets.token_hex(8)))

    async def may_fill(self, max_hints: int) -> bool:
        """Return whether this process should fill the mirror: it is unmarked or less than half full.

        False while another process fills it or workers are busy.
        """
        keys = [self._state, self._positions, self._filling, self._busy]
        arguments = [str(max_hints), str(FILL_MILLISECONDS)]
        return bool(await self._redis.run(lambda client: client.eval(BEGIN_FILL, len(keys), *keys, *arguments)))

    async def may_compare(self) -> bool:
        """Return whether this process should compare the mirror with the store: no other has just begun to."""
        guard = self._redis.key(self.kind, "comparing")
        return bool(await self._redis.run(lambda client: client.set(guard, "1", nx=True, px=FILL_MILLISECONDS)))

    async def end_fill(self) -> None:
        """Let other processes fill the mirror."""
        await self._redis.run(lambda client: client.delete(self._filling))

    async def lanes(self) -> dict[int, Lane]:
        encoded = await self._redis.run(lambda client: client.hgetall(self._lanes))
        return {int(number): _decode_lane(text) for number, text in encoded.items()}

    async def clear(self) -> None:
        """Remove everything; the next claim asks the store."""
        keys = [self._state, self._filling, self._busy, self._positions, self._taken]
        keys += [key for number in await self.lanes() for key in self._lane_keys(number)]
        await self._redis.run(lambda client: client.delete(*keys, self._lanes))

    @abc.abstractmethod
    async def contents(self) -> Contents:
        """Return every hint, taken or not."""

    @abc.abstractmethod
    def position(self, task: ReadyTask) -> str:
        """Return how the ticket of a hint at this task begins if its lane and priority are right."""

    @abc.abstractmethod
    async def _sort(self, hints: list[Hint]) -> list[Hint]: ...

    @abc.abstractmethod
    def _lane_keys(self, lane: int) -> list[str]: ...

    def _extend_busy(self, since: float, milliseconds: int) -> None:
        """Count from before the call, so that it never lasts longer than the key in Redis."""
        self._busy_until = max(self._busy_until, since + milliseconds / 1000)

    def _extra_arguments(self) -> list[str]:
        return []

    @property
    def _keys(self) -> list[str]:
        return [self._state, self._positions, self._taken]

    def _script(self, name: str) -> str:
        return _text(f"{self.kind}_{name}.lua")

    async def _settle(self, outcomes: Sequence[tuple[str, Hint]]) -> None:
        if not outcomes:
            return

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                for batch in _batches(outcomes):
                    lines = "".join(
                        f"{outcome} {member(hint.key)} {hint.lane or ''} {hint.ticket}\n" for outcome, hint in batch
                    )
                    pipe.eval(self._script("settle"), 3, *self._keys, self._prefix, lines)
                return await pipe.execute()

        await self._redis.run(call)


def score(task: ReadyTask) -> str:
    """Return digits that sort by priority, then by the age of the job; `member` decides between equals."""
    return f"{(HIGHEST_PRIORITY - task.priority) * PRIORITY_STEP + (task.key.job_id >> SECOND_BITS) * 1000:015d}"


def member(key: TaskKey) -> str:
    """Return digits that sort as the store does: by job, stage and part."""
    return f"{key.job_id:016d}{key.stage:05d}{key.part:010d}"


def key_of(text: str) -> TaskKey:
    """Return the task of a member."""
    return TaskKey(int(text[:16]), int(text[16:21]), int(text[21:]))


def level(priority: int) -> str:
    """Return the priority level of a stream."""
    return "high" if priority >= HIGH else "normal" if priority >= NORMAL else "low"


def _add_line(task: ReadyTask) -> str:
    """Return a line for the script: one text for many tasks is much cheaper than an argument per word."""
    return f"{member(task.key)} {task.number} {score(task)} {level(task.priority)}\n"


def _batches(items: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def _encode_lane(lane: Lane) -> str:
    return json.dumps([lane.pipeline, sorted(lane.needs), sorted(lane.prefers)])


def _decode_lane(text: str | bytes) -> Lane:
    pipeline, needs, prefers = json.loads(text)
    return Lane(pipeline, frozenset(needs), frozenset(prefers))


@cache
def _text(name: str) -> str:
    return (files("reelstate.dispatch") / "lua" / name).read_text()
