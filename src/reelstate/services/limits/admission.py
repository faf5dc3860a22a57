"""admit: move waiting tasks to the lanes that workers claim from, as far as their limits have room.

An admission is one transaction, and one runs at a time, so no count is ever too high:

    fold       tasks that have ended are subtracted from their keys
    route      tasks that have arrived go to the queue of their keys, or to their lane where no limit selects them
    unblock    queues whose key has room again are looked at
    allocate   the room is shared by priority and turn (`core/limit.py`)
    move       the first tasks of each queue that got room go to their lane, and count in their keys

Workers that find too little to claim run it, and so does the keeper, so nothing waits for a process that has died.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple

from reelstate.core.limit import Grant, Room, WaitingQueue, allocate
from reelstate.core.model import Json
from reelstate.stores.store import Batch, NoRow, Row, Statement, Store, Transaction

FOLDED: Final = 10_000
"""Ended tasks that one admission subtracts."""
ROUTED: Final = 5_000
MAX_QUEUES: Final = 1_000
"""Queues that one admission looks at; the others take their turn in the next."""
UNBLOCKED: Final = 100
"""Queues of a key that one admission looks at again; a key with room and more of them stays due."""
MAX_ADMITTED: Final = 1_000
HEAD: Final = 100
"""Tasks of a queue that one admission looks at."""

LimitKey = tuple[int, str]
"""A limit and the value of its key."""


class _Needed(NamedTuple):
    needed: bool


class _Locked(NamedTuple):
    locked: str


class _TriedLock(NamedTuple):
    locked: bool


class _Id(NamedTuple):
    id: int


class _Arrival(NamedTuple):
    job_id: int
    stage: int
    part: int
    lane: int
    priority: int
    wanted: Json


class _KeyRow(NamedTuple):
    id: int
    limit_id: int
    key: str


class QueueRow(NamedTuple):
    id: int
    lane: int
    keys: Json


class _RoutedRow(NamedTuple):
    job_id: int
    queue: int | None


class _CandidateRow(NamedTuple):
    id: int
    lane: int
    keys: Json
    turn: float
    priority: int
    priorities: Json
    tasks: int
    demand: int


class _RoomRow(NamedTuple):
    id: int
    running: int | None
    starts: int | None
    weight: float
    retry_in: float | None


class _AdmittedRow(NamedTuple):
    job_id: int
    stage: int
    part: int
    queue: int


NEEDED = Statement("limit_needed", _Needed)
LOCK = Statement("limit_lock", _Locked)
TRY_LOCK = Statement("limit_try_lock", _TriedLock)
FOLD = Statement("limit_fold", _Id)
ARRIVALS = Statement("limit_arrivals", _Arrival)
ADD_KEYS = Statement("limit_keys_add", _KeyRow)
ADD_QUEUES = Statement("limit_queues_add", QueueRow)
ROUTE = Statement("limit_route", _RoutedRow)
UNBLOCK = Statement("limit_unblock", _Id)
CANDIDATES = Statement("limit_candidates", _CandidateRow)
ROOMS = Statement("limit_rooms", _RoomRow)
ADMIT = Statement("limit_admit", _AdmittedRow)
COUNT = Statement("limit_count", _Id)
EXPECT = Statement("limit_expect", NoRow)
TURNS = Statement("limit_turns", NoRow)
FULL = Statement("limit_full", NoRow)


@dataclass(frozen=True, slots=True)
class Admission:
    """The jobs with tasks that an admission has moved to the lanes, and their number."""

    job_ids: frozenset[int] = frozenset()
    tasks: int = 0
    routed: int = 0
    """Tasks that were given a queue or a lane."""
    shared: bool = False
    """Another admission ran at this moment, and may have moved tasks; this one has waited for it instead."""


async def admit(store: Store, *, demand: int = MAX_ADMITTED, share: bool = False) -> Admission:
    """Admit waiting tasks as far as their limits have room.

    `demand` is how many a worker asks for: keys without a number get no more than that, so that they take turns. With
    `share`, it only waits for another admission that runs: many workers ask at the same moment, and one can do it.
    """
    (found,) = await store.read(lambda transaction: transaction.run(NEEDED))
    if not found.needed:
        return Admission()
    return await store.write(lambda transaction: _admit(transaction, min(demand, MAX_ADMITTED), share=share))


async def _admit(transaction: Transaction, demand: int, *, share: bool) -> Admission:
    (tried,) = await transaction.run(TRY_LOCK)
    if not tried.locked:
        await transaction.run(LOCK)
        if share:
            return Admission(shared=True)
    await transaction.run(FOLD, limit=FOLDED)
    routed = await _route(transaction)
    free = [row for row in routed if row.queue is None]
    await transaction.run(UNBLOCK, limit=MAX_QUEUES, most=UNBLOCKED)
    rows = await transaction.run(CANDIDATES, limit=MAX_QUEUES, cap=HEAD, demand=demand)
    admitted = await _share(transaction, rows) if rows else []
    jobs = frozenset(row.job_id for row in free) | frozenset(row.job_id for row in admitted)
    return Admission(jobs, len(free) + len(admitted), len(routed))


async def _route(transaction: Transaction) -> list[_RoutedRow]:
    """Give tasks that have arrived the queue of their keys, or their lane."""
    arrivals = await transaction.run(ARRIVALS, limit=ROUTED)
    if not arrivals:
        return []
    queues = await queues_of(transaction, [(row.lane, limit_keys(row.wanted), row.priority) for row in arrivals])
    moves: list[Row] = []
    for row in arrivals:
        queue = queues.get((row.lane, limit_keys(row.wanted)))
        moves.append((row.job_id, row.stage, row.part, None if queue is None else queue.id))
    # In the order in which others lock tasks.
    return await transaction.run(
        ROUTE, Batch(("job_id", "stage", "part", "queue"), sorted(moves, key=itemgetter(0, 1, 2)))
    )


def limit_keys(wanted: Json) -> tuple[LimitKey, ...]:
    """Return the limits that select a task, each with its key."""
    return tuple((int(limit_id), str(key)) for limit_id, key in wanted)


async def queues_of(
    transaction: Transaction, tasks: Iterable[tuple[int, tuple[LimitKey, ...], int]]
) -> dict[tuple[int, tuple[LimitKey, ...]], QueueRow]:
    """Return the queue of each lane and keys; those that are new are added. Tasks without a limit have none."""
    priorities: dict[tuple[int, tuple[LimitKey, ...]], int] = {}
    for lane, keys, priority in tasks:
        if keys:
            priorities[lane, keys] = max(priority, priorities.get((lane, keys), 0))
    if not priorities:
        return {}
    named = sorted({key for _, keys in priorities for key in keys})
    ids = {
        (row.limit_id, row.key): row.id for row in await transaction.run(ADD_KEYS, Batch(("limit_id", "key"), named))
    }
    texts = {(lane, _text(ids[key] for key in keys)): (lane, keys) for lane, keys in sorted(priorities)}
    rows = [(*place, priorities[wanted]) for place, wanted in texts.items()]
    queues = await transaction.run(ADD_QUEUES, Batch(("lane", "keys", "priority"), rows))
    return {texts[row.lane, _text(row.keys)]: row for row in queues}


def _text(ids: Iterable[int]) -> str:
    return json.dumps(sorted(ids), separators=(",", ":"))


async def _share(transaction: Transaction, rows: Sequence[_CandidateRow]) -> list[_AdmittedRow]:
    """Allocate the room of all keys, move the tasks, and record what each queue has had and waits for."""
    queues = [
        WaitingQueue(row.id, row.lane, row.keys, row.turn, row.priorities, more=row.tasks > len(row.priorities))
        for row in rows
    ]
    found = await transaction.run(ROOMS, keys=sorted({key for queue in queues for key in queue.keys}))
    rooms = {row.id: Room(row.running, row.starts, row.weight) for row in found}
    demand = {row.lane: row.demand for row in rows}
    grants = allocate(queues, rooms, demand, MAX_ADMITTED)
    admitted = await _move(transaction, {queue.id: queue.keys for queue in queues}, rooms, grants)
    await _record(transaction, grants, rows, Counter(row.queue for row in admitted))
    await _mark_full(transaction, grants, {row.id: row for row in found})
    return admitted


async def _record(
    transaction: Transaction, grants: Sequence[Grant], rows: Sequence[_CandidateRow], moved: Mapping[int, int]
) -> None:
    """Record what each queue has had and waits for, where that has changed.

    A task that another transaction has locked is not moved: its queue waits on.
    """
    before = {row.id: row for row in rows}
    turns: list[Row] = []
    for grant in grants:
        row, tasks = before[grant.queue], moved.get(grant.queue, 0)
        share = (grant.turn - row.turn) * tasks / grant.tasks if grant.tasks else 0.0
        waits = grant.waits or tasks < grant.tasks
        if tasks or not waits or grant.blocked_by is not None or grant.priority != row.priority:
            turns.append((grant.queue, row.turn + share, waits, grant.priority, grant.blocked_by))
    if turns:
        await transaction.run(TURNS, Batch(("id", "turn", "waiting", "priority", "blocked_by"), turns))


async def _move(
    transaction: Transaction, keys: Mapping[int, Sequence[int]], rooms: Mapping[int, Room], grants: Sequence[Grant]
) -> list[_AdmittedRow]:
    wanted: list[Row] = [(grant.queue, grant.tasks) for grant in grants if grant.tasks]
    if not wanted:
        return []
    admitted = await transaction.run(
        ADMIT, Batch(("queue", "tasks"), wanted), most=max(grant.tasks for grant in grants)
    )
    counts: dict[int, int] = defaultdict(int)
    starts: list[Row] = []
    for row in admitted:
        for key in keys[row.queue]:
            counts[key] += 1
            if key in rooms and rooms[key].starts is not None:
                starts.append((key, row.job_id, row.stage, row.part))
    await count(transaction, counts)
    if starts:
        await transaction.run(EXPECT, Batch(("key", "job_id", "stage", "part"), starts))
    return admitted


async def count(transaction: Transaction, tasks: Mapping[int, int], *, adopted: bool = False) -> None:
    """Add tasks to their keys. `adopted` ones run already, so they count even where that is too many."""
    rows: list[Row] = sorted(tasks.items())
    counted = await transaction.run(COUNT, Batch(("id", "tasks"), rows), adopted=adopted)
    if len(counted) != len(rows):
        missed = sorted(tasks.keys() - {row.id for row in counted})
        raise RuntimeError(f"an admission would exceed the limit of keys {missed}")


async def _mark_full(transaction: Transaction, grants: Sequence[Grant], rooms: Mapping[int, _RoomRow]) -> None:
    """Look at keys without room again when a task ends, or when the starts of the period allow it."""
    full: Collection[int] = {grant.blocked_by for grant in grants if grant.blocked_by is not None}
    if full:
        rows: list[Row] = [(key, _next_start(rooms.get(key))) for key in sorted(full)]
        await transaction.run(FULL, Batch(("id", "retry_in"), rows))


def _next_start(room: _RoomRow | None) -> float | None:
    return None if room is None or room.starts is None else room.retry_in
