"""Many processes run jobs while subscribers of every kind listen: each receives everything of its scope once."""

import asyncio
import random
import sys
from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from reelstate.core.model import Event, TaskProgress
from reelstate.core.state import State
from reelstate.engine import Engine
from reelstate.feed.feed import FeedTimings
from reelstate.feed.subscriber import FeedMessage, MessageKind
from reelstate.services import feed as log
from reelstate.services.feed import FeedItem
from reelstate.services.subscribe import EVENTS
from tests.engines import engine_at
from tests.waiting import until

TASKS = 8
OWNERS = ("ann", "bob")
TIMEOUT = 600.0
OFTEN = FeedTimings(bookmark=0.2)
"""Frequent bookmarks, so that subscribers with few events also reach the end."""

Row = tuple[object, ...]
"""What a row of the record is of, and at last its version."""


@dataclass
class Reader:
    """One subscriber: its subscription, when it reconnects, and what it received."""

    wanted: dict[str, Any] = field(default_factory=dict)
    slow: float = 0.0
    leaves: int = 0
    """After this many messages it disconnects and reconnects with its cursor."""
    after: str | None = "0"
    from_start: bool = True
    seen: list[Row] = field(default_factory=list)
    frames: int = 0
    kinds: Counter[MessageKind] = field(default_factory=Counter)
    returns: int = 0

    async def read(self, engine: Engine, end: "asyncio.Future[str]") -> None:
        """Read until everything up to the end was received."""
        while not await self._read(engine, end):
            self.returns += 1

    async def _read(self, engine: Engine, end: "asyncio.Future[str]") -> bool:
        left = random.randint(1, self.leaves) if self.leaves else -1
        order = engine.feed.log.order
        async with aclosing(engine.subscribe(after=self.after, **self.wanted)) as messages:
            async for message in messages:
                self._note(message)
                left -= 1
                if self.slow:
                    await asyncio.sleep(self.slow * random.random())  # the pace of a slow reader
                if message.cursor and end.done() and order(message.cursor) >= order(end.result()):
                    return True
                if left == 0 or message.kind is MessageKind.OVERFLOW:
                    return False
        return False

    def _note(self, message: FeedMessage[FeedItem]) -> None:
        self.after = message.cursor or self.after
        self.kinds[message.kind] += 1
        if isinstance(message.item, TaskProgress):
            self.frames += 1
        elif message.item is not None:
            self.seen.append(row_of(message.item))


def row_of(item: Event | State) -> Row:
    if isinstance(item, State):
        return "state", item.job_id, item.task, item.tag, item.version
    return item.entity, item.job_id, item.stage_number, item.part, item.worker_id, item.version


async def recorded(url: str) -> dict[Row, tuple[int | None, str | None]]:
    """Return every recorded row with its job and the owner of the job, read without the engine."""
    events = """SELECT entity, job_id, nullif(stage, -1), nullif(part, -1), e.worker_id, e.version, job_id, user_id
                FROM reelstate.history e LEFT JOIN reelstate.jobs j ON j.id = job_id"""
    states = """SELECT 'state', l.job_id, task, tag, l.version, j.id, j.user_id
                FROM reelstate.state_log l JOIN reelstate.jobs j ON l.job_id LIKE j.id || '.%%'"""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        rows = [row for text in (events, states) for row in await (await connection.execute(text, [])).fetchall()]
    return {row[:-2]: (row[-2], row[-1]) for row in rows}


def wanted_of(reader: Reader, record: dict[Row, tuple[int | None, str | None]]) -> set[Row]:
    job_id, user_id, only = (reader.wanted.get(name) for name in ("job_id", "user_id", "only"))
    return {
        row
        for row, (job, owner) in record.items()
        if job_id in (None, job) and user_id in (None, owner) and (only is None or row[0] in only)
    }


def assert_complete(reader: Reader, record: dict[Row, tuple[int | None, str | None]]) -> None:
    """Each row of its scope once; from where it began there is no gap, and versions of states are in their order."""
    assert len(reader.seen) == len(set(reader.seen)), "something came twice"
    wanted = wanted_of(reader, record)
    reader.seen = [row for row in reader.seen if row in record or row[1] in {job for job, _ in record.values()}]
    if reader.from_start:
        assert set(reader.seen) == wanted
    assert set(reader.seen) <= wanted
    versions: dict[Row, list[Any]] = {}
    for *entity, version in reader.seen:
        versions.setdefault(tuple(entity), []).append(version)
    for key, found in versions.items():
        in_order = found if key[0] == "state" else sorted(found)
        assert list(in_order) == list(range(in_order[0], in_order[0] + len(found))), f"a version of {key} is missing"


async def run_readers(url: str, versions: int, copies: int, processes: int, jobs: int) -> int:
    async with engine_at(url) as engine, asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as group:
        engine.feed.timings = OFTEN
        made = [(await engine.submit("parts", {"parts": TASKS}, user_id=OWNERS[n % 2])).job_id for n in range(jobs)]
        readers = [
            *(Reader() for _ in range(copies)),
            Reader(slow=0.001),
            Reader(leaves=40),
            Reader({"only": ["state"]}),
            Reader({"only": ["job", "task"]}, leaves=5),
            Reader({"user_id": "ann"}),
            Reader({"user_id": "bob"}, leaves=60),
            Reader({"user_id": "nobody"}),
            Reader({"job_id": made[0]}),
            Reader({"job_id": made[0], "user_id": "ann"}, leaves=20),
            Reader({"job_id": made[-1], "only": ["state"]}, slow=0.001),
        ]
        late = [Reader(), Reader({"job_id": made[-1]}, after=None), Reader(from_start=False, after=None)]
        end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        listening = [group.create_task(reader.read(engine, end)) for reader in readers]
        working = group.create_task(worked(url, versions, processes))
        await until(lambda: readers[0].seen, "something has happened before the late ones come")
        listening += [group.create_task(reader.read(engine, end)) for reader in late]
        await working
        record = await recorded(url)
        await finish(engine, end)
        await asyncio.gather(*listening)
    for reader in (*readers, *late):
        assert_complete(reader, record)
    assert sum(reader.returns for reader in readers)
    assert not [reader for reader in readers if reader.wanted.get("user_id") == "nobody" and reader.seen]
    return sum(len(reader.seen) for reader in (*readers, *late))


async def finish(engine: Engine, end: "asyncio.Future[str]") -> None:
    """Set the cursor to read up to, and cause an event after it, so that every reader gets past it."""
    end.set_result(await engine.head())
    await engine.submit("simple", user_id="after the end")


async def worked(url: str, versions: int, processes: int) -> None:
    workers = [
        await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.states.worker", url, str(n), str(versions))
        for n in range(processes)
    ]
    assert [await worker.wait() for worker in workers] == [0] * processes


@pytest.fixture(autouse=True)
def narrow_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that who wants little looks for it in many stretches."""
    monkeypatch.setattr(log, "WINDOW", 40)


async def test_every_event_is_delivered_once(state_database: str) -> None:
    delivered = await run_readers(state_database, versions=6, copies=2, processes=2, jobs=2)
    assert delivered > 4_000


@pytest.mark.prove
async def test_nothing_is_missed_in_a_hundred_thousand(state_database: str) -> None:
    delivered = await run_readers(state_database, versions=90, copies=8, processes=8, jobs=3)
    print(f"\n{delivered:,} events and states delivered, none missed, none twice")  # noqa: T201 - the figure is the point
    assert delivered >= 100_000


NAIVE = {
    "observe_head": """
        SELECT f.value AS epoch, '0' AS xid, (SELECT max(id) FROM reelstate.events) AS id, NULL AS floor,
               NULL AS events_floor
        FROM reelstate.facts f WHERE f.name = 'epoch'""",
    "observe_feed": """
        SELECT '0' AS xid, e.id, entity, job_id, stage, part, worker_id, version, origin, target, actor, reason, token,
               data, at, NULL AS worker, NULL AS user_id
        FROM reelstate.history e WHERE e.id > %(after_id)s ORDER BY e.id LIMIT %(limit)s""",
}


async def test_a_cursor_of_numbers_alone_misses_some(state_database: str) -> None:
    """The premise of the other tests: transactions do not commit in the order of their numbers."""
    reader = Reader({"only": EVENTS})
    async with engine_at(state_database) as engine, asyncio.timeout(TIMEOUT):
        engine.feed.timings = OFTEN
        await engine.submit("parts", {"parts": 40})
        engine.store._statements.update(NAIVE)  # type: ignore[attr-defined]
        reading = asyncio.create_task(reader.read(engine, asyncio.get_running_loop().create_future()))
        await worked(state_database, versions=1, processes=2)
        before = -1
        while len(reader.seen) > before:  # until nothing comes any more
            before = len(reader.seen)
            await asyncio.sleep(1.0)  # that nothing more comes has no signal
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    wanted = wanted_of(reader, await recorded(state_database))
    assert 0 < len(wanted.intersection(reader.seen)) < len(wanted)
