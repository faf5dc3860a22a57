"""The archive beside a SQLite file: one file per month, `jobs.archive-2026-11.db` beside `jobs.db`.

A month is opened as the main database of a connection of its own, with the store attached. So statements find the
tables of a month under their names, and in the store what a month does not have (pipelines, workers). Nothing stays
attached.

A transaction over two files with write-ahead logs is not atomic when the power fails. So a move first copies rows into
the month, which is synced to the disk, and deletes them from the store in a second transaction. After a crash in
between they are in both, and the next move replaces the copy.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.month import Month
from reelstate.runtime.private_files import create_file
from reelstate.stores.archive import ENGINE_TABLES, TABLES, MisplacedJob
from reelstate.stores.sqlite.faults import translate
from reelstate.stores.sqlite.statement import bind
from reelstate.stores.store import Flow, Result

RunFlow = Callable[[sqlite3.Connection, Flow[Any]], Any]
"""Runs a flow on a connection, in one transaction."""
EXPORT_ROWS: Final = 1000
MISPLACED: Final = """
SELECT a.id, j.version, a.version FROM main.jobs AS a JOIN hot.jobs AS j USING (id) ORDER BY 1 LIMIT ?
"""
PRESENT: Final = "SELECT id FROM hot.jobs WHERE id IN (SELECT value FROM json_each(?))"
SETTINGS: Final = (
    "journal_mode = delete",
    "synchronous = extra",
    "secure_delete = on",
    "temp_store = memory",
    "ignore_check_constraints = on",
)
"""A month is written rarely, as one file: the journal is gone after each commit, and the folder is synced too."""


class SqliteArchive:
    """The months of a SQLite store."""

    def __init__(self, path: Path | None, timeout: float, run_flow: RunFlow) -> None:
        self._path = path
        self._timeout = timeout
        self._run_flow = run_flow

    async def months(self) -> list[Month]:
        return sorted(self._files())

    async def prepare(self, months: Iterable[Month]) -> list[Month]:  # noqa: ARG002 - of the protocol
        """Create nothing: a file is created with its first job."""
        return []

    async def copy(self, month: Month, job_ids: Sequence[int], names: Sequence[str]) -> None:
        await self._in_thread(self._copy, month, bind(list(job_ids)), list(names))

    async def read(self, month: Month, flow: Flow[Result]) -> Result:
        return await self._in_thread(self._run, month, flow)

    async def write(self, month: Month, flow: Flow[Result]) -> Result:
        return await self._in_thread(self._run, month, flow)

    async def rows(self, month: Month, table: str) -> AsyncIterator[list[dict[str, Any]]]:
        if table not in TABLES:
            raise NotFound("table in the archive", table)
        with self._opened(month) as connection:
            cursor = connection.execute(f"SELECT * FROM main.{table} ORDER BY 1")
            names = [column[0] for column in cursor.description]
            while rows := await asyncio.to_thread(cursor.fetchmany, EXPORT_ROWS):
                yield [dict(zip(names, row, strict=True)) for row in rows]

    async def drop(self, month: Month) -> bool:
        file = self._files().get(month)
        if file is not None:
            file.unlink(missing_ok=True)
            file.with_name(f"{file.name}-journal").unlink(missing_ok=True)
            _sync_folder(file.parent)
        return file is not None

    async def misplaced(self, limit: int) -> list[MisplacedJob]:
        return await self._in_thread(self._misplaced, limit)

    async def _in_thread(self, work: Callable[..., Result], *arguments: Any) -> Result:
        try:
            return await asyncio.to_thread(work, *arguments)
        except sqlite3.Error as error:
            raise translate(error) from error

    def _misplaced(self, limit: int) -> list[MisplacedJob]:
        found: list[MisplacedJob] = []
        for month in sorted(self._files()):
            with self._opened(month) as connection:
                rows = connection.execute(MISPLACED, [limit - len(found)])
                found += [MisplacedJob(*row) for row in rows]
        return found

    def _files(self) -> dict[Month, Path]:
        if self._path is None:
            return {}
        name = re.compile(rf"{re.escape(self._path.stem)}\.archive-(\d{{4}}-\d{{2}}){re.escape(self._path.suffix)}")
        found = {file: name.fullmatch(file.name) for file in self._path.parent.iterdir()}
        return {Month.parse(match[1]): file for file, match in found.items() if match}

    def _file(self, month: Month) -> Path:
        if self._path is None:
            raise InvalidRequest("archive", "a database in memory has no archive", hint="use a file, or PostgreSQL")
        return self._path.with_name(f"{self._path.stem}.archive-{month}{self._path.suffix}")

    def _run(self, month: Month, flow: Flow[Result]) -> Result:
        with self._opened(month) as connection:
            result: Result = self._run_flow(connection, flow)
            return result

    def _copy(self, month: Month, job_ids: str, names: Sequence[str]) -> None:
        file = self._file(month)
        if not file.exists():
            create_file(file)
            _sync_folder(file.parent)
        with self._opened(month) as connection:
            connection.execute("BEGIN")  # not IMMEDIATE, which would lock the store too
            # What another process has moved meanwhile is in the month only, and must stay there.
            present = connection.execute(PRESENT, [job_ids]).fetchall()
            kept = {str(job_id) for (job_id,) in present}
            ids = bind([job_id for (job_id,) in present])
            stages = bind([name for name in names if name.partition(".")[0] in kept])
            for table in TABLES:
                key, chosen = ENGINE_TABLES.get(table, "job_id"), ids if table in ENGINE_TABLES else stages
                selected = f"{key} IN (SELECT value FROM json_each(?))"
                columns = ", ".join(_columns(connection, "hot", table))
                connection.execute(f"DELETE FROM main.{table} WHERE {selected}", [chosen])
                connection.execute(
                    f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM hot.{table} WHERE {selected}", [chosen]
                )
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def _opened(self, month: Month) -> Iterator[sqlite3.Connection]:
        """Open a month with the store attached; raise `NotFound` where there is none."""
        file = self._file(month)
        if not file.exists():
            raise NotFound("month in the archive", month, hint="`reel archive list` shows the months")
        connection = sqlite3.connect(file, timeout=self._timeout, isolation_level=None, check_same_thread=False)
        with contextlib.closing(connection):
            for setting in SETTINGS:
                connection.execute(f"PRAGMA {setting}")
            connection.execute("ATTACH ? AS hot", [str(self._path)])
            _match_schema(connection)
            yield connection


def _match_schema(connection: sqlite3.Connection) -> None:
    """Give a month the tables, columns and indexes that the store has and it lacks."""
    known = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_master")}
    marks = ", ".join("?" * len(TABLES))
    wanted = connection.execute(
        "SELECT type, name, sql FROM hot.sqlite_master WHERE sql IS NOT NULL AND type IN ('table', 'index')"
        f" AND tbl_name IN ({marks}) ORDER BY type DESC, name",
        TABLES,
    ).fetchall()
    for kind, name, sql in wanted:
        if kind == "table" and name in known:
            _add_columns(connection, name)
        elif name not in known:
            connection.execute(sql)


def _add_columns(connection: sqlite3.Connection, table: str) -> None:
    wanted = _columns(connection, "hot", table)
    known = _columns(connection, "main", table)
    for name in [name for name in wanted if name not in known]:
        # Without its default and constraints: those may not be added to rows that exist.
        connection.execute(f"ALTER TABLE main.{table} ADD COLUMN {name} {wanted[name]}")


def _columns(connection: sqlite3.Connection, schema: str, table: str) -> dict[str, str]:
    return {row[1]: row[2] for row in connection.execute(f"PRAGMA {schema}.table_info({table})")}


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
