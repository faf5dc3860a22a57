"""The schema as one file a store, for readers: the result of the migrations and the guards.

Update it with `REELSTATE_WRITE_SCHEMA=1 pytest tests/stores/test_schema_dump.py`.
"""

import os
import re
import sqlite3
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from reelstate.app import store_at
from tests.postgres import PostgresServer

# What differs from run to run or from release to release, and is not part of the schema.
NOISE = re.compile(
    r"^(--( Dumped .*| PostgreSQL database dump.*)?|\\(un)?restrict .*|SET .*|SELECT pg_catalog\.set_config.*)$"
)


def committed(dialect: str) -> Path:
    return Path(str(files(f"reelstate.stores.{dialect}"))) / "schema.sql"


def compare(dialect: str, dump: str) -> None:
    file = committed(dialect)
    if os.environ.get("REELSTATE_WRITE_SCHEMA"):
        file.write_text(dump)
    if not file.exists():
        pytest.skip(f"{file.name} of {dialect} is not written yet: REELSTATE_WRITE_SCHEMA=1")
    assert dump == file.read_text(), "the schema has changed: write the dump anew with REELSTATE_WRITE_SCHEMA=1"


def without_noise(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if not NOISE.match(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def postgres_dump(server: PostgresServer, url: str) -> str:
    command = [str(server.bin / "pg_dump"), "--schema-only", "--no-owner", "--no-privileges", url]
    return without_noise(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_the_postgres_schema_is_the_committed_one(postgres_server: PostgresServer, migrated_template: str) -> None:
    compare("postgres", postgres_dump(postgres_server, migrated_template))


async def test_a_second_migration_changes_nothing_in_postgres(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    assert await store_at(postgres_url).migrate()
    before = postgres_dump(postgres_server, postgres_url)
    assert await store_at(postgres_url).migrate() == []
    assert postgres_dump(postgres_server, postgres_url) == before


async def test_the_sqlite_schema_is_the_committed_one(tmp_path: Path) -> None:
    path = tmp_path / "schema.db"
    await store_at(f"sqlite:///{path}").migrate()
    with sqlite3.connect(path) as connection:
        rows = connection.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
            " ORDER BY tbl_name, type = 'trigger', type = 'index', name"
        ).fetchall()
    connection.close()
    compare("sqlite", "\n\n".join(f"{sql.strip()};" for (sql,) in rows) + "\n")
