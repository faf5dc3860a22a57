"""The database restarts and connections break during subscriptions: nothing is missed or sent twice."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import psycopg
import pytest

from reelstate.core.state import StateKey
from reelstate.feed.feed import FeedTimings
from reelstate.feed.subscriber import MessageKind
from reelstate.states.manager import StateManager
from tests.postgres import PostgresServer, StopMode
from tests.states.conftest import sql_states
from tests.waiting import until

TASKS, TAGS = 2, ("a", "b")
KEYS = {StateKey(task, tag) for task in range(TASKS) for tag in TAGS}


class Watcher:
    """A subscriber that reads until every key is finished."""

    def __init__(self) -> None:
        self.seen: dict[StateKey, list[int]] = {}
        self.kinds: list[MessageKind] = []
        self.changed = asyncio.Event()

    async def watch(self, manager: StateManager) -> None:
        finished: set[StateKey] = set()
        async with contextlib.aclosing(manager.subscribe(after="0")) as messages:
            async for message in messages:
                if message.item is None:
                    self.kinds.append(message.kind)
                else:
                    self.seen.setdefault(message.item.key, []).append(message.item.version)
                    finished |= {message.item.key} if message.item.finished else set()
                self.changed.set()
                if finished == KEYS:
                    return

    async def until(self, kind: MessageKind) -> None:
        while kind not in self.kinds:
            self.changed.clear()
            await self.changed.wait()

    async def until_seen(self, count: int) -> None:
        while sum(map(len, self.seen.values())) < count:
            self.changed.clear()
            await self.changed.wait()


class Writer:
    """Writes a state of every key again and again until it is stopped."""

    def __init__(self) -> None:
        self.over = False
        self.written: dict[StateKey, int] = {}

    async def write(self, manager: StateManager, tag: str) -> None:
        while not self.over:
            await manager.set_state(tag, 5)
            await asyncio.sleep(0.002)  # the pace of a writer
        last = await manager.set_finished(tag)
        self.written[last.key] = last.version


@contextlib.asynccontextmanager
async def watched(url: str) -> AsyncIterator[tuple[Writer, Watcher]]:
    """Two subscribers and four writers at work; when the block is left each has seen everything, once and in order."""
    writer, watchers = Writer(), (Watcher(), Watcher())
    async with sql_states(url) as store, asyncio.timeout(300), asyncio.TaskGroup() as group:
        monitor = await StateManager.open("job", None, TASKS, store)
        feed = await store.feed(monitor.job.job_id)
        feed.timings = FeedTimings(stale_after=0.2)
        figures = feed.figures
        for watcher in watchers:
            group.create_task(watcher.watch(monitor))
        for task in range(TASKS):
            manager = await StateManager.open("job", task, TASKS, store)
            for tag in TAGS:
                group.create_task(writer.write(manager, tag))
        await watchers[0].until_seen(40)
        yield writer, watchers[0]
        writer.over = True
    for watcher in watchers:
        expected = {key: list(range(1, version + 1)) for key, version in writer.written.items()}
        assert watcher.seen == expected
        assert watcher.kinds.count(MessageKind.REPLAY_COMPLETE) == 1
    assert (figures.drift, figures.overflows) == (0, 0)
    assert figures.reconnects == watchers[0].kinds.count(MessageKind.FRESH)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_the_server_is_restarted(mode: StopMode) -> None:
    with PostgresServer() as server:
        async with watched(server.new_database()) as (_, watcher):
            await asyncio.to_thread(server.stop, mode)
            await watcher.until(MessageKind.STALE)
            await asyncio.to_thread(server.start)
            await watcher.until(MessageKind.FRESH)
            await watcher.until_seen(sum(map(len, watcher.seen.values())) + 40)


async def test_every_connection_is_cut_again_and_again(state_database: str) -> None:
    """The connection of the listener, too: a poll finds what it missed."""
    cut = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    async with (
        watched(state_database) as (_, watcher),
        await psycopg.AsyncConnection.connect(state_database, autocommit=True) as connection,
    ):
        for _ in range(5):

            async def has_cut() -> bool:
                found = await (await connection.execute(cut)).fetchone()
                return found is not None and found[0] >= 1

            await until(has_cut, "a connection is there to be cut")
            await watcher.until_seen(sum(map(len, watcher.seen.values())) + 20)
