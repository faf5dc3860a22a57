from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from reelstate.app import dispatch_at, store_at
from reelstate.states.memory import MemoryStore
from reelstate.states.sql import SqlStateStore
from reelstate.states.state_store import StateStore
from tests.postgres import PostgresServer


@asynccontextmanager
async def sql_states(url: str) -> AsyncIterator[SqlStateStore]:
    """States in a database, as a process has them."""
    store, dispatch = store_at(url), dispatch_at(url)
    await store.migrate()
    await store.open()
    await dispatch.open()
    states = SqlStateStore(store, dispatch)
    try:
        yield states
    finally:
        await states.close()
        await dispatch.close()
        await store.close()


@pytest.fixture
def state_database(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    made = postgres_server.new_database(migrated_template)
    yield made
    postgres_server.drop_database(made)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def states_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("state_database"))
    return f"sqlite:///{tmp_path / 'states.db'}" if request.param == "sqlite" else ""


@pytest.fixture
async def store(states_url: str) -> AsyncIterator[StateStore]:
    """One store of each kind."""
    if states_url:
        async with sql_states(states_url) as states:
            yield states
    else:
        memory = MemoryStore()
        yield memory
        await memory.close()
