import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from reelstate.app import dispatch_at, store_at
from reelstate.states.firestore import EMULATOR, FirestoreStore
from reelstate.states.memory import MemoryStore
from reelstate.states.sql import SqlStateStore
from reelstate.states.state_store import StateStore
from tests.browser.packages import PackagesUnavailable
from tests.postgres import PostgresServer
from tests.states.emulated import emulator

PROJECT = "REEL_TEST_FIRESTORE_PROJECT"
"""Names a real project that tests may write to."""


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


@asynccontextmanager
async def firestore_states(project: str, **options: Any) -> AsyncIterator[FirestoreStore]:
    """Open states in a separate collection unless one is named; in a real project delete them afterwards."""
    states = FirestoreStore(project, **{"collection": f"jobs-{uuid.uuid4().hex}", **options})
    try:
        yield states
        if PROJECT in os.environ:
            await states.delete_job("job")
    finally:
        await states.close()


@pytest.fixture
def state_database(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    made = postgres_server.new_database(migrated_template)
    yield made
    postgres_server.drop_database(made)


@pytest.fixture(scope="session")
def firestore_server() -> Iterator[str]:
    """Where an emulator of Firestore is."""
    try:
        with emulator() as made:
            yield made.address
    except PackagesUnavailable as missing:
        pytest.skip(f"NO FIRESTORE EMULATOR: {missing}")


@pytest.fixture
def firestore_project(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A project with nothing in it on the emulator, or the real one that is named in the environment."""
    if project := os.environ.get(PROJECT):
        return project
    monkeypatch.setenv(EMULATOR, str(request.getfixturevalue("firestore_server")))
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture(params=["memory", "sqlite", "postgres", "firestore"])
def states_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "firestore":
        return f"firestore:{request.getfixturevalue('firestore_project')}"
    if request.param == "postgres":
        return str(request.getfixturevalue("state_database"))
    return f"sqlite:///{tmp_path / 'states.db'}" if request.param == "sqlite" else ""


@pytest.fixture
async def store(states_url: str) -> AsyncIterator[StateStore]:
    """One store of each kind."""
    if states_url.startswith("firestore:"):
        async with firestore_states(states_url.removeprefix("firestore:")) as firestore:
            yield firestore
    elif states_url:
        async with sql_states(states_url) as states:
            yield states
    else:
        memory = MemoryStore()
        yield memory
        await memory.close()
