"""The feed of the engine: all events and states in one order, read once per process, and the progress of tasks.

Events and states share their numbering, so one cursor serves both: the triple (epoch, transaction, number). `observe`
explains why a number alone is not enough.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from reelstate.core.model import Event, Json, TaskKey, TaskProgress
from reelstate.core.state import State
from reelstate.dispatch.dispatch import EVERY_WAKEUP, Dispatch
from reelstate.feed.feed import Feed, Marks
from reelstate.feed.head import OBSERVE_HEAD
from reelstate.feed.log import CursorGone, Entry, LogPage, Order, Topics
from reelstate.feed.subscription import LogSubscription
from reelstate.services.archive import OBSERVE_PIPELINE
from reelstate.services.catalogue import Catalogue
from reelstate.services.observe import OBSERVE_FEED, OBSERVE_HISTORY
from reelstate.services.paging import START, cursor_of
from reelstate.services.rows import EventRow, event_of, jobs_with_stages
from reelstate.states.sql import STATE_COLUMNS, state_of
from reelstate.stores.store import Statement, Store, Transaction, row_type

FeedItem = Event | State | TaskProgress
"""What subscribers receive."""

INDEX_DISTANCE: Final = 100
"""Transactions, or rows, behind the head from which on the rows of a single job are read by the index of the job."""
MAX_JOBS: Final = 100
"""Jobs that the store selects at most; for more, everything is read and the feed selects."""
WINDOW: Final = 5_000
"""Rows that one read searches for the selected jobs or owner: matches may be rare, and a read must stay short."""
OVERLAP: Final = timedelta(seconds=5)
"""How much later than its time a progress report may become readable."""


class ProgressRow(NamedTuple):
    job_id: int
    stage: int
    part: int
    token: int
    percent: float
    message: str | None
    step: str | None
    progress_at: datetime
    user_id: str


class PositionRow(NamedTuple):
    xid: str
    id: int


StateLogRow = row_type("StateLogRow", "xid", "id", "job", "user_id", *STATE_COLUMNS)

OBSERVE_PROGRESS = Statement("observe_progress", ProgressRow)
OBSERVE_WINDOW = Statement("observe_window", PositionRow)
STATES_HISTORY = Statement("states_history", StateLogRow)
STATES_LOG = Statement("states_log", StateLogRow)


class Owner(NamedTuple):
    """The topic of all jobs of a user; the topic of one job is its id."""

    user_id: str


class Head(NamedTuple):
    """The last position of the log, and the position up to which rows of it were archived or deleted.

    After the floor the log is complete; before it, only the history of each job is.
    """

    epoch: str
    order: Order
    floor: Order
    events_floor: Order = START
    """The part of the floor that concerns events: a reader from the beginning starts there."""

    @property
    def cursor(self) -> str:
        return self.at(self.order)

    def at(self, order: Order) -> str:
        """Return the cursor of a position."""
        return ".".join([self.epoch, *map(str, order)])

    def find(self, cursor: str) -> Order:
        """Return the position of a cursor; raise `CursorGone` where rows after it are missing."""
        epoch, *order = cursor_of(cursor)
        position = tuple(order)
        if position != START and (epoch != self.epoch or position > self.order):
            raise CursorGone(cursor)
        if START < position < self.floor:
            raise CursorGone(cursor, resume=self.at(self.floor))
        return max(position, self.events_floor)

    def find_in_job(self, cursor: str) -> Order:
        """Return the position of a cursor in the log of one job, which has no floor: a job leaves with all its rows."""
        return self._replace(floor=START, events_floor=START).find(cursor)


class EngineLog:
    """The log of events and states of every job; a topic is the id of a job or an `Owner`."""

    def __init__(self, store: Store, dispatch: Dispatch, catalogue: Catalogue) -> None:
        self._store = store
        self._catalogue = catalogue
        self._wakeups = LogSubscription(dispatch, EVERY_WAKEUP)

    def first(self) -> str:
        return "0.0.0"

    async def head(self) -> str:
        return (await self._store.read(head_of)).cursor

    async def read(self, after: str, limit: int, topics: Topics = None) -> LogPage[FeedItem]:
        return await self._store.read(
            lambda transaction: _read_page(transaction, self._catalogue, after, limit, topics)
        )

    def order(self, cursor: str) -> Order:
        _, xid, number = cursor_of(cursor)
        return xid, number

    async def wait(self, seconds: float) -> bool:
        return await self._wakeups.wait(seconds)

    def start_listening(self) -> None:
        self._wakeups.open()

    def stop_listening(self) -> None:
        self._wakeups.close()


class RunningTasks:
    """The progress of the tasks that run now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._since: datetime | None = None

    async def read(self, topics: Topics, *, full: bool) -> Sequence[Entry[FeedItem]]:
        parameters: dict[str, Json | datetime] = {"jobs": _jobs(topics), "since": None if full else self._since}
        rows = await self._store.read(lambda transaction: transaction.run(OBSERVE_PROGRESS, **parameters))
        if rows:
            self._since = max(row.progress_at for row in rows) - OVERLAP
        return [_progress_entry(row) for row in rows]

    def key(self, item: FeedItem) -> Hashable:
        return item.key if isinstance(item, TaskProgress) else None

    def ended_key(self, item: FeedItem) -> Hashable | None:
        if isinstance(item, Event) and item.entity == "task":
            return TaskKey(item.job_id or 0, item.stage_number or 0, item.part or 0)
        return None


def engine_feed(store: Store, dispatch: Dispatch, catalogue: Catalogue) -> Feed[FeedItem]:
    """Return the feed that the subscribers of this process share."""
    marks: Marks[FeedItem] = Marks(at=lambda item: item.timestamp if isinstance(item, State) else item.at)
    return Feed(EngineLog(store, dispatch, catalogue), marks=marks, values=RunningTasks(store))


async def head_of(transaction: Transaction) -> Head:
    """Return the head of the record as this transaction sees it."""
    (row,) = await transaction.run(OBSERVE_HEAD)
    events_floor = _position(row.events_floor)
    return Head(row.epoch, _order(row), max(_position(row.floor), events_floor), events_floor)


def _position(stored: str | None) -> Order:
    return START if stored is None else tuple(map(int, stored.split(".")))


async def _read_page(
    transaction: Transaction, catalogue: Catalogue, after: str, limit: int, topics: Topics
) -> LogPage[FeedItem]:
    """Read up to the head as it was before: the statements see everything that is older."""
    head = await head_of(transaction)
    only = _only_job(topics)
    start, end = head.find(after) if only is None else head.find_in_job(after), head.order
    span: dict[str, Json] = {"after_xid": str(start[0]), "after_id": start[1], "limit": limit}
    job_id = only if _is_far(start, end) else None
    if job_id is not None:
        events = await transaction.run(OBSERVE_HISTORY, job_id=job_id, stage=None, part=None, owner=None, **span)
        states = await transaction.run(STATES_HISTORY, job_id=job_id, **span)
    else:
        scope: dict[str, Json] = {"jobs": _jobs(topics), "user_id": _only_user(topics)}
        if any(selected is not None for selected in scope.values()):
            edge = await transaction.run(OBSERVE_WINDOW, after_xid=span["after_xid"], after_id=start[1], window=WINDOW)
            end = min([end, *map(_order, edge)])
        span |= {"until_xid": str(end[0]), "until_id": end[1]}
        events = await transaction.run(OBSERVE_FEED, **scope, **span)
        states = await transaction.run(STATES_LOG, **scope, **span)
    if only is not None and not events and start < head.events_floor:
        await _require_present(transaction, only, after)
    for rows in (events, states):
        if len(rows) == limit:
            end = min(end, _order(rows[-1]))
    found = sorted((row for row in (*events, *states) if _order(row) <= end), key=_order)
    stages = await catalogue.stages_of(transaction, jobs_with_stages(row for row in events if _order(row) <= end))
    return LogPage([_entry(row, head, stages) for row in found], head.at(end), more=end < head.order)


async def _require_present(transaction: Transaction, job_id: int, after: str) -> None:
    """Raise `CursorGone` for a job that was archived: its events after the cursor are not in the log any more."""
    if not await transaction.run(OBSERVE_PIPELINE, job_id=job_id, owner=None):
        raise CursorGone(after)


def _entry(row: Any, head: Head, stages: Mapping[int, Sequence[str]]) -> Entry[FeedItem]:
    """Build the entry of an event or a state."""
    item: FeedItem
    if isinstance(row, EventRow):
        item, job_id = event_of(row, head.epoch, stages), row.job_id
    else:
        item, job_id = state_of(row), row.job
    topics = () if job_id is None else (job_id,)
    owners = () if row.user_id is None else (Owner(row.user_id),)
    return Entry(head.at(_order(row)), item, (*topics, *owners))


def _order(row: Any) -> Order:
    return int(row.xid), row.id


def _is_far(start: Order, end: Order) -> bool:
    distance = end[0] - start[0] or end[1] - start[1]
    return start == START or distance > INDEX_DISTANCE


def _only_job(topics: Topics) -> int | None:
    jobs = _jobs(topics) or []
    return jobs[0] if len(jobs) == 1 else None


def _only_user(topics: Topics) -> str | None:
    owners = [topic.user_id for topic in topics or () if isinstance(topic, Owner)]
    return owners[0] if topics is not None and len(topics) == len(owners) == 1 else None


def _jobs(topics: Topics) -> list[int] | None:
    """Return the jobs that the store should select; None where there are other topics, or too many jobs."""
    if topics is None or len(topics) > MAX_JOBS:
        return None
    jobs = [topic for topic in topics if isinstance(topic, int)]
    return sorted(jobs) if len(jobs) == len(topics) else None


def _progress_entry(row: ProgressRow) -> Entry[FeedItem]:
    item = TaskProgress(
        key=TaskKey(row.job_id, row.stage, row.part),
        token=row.token,
        percent=row.percent,
        message=row.message,
        step=row.step,
        at=row.progress_at,
    )
    return Entry("", item, (row.job_id, Owner(row.user_id)))
