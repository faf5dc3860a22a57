"""What both queues of hints in Redis share: their keys, the lanes, the horizon, and calls in batches.

state    epoch: the mark of a mirror that is filled; without it nothing else counts
         horizon: the last place that is mirrored, where the store has more ready tasks than are kept here
         spells: how often there was plenty to do
plenty   there while workers find as much as they ask for: nothing is mirrored, everybody looks into the store
lanes    number of a lane -> pipeline, needs, prefers
filling  there while somebody fills the mirror, so that a whole fleet does not
comparing  the same after an outage, for a few seconds
places   task -> where its hint is
lane:…   the hints of a lane; those of suspects under its negative number
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

BOUND = """
local old, edge = redis.call('HGET', KEYS[1], 'horizon') or '', ARGV[1]
local spells = redis.call('HGET', KEYS[1], 'spells') or '0'
if redis.call('EXISTS', KEYS[2]) == 1 or spells ~= ARGV[2] then edge = '0' end
redis.call('HSET', KEYS[1], 'horizon', edge)
if old ~= '' and old ~= edge then redis.call('HDEL', KEYS[1], 'epoch') end
return 1
"""
FILL = """
if redis.call('EXISTS', KEYS[4]) == 1 then return 0 end
local state = redis.call('HMGET', KEYS[1], 'epoch', 'horizon')
if state[1] and state[2] ~= '0' and redis.call('HLEN', KEYS[2]) * 2 >= tonumber(ARGV[1]) then return 0 end
return redis.call('SET', KEYS[3], '1', 'NX', 'PX', ARGV[2]) and 1 or 0
"""
ABOUND = """
if not redis.call('SET', KEYS[2], '1', 'NX', 'PX', ARGV[1]) then return redis.call('PEXPIRE', KEYS[2], ARGV[1]) end
redis.call('HINCRBY', KEYS[1], 'spells', 1)
return redis.call('HSET', KEYS[1], 'horizon', '0')
"""
PLENTY_MILLISECONDS = 1000
"""How long there counts as plenty to do after somebody has found it."""
FILL_MILLISECONDS = 5000
"""After which another may fill the mirror: whoever began may be dead."""
BATCH = 500
"""Tasks in one call; several calls go out together."""
HANDED_MILLISECONDS = 5000
"""After which a hint that nobody has claimed is handed out again: its worker may be dead."""
HIGHEST_PRIORITY, STEP = 10, 10**13
SECOND_BITS = 22
"""A job's number begins with the second in which it was given."""
HIGH, NORMAL = 7, 5


@dataclass(frozen=True, slots=True)
class TakenHints:
    hints: list[Hint]
    epoch: str
    """Empty where nothing is mirrored."""
    lanes: int
    """How many are known; others have added some if it is not as many as one knows."""
    cut: bool
    """Whether the store has more than is kept here."""
    suspects: bool


@dataclass(frozen=True, slots=True)
class Contents:
    hints: list[Hint]
    placed: set[TaskKey]


class HintQueue(abc.ABC):
    kind: ClassVar[str]

    def __init__(self, link: RedisClient) -> None:
        self._link = link
        self._lanes = link.key(self.kind, "lanes")
        self._places, self._handed = link.key(self.kind, "places"), link.key(self.kind, "handed")
        self._state, self._filling = link.key(self.kind, "state"), link.key(self.kind, "filling")
        self._plenty, self._plenty_until = link.key(self.kind, "plenty"), 0.0
        self._prefix = link.key(self.kind, "lane", "")

    async def add(self, waiting: Sequence[ReadyTask], *, announce: tuple[str, str] | None = None) -> int:
        """Enqueue tasks, or put them where they belong; then tell a channel, all on one way. Gives how many."""
        began = time.monotonic()
        lanes = {each.number: each.lane for each in waiting}

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                if lanes:
                    pipe.hset(self._lanes, mapping={str(number): _written(lane) for number, lane in lanes.items()})
                for some in _batches(waiting):
                    pipe.eval(self._script("add"), 3, *self._keys, self._prefix, "".join(map(_added, some)))
                pipe.pttl(self._plenty)
                if announce is not None:
                    pipe.publish(*announce)
                return await pipe.execute()

        answers = await self._link.do(call)
        calls = -(-len(waiting) // BATCH)
        self._believe_plenty(began, answers[bool(lanes) + calls])
        return sum(answers[bool(lanes) : bool(lanes) + calls])

    async def take(self, lanes: Sequence[int], count: int) -> TakenHints:
        """Dequeue hints: they are handed to nobody else for a while, and come back unless they are settled."""
        arguments = [str(each) for each in (self._prefix, count, HANDED_MILLISECONDS, *lanes, *self._more())]

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                pipe.eval(self._script("take"), 4, *self._keys, self._lanes, *arguments)
                pipe.pttl(self._plenty)
                return await pipe.execute()

        began = time.monotonic()
        (epoch, *rest), plenty = await self._link.do(call)
        self._believe_plenty(began, plenty)
        if not epoch:
            return TakenHints([], "", 0, cut=False, suspects=False)
        known, horizon, suspects, taken = rest
        hints = [Hint(key_of(member), int(lane), ticket) for member, lane, ticket in taken]
        return TakenHints(hints, epoch, known, cut=bool(horizon), suspects=bool(suspects))

    async def settle(self, gone: Iterable[Hint] = (), back: Iterable[Hint] = ()) -> None:
        """Hints that were claimed go, others are given back."""
        await self._settle([*(("gone", hint) for hint in gone), *(("back", hint) for hint in back)])

    async def remove(self, keys: Iterable[TaskKey]) -> None:
        """Forget tasks, wherever their hints are."""
        await self._settle([("remove", Hint(key, 0)) for key in keys])

    async def discard(self, hints: Iterable[Hint]) -> None:
        """Forget these very hints."""
        await self._settle([("remove", hint) for hint in hints])

    async def size(self) -> int:
        """How many tasks have a hint, handed out or not."""
        return int(await self._link.do(lambda client: client.hlen(self._places)))

    async def peek(self, count: int) -> list[TaskKey]:
        """The first tasks that wait, as they would be handed out; nothing is."""
        hints = [hint for hint in (await self.contents()).hints if hint.lane > 0]
        return [hint.key for hint in await self._in_order(hints)][:count]

    @property
    def plenty(self) -> bool:
        """Whether there is surely plenty to do, as far as was heard: then nothing need be mirrored."""
        return time.monotonic() < self._plenty_until

    async def abound(self) -> None:
        """Say that there is plenty to do: for a while the horizon is before everything, and everybody looks."""
        began = time.monotonic()
        if self._plenty_until - began > PLENTY_MILLISECONDS / 2000:
            return
        await self._link.do(lambda client: client.eval(ABOUND, 2, self._state, self._plenty, str(PLENTY_MILLISECONDS)))
        self._believe_plenty(began, PLENTY_MILLISECONDS)

    async def spells(self) -> str | None:
        """How often there was plenty to do; None while there is."""

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                pipe.exists(self._plenty)
                pipe.hget(self._state, "spells")
                return await pipe.execute()

        plenty, count = await self._link.do(call)
        return None if plenty else count or "0"

    async def bound(self, horizon: ReadyTask | None, spells: str = "0") -> None:
        """Say how far the mirror goes: as far as this task, or as far as there are any.

        One that was moved lets in what it kept out before: the mirror counts as empty until it is marked again.
        If there was plenty to do since the `spells` were counted, what came then was not mirrored: the mirror ends
        before everything.
        """
        edge = "" if horizon is None else f"{score(horizon)}{member(horizon.key)}"
        await self._link.do(lambda client: client.eval(BOUND, 2, self._state, self._plenty, edge, spells))

    async def mark(self) -> None:
        """Say that the mirror is filled."""
        await self._link.do(lambda client: client.hsetnx(self._state, "epoch", secrets.token_hex(8)))

    async def may_fill(self, most: int) -> bool:
        """Whether the mirror lacks its mark or is not even half full, and nobody else is at it; not amid plenty."""
        keys = [self._state, self._places, self._filling, self._plenty]
        arguments = [str(most), str(FILL_MILLISECONDS)]
        return bool(await self._link.do(lambda client: client.eval(FILL, len(keys), *keys, *arguments)))

    async def may_compare(self) -> bool:
        """Whether nobody has begun to compare the mirror with the store, for its own sake, a moment ago."""
        guard = self._link.key(self.kind, "comparing")
        return bool(await self._link.do(lambda client: client.set(guard, "1", nx=True, px=FILL_MILLISECONDS)))

    async def filled(self) -> None:
        """Let others fill it from now on."""
        await self._link.do(lambda client: client.delete(self._filling))

    async def lanes(self) -> dict[int, Lane]:
        written = await self._link.do(lambda client: client.hgetall(self._lanes))
        return {int(number): _read(text) for number, text in written.items()}

    async def clear(self) -> None:
        """Forget everything; whoever asks next is told to look into the store."""
        keys = [self._state, self._filling, self._plenty, self._places, self._handed]
        keys += [key for number in await self.lanes() for key in self._keys_of(number)]
        await self._link.do(lambda client: client.delete(*keys, self._lanes))

    @abc.abstractmethod
    async def contents(self) -> Contents:
        """Every hint that is there, handed out or not."""

    @abc.abstractmethod
    def place(self, waiting: ReadyTask) -> str:
        """How the ticket of a hint at this task begins, where its lane and its priority are as they should be."""

    @abc.abstractmethod
    async def _in_order(self, hints: list[Hint]) -> list[Hint]: ...

    @abc.abstractmethod
    def _keys_of(self, lane: int) -> list[str]: ...

    def _believe_plenty(self, since: float, milliseconds: int) -> None:
        """Never longer than it is true: counted from before it was asked, and nobody takes it back."""
        self._plenty_until = max(self._plenty_until, since + milliseconds / 1000)

    def _more(self) -> list[str]:
        return []

    @property
    def _keys(self) -> list[str]:
        return [self._state, self._places, self._handed]

    def _script(self, name: str) -> str:
        return _text(f"{self.kind}_{name}.lua")

    async def _settle(self, said: Sequence[tuple[str, Hint]]) -> None:
        if not said:
            return

        async def call(client: Client) -> list[Any]:
            async with client.pipeline(transaction=False) as pipe:
                for some in _batches(said):
                    lines = "".join(
                        f"{what} {member(hint.key)} {hint.lane or ''} {hint.ticket}\n" for what, hint in some
                    )
                    pipe.eval(self._script("settle"), 3, *self._keys, self._prefix, lines)
                return await pipe.execute()

        await self._link.do(call)


def score(waiting: ReadyTask) -> str:
    """The most urgent first, then by the age of the job; what is equal in both is sorted by `member`."""
    return f"{(HIGHEST_PRIORITY - waiting.priority) * STEP + (waiting.key.job_id >> SECOND_BITS) * 1000:015d}"


def member(key: TaskKey) -> str:
    """Digits that sort as the store does: by job, stage and part."""
    return f"{key.job_id:016d}{key.stage:05d}{key.part:010d}"


def key_of(text: str) -> TaskKey:
    return TaskKey(int(text[:16]), int(text[16:21]), int(text[21:]))


def level(priority: int) -> str:
    return "high" if priority >= HIGH else "normal" if priority >= NORMAL else "low"


def _added(waiting: ReadyTask) -> str:
    """A line for the script: one text for many tasks is a fraction of the work of an argument for each word."""
    return f"{member(waiting.key)} {waiting.number} {score(waiting)} {level(waiting.priority)}\n"


def _batches(items: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def _written(lane: Lane) -> str:
    return json.dumps([lane.pipeline, sorted(lane.needs), sorted(lane.prefers)])


def _read(text: str | bytes) -> Lane:
    pipeline, needs, prefers = json.loads(text)
    return Lane(pipeline, frozenset(needs), frozenset(prefers))


@cache
def _text(name: str) -> str:
    return (files("reelstate.dispatch") / "lua" / name).read_text()
