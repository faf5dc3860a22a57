"""Real servers, and remote workers that have neither a database nor a folder of the house."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.chaos.fleet import a_fleet
from tests.remote.outpost import Outpost


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
async def outpost(tmp_path: Path, bytecode: Path) -> AsyncIterator[Outpost]:
    house = tmp_path / "house"
    house.mkdir()
    async with a_fleet(f"sqlite:///{house / 'reelstate.db'}", house, bytecode) as fleet:
        yield await Outpost.of(fleet, house, tmp_path / "far")
