"""The feed of the engine: all events and all states in one order, read once a process, and the progress of tasks.

Events and states share their numbering, so one cursor does for both. It is the triple (epoch, transaction, number); see
`observe` for why a number alone is none.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from reelstate.core.model import Event, Json, TaskKey, TaskProgress
from reelstate.core.state import State
from reelstate.dispatch.dispatch import EVERY_WAKEUP, Dispatch
from reelstate.feed.feed import Feed, Marks
from reelstate.feed.log import CursorGone, Entry, Order, Stretch, Topics
from reelstate.feed.subscription import LogSubscription
from reelstate.services.catalogue import Catalogue
from reelstate.services.paging import START, cursor_of
from reelstate.services.rows import event_of, jobs_with_stages
from reelstate.states.sql import state_of
from reelstate.stores.store import Row, Store, Transaction

FeedItem = Event | State | TaskProgress
"""What subscribers are told of."""

FAR: Final = 100
"""Transactions, or rows, behind which the record of a single job is looked up by the job."""
MAX_JOBS: Final = 100
"""More jobs than these are not picked out by the store: everything is read, and the feed sorts it."""
WINDOW: Final = 5_000
"""Rows of the record among which a read looks for what is wanted: few may be, and the store must not read all of it."""
OVERLAP: Final = timedelta(seconds=5)
"""What is said at one time may become readable this much later."""


class Owner(NamedTuple):
    """The topic of everything that belongs to somebody's jobs; that of one job is its number."""

    user_id: str


class Head(NamedTuple):
    """Where the record stands, and from where on it is kept."""

    epoch: str
    order: Order
    floor: Order

    @property
    def cursor(self) -> str:
        return self.at(self.order)

    def at(self, order: Order) -> str:
        return ".".join([self.epoch, *map(str, order)])

    def find(self, cursor: str) -> Order:
        """The place of a cursor, from which on everything is there."""
        epoch, *order = cursor_of(cursor)
        place = tuple(order)
        if place != START and (epoch != self.epoch or place > self.order):
            raise CursorGone(cursor)
        if START < place < self.floor:
            raise CursorGone(cursor, resume=self.at(self.floor))
        return place


class EngineLog:
    """Events and states, whosever they are; a topic is a job's number or an `Owner`."""

    def __init__(self, store: Store, dispatch: Dispatch, catalogue: Catalogue) -> None:
        self._store = store
        self._catalogue = catalogue
        self._listening = LogSubscription(dispatch, EVERY_WAKEUP)

    def first(self) -> str:
        return "0.0.0"

    async def head(self) -> str:
        return (await self._store.read(head_of)).cursor

    async def read(self, after: str, limit: int, topics: Topics = None) -> Stretch[FeedItem]:
        return await self._store.read(lambda transaction: _read(transaction, self._catalogue, after, limit, topics))

    def order(self, cursor: str) -> Order:
        _, xid, number = cursor_of(cursor)
        return xid, number

    async def wait(self, seconds: float) -> bool:
        return await self._listening.wait(seconds)

    def begin(self) -> None:
        self._listening.open()

    def rest(self) -> None:
        self._listening.close()


class RunningTasks:
    """How far the tasks are that run now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._since: datetime | None = None

    async def read(self, topics: Topics, *, anew: bool) -> Sequence[Entry[FeedItem]]:
        parameters: dict[str, Json | datetime] = {"jobs": _jobs(topics), "since": None if anew else self._since}
        rows = await self._store.read(lambda transaction: transaction.run("observe_progress", **parameters))
        if rows:
            self._since = max(row[7] for row in rows) - OVERLAP
        return [_progress(row) for row in rows]

    def key(self, item: FeedItem) -> Hashable:
        return item.key if isinstance(item, TaskProgress) else None

    def ended(self, item: FeedItem) -> Hashable | None:
        if isinstance(item, Event) and item.entity == "task":
            return TaskKey(item.job_id or 0, item.stage_number or 0, item.part or 0)
        return None


def engine_feed(store: Store, dispatch: Dispatch, catalogue: Catalogue) -> Feed[FeedItem]:
    marks: Marks[FeedItem] = Marks(at=lambda item: item.timestamp if isinstance(item, State) else item.at)
    return Feed(EngineLog(store, dispatch, catalogue), marks=marks, values=RunningTasks(store))


async def head_of(transaction: Transaction) -> Head:
    """Where the record stands now."""
    ((epoch, xid, number, floor),) = await transaction.run("observe_head")
    kept = START if floor is None else tuple(map(int, floor.split(".")))
    return Head(epoch, (int(xid), number), kept)


async def _read(
    transaction: Transaction, catalogue: Catalogue, after: str, limit: int, topics: Topics
) -> Stretch[FeedItem]:
    """Up to where the record stood before it was read: whatever is older than that, these statements see."""
    head = await head_of(transaction)
    start, end = head.find(after), head.order
    place: dict[str, Json] = {"after_xid": str(start[0]), "after_id": start[1]}
    job_id = _one_job(topics) if _far(start, end) else None
    if job_id is not None:
        sources = await _history(transaction, job_id, {**place, "limit": limit})
    else:
        scope: dict[str, Json] = {"jobs": _jobs(topics), "user_id": _one_user(topics)}
        if any(wanted is not None for wanted in scope.values()):
            end = await _edge(transaction, place, end)
        until: dict[str, Json] = {"until_xid": str(end[0]), "until_id": end[1]}
        sources = await _everything(transaction, {**scope, **place, **until, "limit": limit})
    for source in sources:
        if len(source) == limit:
            end = min(end, source[-1].order)
    found = sorted((row for source in sources for row in source if row.order <= end), key=lambda row: row.order)
    stages = await catalogue.stages_of(transaction, jobs_with_stages(row.event for row in found if not row.is_state))
    return Stretch([row.entry(head, stages) for row in found], head.at(end), more=end < head.order)


class _Found(NamedTuple):
    """A row of the record: where it stands, what it says, and of which job and owner."""

    order: Order
    values: Row
    job_id: int | None
    user_id: str | None
    is_state: bool = False

    @property
    def event(self) -> Row:
        return (*self.order, *self.values)

    def entry(self, head: Head, stages: Mapping[int, Sequence[str]]) -> Entry[FeedItem]:
        item = state_of(self.values) if self.is_state else event_of(self.event, head.epoch, stages)
        owner = () if self.user_id is None else (Owner(self.user_id),)
        cursor = f"{head.epoch}.{self.order[0]}.{self.order[1]}"
        return Entry(cursor, item, owner if self.job_id is None else (self.job_id, *owner))


async def _history(transaction: Transaction, job_id: int, place: dict[str, Json]) -> list[list[_Found]]:
    """What is of one job, by its index; whose job it is was asked before."""
    events = await transaction.run("observe_history", job_id=job_id, stage=None, part=None, owner=None, **place)
    states = await transaction.run("states_history", job_id=job_id, **place)
    return [
        [_Found(_order(row), row[2:], job_id, None) for row in events],
        [_Found(_order(row), row[2:], job_id, None, is_state=True) for row in states],
    ]


async def _edge(transaction: Transaction, place: dict[str, Json], end: Order) -> Order:
    """How far to look for what may be rare."""
    edge = await transaction.run("observe_window", **place, window=WINDOW)
    return min([end, *map(_order, edge)])


async def _everything(transaction: Transaction, wanted: dict[str, Json]) -> list[list[_Found]]:
    events = await transaction.run("observe_feed", **wanted)
    states = await transaction.run("states_log", **wanted)
    return [
        [_Found(_order(row), row[2:-1], row[3], row[-1]) for row in events],
        [_Found(_order(row), row[4:], row[2], row[3], is_state=True) for row in states],
    ]


def _order(row: Row) -> Order:
    return int(row[0]), row[1]


def _far(start: Order, end: Order) -> bool:
    return start == START or end[0] - start[0] > FAR or (end[0] == start[0] and end[1] - start[1] > FAR)


def _one_job(topics: Topics) -> int | None:
    jobs = _jobs(topics) or []
    return jobs[0] if len(jobs) == 1 else None


def _one_user(topics: Topics) -> str | None:
    owners = [topic.user_id for topic in topics or () if isinstance(topic, Owner)]
    return owners[0] if topics is not None and len(topics) == len(owners) == 1 else None


def _jobs(topics: Topics) -> list[int] | None:
    """The jobs that alone matter; none where others do, too, or where they are many."""
    if topics is None or len(topics) > MAX_JOBS:
        return None
    jobs = [topic for topic in topics if isinstance(topic, int)]
    return sorted(jobs) if len(jobs) == len(topics) else None


def _progress(row: Row) -> Entry[FeedItem]:
    job_id, stage, part, token, percent, message, step, at, user_id = row
    key = TaskKey(job_id, stage, part)
    item = TaskProgress(key=key, token=token, percent=percent, message=message, step=step, at=at)
    return Entry("", item, (job_id, Owner(user_id)))
