"""Fixtures for every test: one PostgreSQL server a process, one database a test."""

import contextlib
import os
from collections.abc import Iterator
from typing import NoReturn

import pytest

from tests.postgres import PostgresServer, PostgresUnavailable, memory_folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole process; each pytest-xdist worker has its own."""
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(PostgresServer(folder=memory_folder()))
        except PostgresUnavailable as error:
            _do_without(error)
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """An empty database of the test's own."""
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


def _do_without(error: PostgresUnavailable) -> NoReturn:
    reason = f"POSTGRESQL IS NOT TESTED, it can't be started here: {error}"
    if os.environ.get("REELSTATE_REQUIRE_POSTGRES"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
