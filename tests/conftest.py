"""Fixtures for every test: one PostgreSQL server a process, one database a test."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from reelstate.app import store_at
from reelstate.connections.redis import RedisSettings
from reelstate.engine import Engine
from reelstate.stores.store import Store
from tests.engines import DIALECTS, FakeClock, engine_at
from tests.postgres import PostgresServer, PostgresUnavailable, memory_folder
from tests.redis_server import RedisServer, RedisUnavailableHere
from tests.s3 import S3Server, S3Unavailable, s3_server

pytest_plugins = ["tests.clean_checkout", "tests.time_limit"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs the tests in the background has them ignore ctrl-C, and their processes would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Servers that tests start keep their keys here, and not in the home of the user who runs the tests.

    Commands that tests run do not find the profiles of that user either.
    """
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole process; each pytest-xdist worker has its own.

    `REELSTATE_POSTGRES_BIN` names the programs of another version than the one of the wheel.
    """
    programs = os.environ.get("REELSTATE_POSTGRES_BIN")
    with contextlib.ExitStack() as stack:
        try:
            chosen = Path(programs) if programs else None
            server = stack.enter_context(PostgresServer(bin=chosen, folder=memory_folder()))
        except PostgresUnavailable as error:
            _do_without(error)
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """An empty database for one test."""
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


def _do_without(error: PostgresUnavailable) -> NoReturn:
    reason = f"POSTGRESQL IS NOT TESTED, it can't be started here: {error}"
    if os.environ.get("REELSTATE_REQUIRE_POSTGRES"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One S3 server for the whole process; each test takes its own bucket."""
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(s3_server(tmp_path_factory.mktemp("s3")))
        except (S3Unavailable, OSError) as error:
            pytest.skip(f"S3 IS NOT TESTED, its server can't be started here: {error}")
        yield server


@pytest.fixture
def bucket_url(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty prefix of a bucket for one test, with its credentials in the environment."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return s3.new_place()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One Redis for the whole process, which no test may stop."""
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(RedisServer(tmp_path_factory.mktemp("redis")))
        except (RedisUnavailableHere, OSError) as error:
            pytest.skip(f"REDIS IS NOT TESTED, its server can't be started here: {error}")
        yield server


@pytest.fixture
def redis_settings(redis_server: RedisServer) -> RedisSettings:
    """Settings with a key prefix for one test."""
    return RedisSettings(url=redis_server.url, prefix=f"test-{uuid.uuid4().hex}", timeout=30.0)


@pytest.fixture
def frail_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis for one test, which may stop, freeze and fill it."""
    with RedisServer(tmp_path_factory.mktemp("frail-redis")) as server:
        yield server


@pytest.fixture
def refusing_port() -> Iterator[int]:
    """A port of this machine at which every connection is refused: it is bound, and no process listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def migrated_template(postgres_server: PostgresServer) -> str:
    """A migrated, empty database that others are copied from."""
    url = postgres_server.new_database()
    asyncio.run(store_at(url).migrate())
    return url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty SQLite file that others are copied from."""
    path = tmp_path_factory.mktemp("template") / "reelstate.db"
    asyncio.run(_migrate(store_at(f"sqlite:///{path}")))
    return path


async def _migrate(store: Store) -> None:
    await store.migrate()
    await store.close()


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def database_url(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A migrated, empty database for one test, in each dialect in turn."""
    if dialect == "sqlite":
        yield f"sqlite:///{shutil.copy(request.getfixturevalue('migrated_file'), tmp_path)}"
        return
    server = request.getfixturevalue("postgres_server")
    url = server.new_database(request.getfixturevalue("migrated_template"))
    yield url
    server.drop_database(url)


@pytest.fixture
def postgres_database(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    """A migrated, empty PostgreSQL database for one test."""
    url = postgres_server.new_database(migrated_template)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
async def engine(database_url: str, clock: FakeClock) -> AsyncIterator[Engine]:
    """An engine on each store in turn; with the clock of the test."""
    async with engine_at(database_url, clock) as engine:
        yield engine
