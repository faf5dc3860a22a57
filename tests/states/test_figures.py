"""What stores and feeds have done, as numbers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reelstate.core.errors import NotFound
from reelstate.core.state import State
from reelstate.feed.subscriber import MessageKind
from reelstate.states.manager import StateManager
from reelstate.states.memory import MemoryStore, _MemoryJob
from reelstate.states.sql import SqlStateStore
from tests.states.conftest import sql_states
from tests.waiting import until

Counting = MemoryStore | SqlStateStore


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("state_database"))
    return f"sqlite:///{tmp_path / 'states.db'}" if request.param == "sqlite" else ""


@pytest.fixture
async def store(url: str) -> AsyncIterator[Counting]:
    if not url:
        yield MemoryStore()
        return
    async with sql_states(url) as states:
        yield states


async def test_writes_and_their_errors_are_counted(store: Counting) -> None:
    manager = await StateManager.open("job", 0, 1, store)
    for status in range(3):
        await manager.set_state("a", status)
    assert (store.figures.writes, store.figures.write_errors) == (3, 0)
    assert 0 < store.figures.slowest_write <= store.figures.write_seconds
    await manager.delete_job()
    with pytest.raises(NotFound):
        await manager.set_state("a", 1)
    assert (store.figures.writes, store.figures.write_errors) == (4, 1)


async def test_a_store_without_a_cache_has_no_hit_rate(store: Counting) -> None:
    await (await StateManager.open("job", 0, 1, store)).get_state()
    assert store.figures.hit_rate is None
    store.figures.cache_hits, store.figures.cache_misses = 3, 1
    assert store.figures.hit_rate == 0.75


async def test_replay_and_delivery_are_measured(store: Counting) -> None:
    manager = await StateManager.open("job", 0, 1, store)
    await manager.set_state("a", 1)
    figures = (await store.feed(manager.job.job_id)).figures
    async with asyncio.timeout(300), contextlib.aclosing(manager.subscribe()) as messages:
        assert [(await anext(messages)).kind for _ in range(2)] == [MessageKind.ITEM, MessageKind.REPLAY_COMPLETE]
        assert (figures.replays, figures.delivered) == (1, 0)
        await manager.set_state("a", 2)
        await anext(messages)
        assert (figures.delivered, figures.subscribers) == (1, 1)
    assert 0 < figures.slowest_delivery == figures.delivery_seconds < 300
    assert (figures.drift, figures.subscribers) == (0, 0)


async def test_the_time_of_delivery_counts_from_the_time_of_the_state() -> None:
    store = MemoryStore(clock=lambda: datetime.now(UTC) - timedelta(seconds=60))
    manager = await StateManager.open("job", 0, 1, store)
    async with asyncio.timeout(300), contextlib.aclosing(manager.subscribe()) as messages:
        await anext(messages)
        await manager.set_state("a", 1)
        await anext(messages)
    assert 60 <= (await store.feed(manager.job.job_id)).figures.slowest_delivery < 70


async def test_messages_that_no_subscriber_took_are_counted(store: Counting) -> None:
    manager = await StateManager.open("job", 0, 1, store)
    figures = (await store.feed(manager.job.job_id)).figures
    async with asyncio.timeout(300), contextlib.aclosing(manager.subscribe()) as messages:
        await anext(messages)
        for status in range(5):
            await manager.set_state("a", status)
        await anext(messages)
        (subscriber,) = (await store.feed(manager.job.job_id))._subscribers()
        await until(lambda: subscriber.waiting == 4)
    assert (figures.delivered, figures.dropped) == (1, 4)


async def test_a_version_that_the_log_skips_is_drift() -> None:
    store = MemoryStore()
    manager = await StateManager.open("job", 0, 1, store)
    async with asyncio.timeout(300), contextlib.aclosing(manager.subscribe()) as messages:
        await anext(messages)
        await manager.set_state("a", 1)
        kept: _MemoryJob = store._jobs["job"]
        kept.newest[next(iter(kept.newest))] = State(job_id="job", task=0, tag="a", version=4)
        await manager.set_state("a", 2)
        received = [await anext(messages), await anext(messages)]
    assert [message.item and message.item.version for message in received] == [1, 5]
    assert (await store.feed(manager.job.job_id)).figures.drift == 3
