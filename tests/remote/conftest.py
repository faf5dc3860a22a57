"""Real servers, and remote workers without access to their database or storage."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reelstate.engine import Engine
from tests.api.api_server import Server, api_server
from tests.chaos.fleet import open_fleet
from tests.engines import engine_at
from tests.remote.lossy_proxy import LossyProxy
from tests.remote.remote_fleet import RemoteFleet
from tests.remote.remote_workers import proxy_to


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
async def remote_fleet(tmp_path: Path, bytecode: Path) -> AsyncIterator[RemoteFleet]:
    folder = tmp_path / "server"
    folder.mkdir()
    async with open_fleet(f"sqlite:///{folder / 'reelstate.db'}", folder, bytecode) as fleet:
        yield await RemoteFleet.of(fleet, folder, tmp_path / "workers")


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[Engine]:
    async with engine_at(database_url) as engine:
        yield engine


@pytest.fixture
async def api(engine: Engine, database_url: str, tmp_path: Path) -> AsyncIterator[Server]:
    options = {
        "storage_url": str(tmp_path / "media"),
        "scratch": str(tmp_path / "scratch"),
        "remote_file_limit": 10_000,
    }
    async with api_server(engine, database_url, **options) as made:
        yield made


@pytest.fixture
async def proxy(api: Server) -> AsyncIterator[LossyProxy]:
    async with proxy_to(api) as proxy:
        yield proxy
