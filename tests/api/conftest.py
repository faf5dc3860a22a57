"""A server for each test, on each store in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reelstate.engine import Engine
from tests.api.api_server import Server, api_server
from tests.api.video_server import VideoLibrary, library_at
from tests.engines import engine_at


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[Engine]:
    """An engine on each store in turn; with the real clock."""
    async with engine_at(database_url) as engine:
        yield engine


@pytest.fixture
async def api(engine: Engine, database_url: str) -> AsyncIterator[Server]:
    """A server with a key for each role; `api.ask("ada", "GET", "/api/v1/jobs")`."""
    async with api_server(engine, database_url) as made:
        yield made


@pytest.fixture
async def library(database_url: str, tmp_path: Path) -> AsyncIterator[VideoLibrary]:
    """A server with a library."""
    async with library_at(database_url, tmp_path / "media") as made:
        yield made
