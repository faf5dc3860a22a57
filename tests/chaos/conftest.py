import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.chaos.fleet import Fleet, open_fleet
from tests.postgres import PostgresServer, memory_folder


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for compiled modules that all fleets of a test session share."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "bytecode"


@pytest.fixture
async def fleet(database_url: str, tmp_path: Path, bytecode: Path) -> AsyncIterator[Fleet]:
    """A fleet on each store in turn."""
    async with open_fleet(database_url, tmp_path, bytecode) as fleet:
        yield fleet


@pytest.fixture
def frail_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that the test may stop."""
    with PostgresServer(folder=memory_folder()) as server:
        yield server


@pytest.fixture
async def frail_fleet(frail_server: PostgresServer, tmp_path: Path, bytecode: Path) -> AsyncIterator[Fleet]:
    """A fleet on the server that may be stopped."""
    async with open_fleet(frail_server.new_database(), tmp_path, bytecode) as fleet:
        yield fleet
