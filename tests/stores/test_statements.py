"""In both stores every statement returns the columns that its verb declares, in the same order.

PostgreSQL describes them without running them; SQLite runs them on an empty database.
"""

import importlib
import pkgutil
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import reelstate
from reelstate.stores import migrate
from reelstate.stores.sqlite.statement import SqliteStatement
from reelstate.stores.store import STATEMENTS

for module in pkgutil.walk_packages(reelstate.__path__, "reelstate."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

POSTGRES = migrate.statements("reelstate.stores.postgres")
SQLITE = migrate.statements("reelstate.stores.sqlite")

Columns = Callable[[str], Sequence[str]]
"""The columns that a store returns for the text of a statement."""


@pytest.fixture
def postgres_columns(postgres_database: str) -> Iterator[Columns]:
    with psycopg.connect(postgres_database) as connection:
        cursor = psycopg.ClientCursor(connection)

        def columns(text: str) -> Sequence[str]:
            parameters = dict.fromkeys(re.findall(r"%\((\w+)\)s", text))
            prepared = connection.pgconn.prepare(b"", cursor.mogrify(text, parameters).encode())
            assert not prepared.error_message, prepared.error_message.decode()
            described = connection.pgconn.describe_prepared(b"")
            names = [described.fname(number) for number in range(described.nfields)]
            return [name.decode() for name in names if name is not None]

        yield columns


@pytest.fixture
def sqlite_columns(migrated_file: Path, tmp_path: Path) -> Iterator[Columns]:
    with closing(sqlite3.connect(shutil.copy(migrated_file, tmp_path), isolation_level=None)) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")

        def columns(text: str) -> Sequence[str]:
            parameters = dict.fromkeys(re.findall(r":(\w+)", text), 0)
            connection.execute("BEGIN")
            try:
                *before, last = map(_without_constraints, SqliteStatement.of(text).parts)
                for part in before:
                    connection.execute(part, parameters)
                return [column[0] for column in connection.execute(last, parameters).description or ()]
            finally:
                connection.execute("ROLLBACK")

        yield columns


def _without_constraints(text: str) -> str:
    """Let a statement leave out the rows that break constraints; its columns stay the same."""
    return re.sub(r"\b(INSERT|UPDATE)(?= (?!SET\b))", r"\1 OR IGNORE", text)


def mismatches(texts: dict[str, str], columns: Columns) -> dict[str, str]:
    """What each store returns in place of what is declared, by the statement."""
    found = {}
    for name, statement in STATEMENTS.items():
        try:
            statement.check(columns(texts[name]))
        except AssertionError as error:
            found[name] = str(error)
    return found


def test_every_file_is_declared_and_every_declaration_has_a_file_in_both_stores() -> None:
    assert STATEMENTS.keys() == POSTGRES.keys() == SQLITE.keys()


def test_postgres_returns_the_declared_columns(postgres_columns: Columns) -> None:
    assert mismatches(dict(POSTGRES), postgres_columns) == {}


def test_sqlite_returns_the_declared_columns(sqlite_columns: Columns) -> None:
    assert mismatches(dict(SQLITE), sqlite_columns) == {}


@pytest.mark.parametrize("swapped", ["attempt, max_attempts", "actor, reason"])
def test_two_swapped_columns_of_the_same_type_are_found(
    swapped: str, postgres_columns: Columns, sqlite_columns: Columns
) -> None:
    first, _, second = swapped.partition(", ")
    for texts, columns in ((POSTGRES, postgres_columns), (SQLITE, sqlite_columns)):
        assert swapped in texts["observe_tasks"]
        text = texts["observe_tasks"].replace(swapped, f"{second}, {first}")
        assert mismatches({**texts, "observe_tasks": text}, columns).keys() == {"observe_tasks"}
