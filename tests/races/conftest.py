from collections.abc import Iterator

import pytest

from tests.postgres import PostgresServer
from tests.races.racing_processes import RacingProcesses, processes


@pytest.fixture(scope="package")
def racers() -> Iterator[RacingProcesses]:
    """Eight processes, started once."""
    with processes() as made:
        yield made


@pytest.fixture
def url(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    """A migrated, empty PostgreSQL database."""
    made = postgres_server.new_database(migrated_template)
    yield made
    postgres_server.drop_database(made)
