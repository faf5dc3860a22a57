from collections.abc import Iterator

import pytest

from tests.postgres import PostgresServer


@pytest.fixture
def migrated_url(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    """A migrated, empty PostgreSQL database for one test."""
    url = postgres_server.new_database(migrated_template)
    yield url
    postgres_server.drop_database(url)
