"""Limits: how many tasks may run at once, or start in a period, and whose turn is next.

A limit selects tasks by pipeline, stage and user, and counts them together or apart for each value of a key (`per`).
Selected tasks wait in a queue for each combination of keys, and are admitted to the lanes that workers claim from only
while every key has room. A limit without a number admits as many as workers ask for, and lets its keys take turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heapify, heappop, heappush
from math import isfinite
from typing import Final, TypedDict

from reelstate.core.document import plain_text
from reelstate.core.errors import InvalidRequest

MAX_RUNNING: Final = 1_000_000
MAX_STARTS: Final = 10_000
MAX_PERIOD: Final = 31 * 86_400.0
MIN_PERIOD: Final = 0.1
MAX_WEIGHTS: Final = 1000
MAX_WEIGHT: Final = 1000.0
NAME_LIMIT: Final = 100
TEXT_LIMIT: Final = 255
KEYS: Final = re.compile(r"user|job|spec(\.[A-Za-z0-9_-]{1,64}){1,8}")
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class LimitOptions(TypedDict, total=False):
    """Options of a limit: fields of `Limit`."""

    pipeline: str | None
    stage: str | None
    user_id: str | None
    per: str | None
    running: int | None
    starts: int | None
    period: float | None
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit by its name: which tasks it selects, by which key it counts them, and how many it admits."""

    name: str
    pipeline: str | None = None
    stage: str | None = None
    user_id: str | None = None
    per: str | None = None
    """`user`, `job`, or a value in the spec, such as `spec.customer`; None counts all tasks together."""
    running: int | None = None
    """Tasks of a key that may run at once."""
    starts: int | None = None
    """Tasks of a key that may start within any `period`."""
    period: float | None = None
    """Seconds."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Turns of a key for each turn of another one; 1 where it is not named."""

    def check(self) -> None:
        """Raise `InvalidRequest` for what no limit can be."""
        if not NAME.fullmatch(plain_text("name", self.name, NAME_LIMIT)):
            raise InvalidRequest("name", f"{self.name!r} is not a name", hint="letters, digits, '.', '_' and '-'")
        for what, text in (("pipeline", self.pipeline), ("stage", self.stage), ("user", self.user_id)):
            plain_text(what, text or "", TEXT_LIMIT)
        if self.stage and not self.pipeline:
            raise InvalidRequest("stage", "needs a pipeline", hint="name the pipeline of the stage too")
        if self.per is not None and not KEYS.fullmatch(self.per):
            raise InvalidRequest("per", f"{self.per!r} is not a key", hint="user, job, or spec.NAME")
        if self.running is not None and not 1 <= self.running <= MAX_RUNNING:
            raise InvalidRequest("running", f"{self.running} is not 1 to {MAX_RUNNING}", hint="pause to run none")
        self._check_rate()
        self._check_weights()
        if self.running is None and self.starts is None and self.per is None:
            raise InvalidRequest(
                "limit", "limits nothing", hint="give running, starts with period, or per to let keys take turns"
            )

    def _check_rate(self) -> None:
        if (self.starts is None) != (self.period is None):
            raise InvalidRequest("starts", "needs a period", hint="such as 100 starts in 60 seconds")
        if self.starts is not None and not 1 <= self.starts <= MAX_STARTS:
            raise InvalidRequest("starts", f"{self.starts} is not 1 to {MAX_STARTS}", hint="use a shorter period")
        if self.period is not None and not MIN_PERIOD <= self.period <= MAX_PERIOD:
            raise InvalidRequest("period", f"{self.period} is not {MIN_PERIOD} to {MAX_PERIOD:.0f}", hint="seconds")

    def _check_weights(self) -> None:
        if self.weights and self.per is None:
            raise InvalidRequest("weights", "need a key", hint="give per, such as per='user'")
        if len(self.weights) > MAX_WEIGHTS:
            raise InvalidRequest("weights", f"name {len(self.weights)} keys", hint=f"at most {MAX_WEIGHTS}")
        for key, weight in self.weights.items():
            plain_text("weights", key, TEXT_LIMIT)
            if not isfinite(weight) or not 1 / MAX_WEIGHT <= weight <= MAX_WEIGHT:
                raise InvalidRequest("weights", f"{weight} of {key!r} is not 0.001 to 1000", hint="1 is the default")

    def __str__(self) -> str:
        """Return a sentence, such as `customers: 4 running per spec.customer in transcode.encode`."""
        numbers = []
        if self.running is not None:
            numbers.append(f"{self.running} running")
        if self.starts is not None:
            numbers.append(f"{self.starts} starts in {self.period:g} s")
        where = f"{self.pipeline}.{self.stage}" if self.stage else self.pipeline
        parts = [" and ".join(numbers) or "turns"]
        parts += [f"per {self.per}"] if self.per else []
        parts += [f"in {where}"] if where else []
        parts += [f"for user {self.user_id}"] if self.user_id else []
        return f"{self.name}: {' '.join(parts)}"


@dataclass(frozen=True, slots=True)
class LimitRecord:
    """A limit in force, or one that was removed, and who set it."""

    id: int
    limit: Limit
    reason: str | None
    actor: str
    declared: bool
    """Whether it comes with a pipeline; a change by an operator takes precedence over that."""
    created_at: datetime
    changed_at: datetime
    removed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LimitUse:
    """A key of a limit: how many of its tasks run or are next to be claimed, and how many wait."""

    key: str
    running: int
    starts: int
    """Starts within the period."""
    waiting: int
    """Up to a thousand."""


@dataclass(frozen=True, slots=True)
class Room:
    """What the limit of a key still admits. None: it has no such number."""

    running: int | None
    starts: int | None
    weight: float = 1.0

    @property
    def left(self) -> int | None:
        """Return the number of tasks that may be admitted now; None for a limit that only lets keys take turns."""
        numbers = [number for number in (self.running, self.starts) if number is not None]
        return max(0, min(numbers)) if numbers else None


@dataclass(frozen=True, slots=True)
class WaitingQueue:
    """The tasks that wait for the same keys in the same lane: the priorities of the first, in their order."""

    id: int
    lane: int
    keys: Sequence[int]
    turn: float
    priorities: Sequence[int]
    more: bool
    """Whether tasks wait beyond those in `priorities`."""


@dataclass(slots=True)
class Grant:
    """What a queue gets: a number of tasks, its next turn, and what it waits for afterwards."""

    queue: int
    tasks: int
    turn: float
    waits: bool
    priority: int
    blocked_by: int | None = None


def allocate(
    queues: Iterable[WaitingQueue], rooms: Mapping[int, Room], demand: Mapping[int, int], most: int
) -> list[Grant]:
    """Share the room of all keys among waiting queues: by priority, then in turns; a grant for each queue.

    A queue whose keys have no number takes from the `demand` of its lane. At most `most` tasks are granted.
    """
    left = {key: room.left for key, room in rooms.items()}
    open_demand = dict(demand)
    grants: dict[int, Grant] = {}
    waiting: list[tuple[int, float, int]] = []
    known = {queue.id: queue for queue in queues}
    for queue in known.values():
        priority = queue.priorities[0] if queue.priorities else 0
        grants[queue.id] = Grant(queue.id, 0, queue.turn, waits=bool(queue.priorities) or queue.more, priority=priority)
        if queue.priorities:
            waiting.append((-priority, queue.turn, queue.id))
    heapify(waiting)
    granted = 0
    while waiting and granted < most:
        _, _, number = heappop(waiting)
        queue, grant = known[number], grants[number]
        limited = [key for key in queue.keys if left.get(key) is not None]
        full = next((key for key in limited if left[key] == 0), None)
        if full is not None:
            grant.blocked_by = full
            continue
        if not limited:
            if open_demand.get(queue.lane, 0) <= 0:
                continue
            open_demand[queue.lane] -= 1
        for key in limited:
            left[key] = (left[key] or 0) - 1
        granted += 1
        grant.tasks += 1
        grant.turn += 1 / _weight(queue, rooms)
        if grant.tasks < len(queue.priorities):
            grant.priority = queue.priorities[grant.tasks]
            heappush(waiting, (-grant.priority, grant.turn, number))
        else:
            grant.waits = queue.more
            grant.blocked_by = next((key for key in limited if left[key] == 0), None) if queue.more else None
    return list(grants.values())


def _weight(queue: WaitingQueue, rooms: Mapping[int, Room]) -> float:
    weights = [rooms[key].weight for key in queue.keys if key in rooms]
    return next((weight for weight in weights if weight != 1.0), 1.0)
