"""Databases for the suite, and a look at every invariant after each of its tests.

A test has a SQLite file of its own, copied from one that is migrated. In PostgreSQL it has the process's one database,
emptied, on connections that are warm already: a third of the time that a new database takes. Only a test that damages
the schema (it asks for `manual_sql`) gets a database of its own there too.
"""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from reelstate.app import open_engine
from reelstate.engine import Engine
from reelstate.library.extension import LibraryExtension
from reelstate.stores.postgres.store import PostgresStore
from tests.engines import FAN, PARTS, SIMPLE, FakeClock
from tests.manual_sql import ManualSql
from tests.postgres import PostgresServer

HERE = Path(__file__).parent
KEPT_TABLES = ("facts", "migrations")
"""Every other table is emptied between two tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests here share one event loop, because connections that outlive a test belong to a loop."""
    for item in items:
        if item.path.parent == HERE and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def shared_url(postgres_server: PostgresServer, migrated_template: str) -> str:
    """The one PostgreSQL database of this process."""
    return postgres_server.new_database(migrated_template)


@pytest.fixture
def database_url(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A migrated, empty database for the test, in each dialect in turn."""
    if dialect == "sqlite":
        yield f"sqlite:///{shutil.copy(request.getfixturevalue('migrated_file'), tmp_path)}"
    elif "manual_sql" in request.fixturenames:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.new_database(request.getfixturevalue("migrated_template"))
        yield url
        server.drop_database(url)
    else:
        yield request.getfixturevalue("shared_url")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def open_stores() -> AsyncIterator[dict[str, PostgresStore]]:
    """The stores that stay open from test to test, by their address."""
    stores: dict[str, PostgresStore] = {}
    yield stores
    for store in stores.values():
        await store.close()


@pytest_asyncio.fixture(loop_scope="session")
async def engine(
    database_url: str, clock: FakeClock, open_stores: dict[str, PostgresStore], request: pytest.FixtureRequest
) -> AsyncIterator[Engine]:
    """An engine on each store in turn; its time is the test's."""
    graphs = [SIMPLE, FAN, PARTS]
    async with AsyncExitStack() as stack:
        if database_url.startswith("sqlite:") or "manual_sql" in request.fixturenames:
            opened = open_engine(database_url, pipelines=graphs, migrate=False, clock=clock)
            yield await stack.enter_async_context(opened)
        else:
            engine = Engine(await _emptied(open_stores, database_url, clock), extension=LibraryExtension())
            await engine.declare(*graphs)
            yield engine


async def _emptied(stores: dict[str, PostgresStore], url: str, clock: FakeClock) -> PostgresStore:
    if url not in stores:
        stores[url] = PostgresStore(url)
        await stores[url].open()
    store = stores[url]
    store._clock = clock
    async with store._pool.connection() as connection, connection.transaction():
        await connection.execute("SET LOCAL reelstate.archiving = 'on'")
        cursor = await connection.execute(
            "SELECT string_agg(format('%%I.%%I', schemaname, tablename), ', ') FROM pg_tables"
            " WHERE schemaname = 'reelstate' AND tablename <> ALL (%s)",
            [list(KEPT_TABLES)],
        )
        (tables,) = await cursor.fetchone() or ("",)
        await connection.execute(f"TRUNCATE {tables}".encode())
    return store


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def healthy(engine: Engine) -> AsyncIterator[None]:
    """Whatever a test did to the store, doctor finds nothing wrong with it afterwards."""
    yield
    diagnosis = await engine.doctor()
    assert diagnosis.findings == ()


@pytest.fixture
def manual_sql(database_url: str) -> ManualSql:
    """Return a shell that runs manual SQL on the database."""
    return ManualSql(database_url)
