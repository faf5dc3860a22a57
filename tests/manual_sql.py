"""Manual SQL: changes to a store that bypass the engine and its guards."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import psycopg

from reelstate.stores.sqlite.address import database_path

TABLES = ("jobs", "stages", "tasks", "workers", "events")


class ManualSql:
    """Runs statements as an operator would at the database's own command line."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.postgres = url.startswith("postgres")

    def run(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run one statement; table names are the same in both dialects, `?` stands for a parameter."""
        return self.run_all([(statement, parameters)])[0]

    def run_all(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> list[list[tuple[Any, ...]]]:
        """Run statements in one transaction."""
        if self.postgres:
            with psycopg.connect(self.url, options="-c search_path=reelstate") as connection:
                return [self._fetch(connection.execute(text.replace("?", "%s"), values)) for text, values in statements]
        file = sqlite3.connect(database_path(self.url) or ":memory:", isolation_level=None)
        file.execute("PRAGMA ignore_check_constraints = on")
        file.execute("BEGIN IMMEDIATE")
        rows = [file.execute(text, values).fetchall() for text, values in statements]
        file.execute("COMMIT")
        file.close()
        return rows

    def run_unguarded(self, *statements: str) -> None:
        """Run statements in one transaction in which the guards are off, as they are for doctor."""
        begin = "SET LOCAL reelstate.repairing = 'on'" if self.postgres else "INSERT INTO repairing VALUES (0)"
        end = "SET LOCAL reelstate.repairing = ''" if self.postgres else "DELETE FROM repairing"
        self.run_all([(text, ()) for text in (begin, *statements, end)])

    def drop_guards(self) -> None:
        """Remove every trigger and every constraint that can be removed."""
        if self.postgres:
            triggers = self.run(
                "SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) FROM pg_trigger t"
                " JOIN pg_class c ON c.oid = t.tgrelid"
                " WHERE c.relnamespace = 'reelstate'::regnamespace AND NOT tgisinternal".replace("%", "%%")
            )
            constraints = self.run(
                "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint"
                " WHERE connamespace = 'reelstate'::regnamespace AND (contype = 'c' OR conname = 'tasks_pkey')".replace(
                    "%", "%%"
                )
            )
            self.run_all([(text, ()) for (text,) in triggers + constraints])
        else:
            found = self.run("SELECT type, name FROM sqlite_master WHERE type = 'trigger' OR name = 'tasks_pkey'")
            self.run_all([(f"DROP {kind} {name}", ()) for kind, name in found])

    @staticmethod
    def _fetch(cursor: psycopg.Cursor[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return cursor.fetchall() if cursor.description else []
