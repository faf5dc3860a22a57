"""Real servers, and remote workers that have neither a database nor a folder of the house."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reelstate.engine import Engine
from tests.api.served import Served, served
from tests.chaos.fleet import open_fleet
from tests.engines import engine_at
from tests.remote.lossy_proxy import LossyProxy
from tests.remote.remote_fleet import RemoteFleet
from tests.remote.remote_workers import proxy_to


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
async def outpost(tmp_path: Path, bytecode: Path) -> AsyncIterator[RemoteFleet]:
    house = tmp_path / "house"
    house.mkdir()
    async with open_fleet(f"sqlite:///{house / 'reelstate.db'}", house, bytecode) as fleet:
        yield await RemoteFleet.of(fleet, house, tmp_path / "far")


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[Engine]:
    async with engine_at(database_url) as engine:
        yield engine


@pytest.fixture
async def api(engine: Engine, database_url: str, tmp_path: Path) -> AsyncIterator[Served]:
    places = {"storage_url": str(tmp_path / "media"), "scratch": str(tmp_path / "scratch"), "remote_file_limit": 10_000}
    async with served(engine, database_url, **places) as made:
        yield made


@pytest.fixture
async def line(api: Served) -> AsyncIterator[LossyProxy]:
    async with proxy_to(api) as line:
        yield line
