"""A person at the database's own prompt: plain statements that mean the same in psql and in sqlite3."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import psycopg

from reelstate.stores.postgres.guards import REFUSED

GUARD = "guard"
"""How `Shell.refusal` names the guards; anything else is the name of a constraint."""


class Shell(Protocol):
    """One connection, in one transaction that is never committed."""

    now: str
    """An expression for this moment."""

    def run(self, statement: str) -> list[tuple[Any, ...]]: ...

    def refusal(self, statement: str) -> str | None:
        """What refuses a statement: the guards, or a constraint by its name; None when it is accepted."""
        ...

    def repairing(self, *, on: bool) -> None:
        """Have the guards stand aside, or not."""
        ...


@contextmanager
def undone(shell: Shell) -> Iterator[None]:
    """Whatever happens inside has not happened afterwards."""
    shell.run("SAVEPOINT place")
    yield
    shell.run("ROLLBACK TO place")
    shell.run("RELEASE place")


@contextmanager
def aside(shell: Shell) -> Iterator[None]:
    """The guards stand aside inside."""
    shell.repairing(on=True)
    yield
    shell.repairing(on=False)


class PostgresShell:
    now = "clock_timestamp()"

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection
        self.run("SET LOCAL search_path TO reelstate")

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def refusal(self, statement: str) -> str | None:
        self.run("SAVEPOINT attempt")
        try:
            self.run(statement)
        except psycopg.IntegrityError as error:
            return str(error.diag.constraint_name)
        except psycopg.DatabaseError as error:
            if error.sqlstate != REFUSED:
                raise
            return GUARD
        else:
            return None
        finally:
            self.run("ROLLBACK TO attempt; RELEASE attempt")

    def repairing(self, *, on: bool) -> None:
        self.run(f"SET LOCAL reelstate.repairing = '{'on' if on else ''}'")


class SQLiteShell:
    now = "1767225600.5"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement).fetchall()

    def refusal(self, statement: str) -> str | None:
        self.run("SAVEPOINT attempt")
        try:
            self.run(statement)
        except sqlite3.IntegrityError as error:
            if str(error).startswith("reelstate: "):
                return GUARD
            unique = re.match(r"UNIQUE constraint failed: (\w+)\.", str(error))
            return f"{unique[1]}_pkey" if unique else str(error).rpartition(": ")[2]
        else:
            return None
        finally:
            self.run("ROLLBACK TO attempt")
            self.run("RELEASE attempt")

    def repairing(self, *, on: bool) -> None:
        self.run("DELETE FROM repairing")
        if on:
            self.run("INSERT INTO repairing VALUES (0)")


@contextmanager
def shell_at(url: str) -> Iterator[Shell]:
    if url.startswith("sqlite:///"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield SQLiteShell(connection)
            connection.execute("ROLLBACK")
        finally:
            connection.close()
    else:
        with psycopg.connect(url) as server:
            yield PostgresShell(server)
            server.rollback()
