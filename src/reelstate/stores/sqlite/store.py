"""The SQLite store: one file, and in each process a connection with a thread for writes, and one for reads.

A flow awaits only its transaction, and a transaction waits only for the disk. So the thread runs the whole flow, from
BEGIN to COMMIT, and a verb costs one switch to the thread and back, however many statements it runs. BEGIN IMMEDIATE
takes the write lock: writers wait for each other there, in SQLite's busy handler, and no later statement fails on a
lock. That may take seconds where other processes write all the time; a read needs no lock, so it has a connection of
its own and never waits for a write.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from reelstate.core.errors import InvalidRequest, SchemaMismatch, StoreUnavailable
from reelstate.runtime.private_files import create_file
from reelstate.stores import guard, migrate
from reelstate.stores.sqlite import guards
from reelstate.stores.sqlite.address import database_path, require_usable_path
from reelstate.stores.sqlite.archive import SqliteArchive
from reelstate.stores.sqlite.faults import is_busy, translate
from reelstate.stores.sqlite.statement import ResultShape, SqliteStatement, bind, split
from reelstate.stores.store import Batch, Clock, Flow, PoolFigures, RowType, Statement, Transaction
from reelstate.telemetry.facts import Fact, emit_all

Result = TypeVar("Result")
Setting = int | str

PACKAGE = "reelstate.stores.sqlite"
MIN_LIBRARY_VERSION = (3, 35, 0)
INCREMENTAL = 2
"""The mode of `auto_vacuum` in which a file gives free pages back when asked to."""
SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")
SETTINGS: Mapping[str, Setting] = {
    "foreign_keys": "off",
    "temp_store": "memory",
    "cache_size": -65536,  # in KiB: a large batch must not spill before its commit
    "wal_autocheckpoint": 4000,  # in pages: a checkpoint costs two syncs and delays a commit
    "journal_size_limit": 67108864,
    "secure_delete": "fast",  # deleted values leave their pages; vacuum gives free pages back
}
READER_SETTINGS: Mapping[str, Setting] = {
    "query_only": "on",
    "cache_size": -16384,  # in KiB: what is missing is read from the page cache of the system
}


@dataclass(frozen=True, slots=True)
class SQLiteTransaction:
    """Runs the named statements on one connection, in the store's thread."""

    _connection: sqlite3.Connection
    _statements: Mapping[str, SqliteStatement]
    _shapes: dict[str, ResultShape]
    _clock: Clock | None
    facts: list[Fact] = field(default_factory=list)

    def note(self, fact: Fact) -> None:
        self.facts.append(fact)

    async def run(
        self, statement: Statement[RowType], batch: Batch | None = None, /, **parameters: Any
    ) -> list[RowType]:
        name = statement.name
        known = self._statements[name]
        values = {name: bind(value) for name, value in parameters.items()}
        values["now"] = self._clock().timestamp() if self._clock else time.time()
        if batch is not None:
            values["rows"] = known.rows_of(batch)
        for part in known.parts[:-1]:
            self._connection.execute(part, values)
        cursor = self._connection.execute(known.parts[-1], values)
        shape = self._shapes.get(name)
        if shape is None:
            shape = self._shapes[name] = ResultShape.of(cursor)
        rows = shape.read(cursor.fetchall()) if cursor.description else []
        if not shape.checked:
            statement.check(shape.names)
            shape.checked = True
        return statement.records(rows)


class SQLiteStore:
    """A SQLite file on a local disk that holds nothing else; several processes of one host may share it.

    With `synchronous` FULL every acknowledged write survives a power loss; with NORMAL the last ones may be lost, but
    nothing is damaged. `pragmas` are set on the connection after our own (`cache_size`, …). A call that is cancelled
    while the thread runs it still takes effect.
    """

    def __init__(
        self,
        address: str | os.PathLike[str],
        *,
        clock: Clock | None = None,
        timeout: float = 30.0,
        synchronous: str = "FULL",
        pragmas: Mapping[str, Setting] | None = None,
    ) -> None:
        if synchronous not in SYNCHRONOUS:
            raise InvalidRequest(
                "synchronous", f"invalid mode {synchronous!r}", hint=f"use one of {', '.join(SYNCHRONOUS)}"
            )
        self.path = database_path(address)
        self._clock = clock
        self._timeout = timeout
        self._settings = {**SETTINGS, "synchronous": synchronous, **(pragmas or {})}
        self._statements = dict(_statements())
        self._shapes: dict[str, ResultShape] = {}
        self.archive = SqliteArchive(self.path, timeout, partial(self._run_on, "BEGIN"))
        self._migrations = migrate.migrations(PACKAGE)
        self._connection: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reelstate-sqlite")
        self._reader_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reelstate-sqlite-reader")
        self._closed = False

    async def open(self) -> None:
        """Connect and check the SQLite version, the path and the schema."""
        await self._run_in_thread(self._open)

    async def close(self) -> None:
        if not self._closed:
            await self._run_in_thread(self._close_reader, thread=self._reader_thread)
            await self._run_in_thread(self._disconnect)
            self._closed = True
            self._reader_thread.shutdown()
            self._thread.shutdown()

    def pool(self) -> PoolFigures:
        waiting = [thread._work_queue.qsize() for thread in (self._thread, self._reader_thread)]  # noqa: SLF001 - an executor has no other name for it
        return PoolFigures(1 + (self._reader is not None), sum(waiting), 0)

    async def migrate(self) -> list[str]:
        """Apply pending migrations, one process at a time, and install the guards if they differ."""
        return await self._run_in_thread(self._migrate)

    async def missing_guards(self) -> list[str]:
        return await self._run_in_thread(lambda: _missing_guards(self._require_open(), self._migrations))

    async def restore_triggers(self) -> None:
        await self._run_in_thread(self._restore_triggers)

    async def restore_constraints(self) -> None:
        await self._run_in_thread(self._restore_constraints)

    async def read(self, flow: Flow[Result]) -> Result:
        """Run a flow on the connection for reads; a database in memory has only one connection."""
        if self.path is None:
            return await self._run_in_thread(self._transact, "BEGIN", flow)
        return await self._run_in_thread(self._read, flow, thread=self._reader_thread)

    async def survey(self, flow: Flow[Result]) -> Result:
        """Run a flow on another connection, so that no caller in this process waits for it."""
        if self.path is None or self._closed:
            return await self.read(flow)  # a database in memory has only one connection
        return await asyncio.to_thread(_translate_errors, self._survey, flow)

    async def write(self, flow: Flow[Result]) -> Result:
        return await self._run_in_thread(self._transact, "BEGIN IMMEDIATE", flow)

    async def write_alone(self, flow: Flow[Result], again: Flow[Result] | None = None) -> Result:
        """Write in one transaction: there is no round trip to save."""
        return await self._run_in_thread(self._transact, "BEGIN IMMEDIATE", again or flow)

    async def vacuum(self, pages: int) -> int:
        """Give free pages back; a file that was created without `auto_vacuum` keeps them for later rows."""
        return await self._run_in_thread(self._vacuum, pages)

    def _vacuum(self, pages: int) -> int:
        connection = self._require_open()
        connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
        (mode,) = connection.execute("PRAGMA auto_vacuum").fetchone()
        if not free:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # the log holds what was deleted
        return int(free) if mode == INCREMENTAL else 0

    async def _run_in_thread(
        self, work: Callable[..., Result], *arguments: Any, thread: ThreadPoolExecutor | None = None
    ) -> Result:
        if self._closed:
            raise StoreUnavailable("the store is closed", hint="open a new one")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(thread or self._thread, _translate_errors, work, *arguments)

    def _read(self, flow: Flow[Result]) -> Result:
        self._require_open()
        if self._reader is None:
            self._reader = _connection(self.path, self._timeout, {**self._settings, **READER_SETTINGS})
        return self._transact("BEGIN", flow, self._reader)

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _survey(self, flow: Flow[Result]) -> Result:
        self._require_open()
        with contextlib.closing(_connection(self.path, self._timeout, self._settings)) as connection:
            return self._transact("BEGIN", flow, connection)

    def _run_on(self, begin: str, connection: sqlite3.Connection, flow: Flow[Result]) -> Result:
        """Run a flow in one transaction on the connection of a month of the archive."""
        return _translate_errors(partial(self._transact, begin, flow, connection))

    def _transact(self, begin: str, flow: Flow[Result], connection: sqlite3.Connection | None = None) -> Result:
        """Run a flow in one transaction, on the store's connection or another."""
        used = connection or self._connection or self._require_open()
        transaction = SQLiteTransaction(used, self._statements, self._shapes, self._clock)
        result = _commit(used, begin, partial(_run_flow, flow, transaction))
        emit_all(transaction.facts)
        return result

    def _require_open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreUnavailable("the store is not open", hint="open it before use")
        return self._connection

    def _open(self) -> None:
        self._connect(create=False)
        try:
            applied = _applied(self._connection) if self._connection else migrate.Applied()
            migrate.require_current(self._migrations, applied)
        except BaseException:
            self._disconnect()
            raise

    def _migrate(self) -> list[str]:
        self._connect(create=True)
        connection = self._require_open()
        return _commit(connection, "BEGIN IMMEDIATE", lambda: _migrate(connection, self._migrations))

    def _restore_triggers(self) -> None:
        connection = self._require_open()
        _commit(connection, "BEGIN IMMEDIATE", lambda: _install_guards(connection, guards.script()))

    def _restore_constraints(self) -> None:
        connection = self._require_open()
        indexes = guards.indexes(_script_of(self._migrations))
        for name in indexes.keys() & set(_missing_guards(connection, self._migrations)):
            connection.execute(indexes[name])
        missing = _missing_guards(connection, self._migrations)
        if missing:
            raise SchemaMismatch(
                f"tables have lost their constraints: {', '.join(missing)}",
                hint="SQLite can't add one to a table; copy the rows into a new database of `reel migrate`",
            )

    def _connect(self, *, create: bool) -> None:
        """Connect unless that is done already, or there is no file and `create` is False."""
        if self._connection is not None:
            return
        _require_library(sqlite3.sqlite_version_info)
        if self.path is not None:
            require_usable_path(self.path)
        if create and self.path is not None:
            with contextlib.suppress(OSError):  # the connection reports why it can't be created
                create_file(self.path)  # its WAL and shared memory get the mode of the file
        if create or self.path is None or self.path.exists():
            self._connection = _connection(self.path, self._timeout, self._settings)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@cache
def _statements() -> Mapping[str, SqliteStatement]:
    return {name: SqliteStatement.of(text) for name, text in migrate.statements(PACKAGE).items()}


def _translate_errors(work: Callable[..., Result], *arguments: Any) -> Result:
    """Call `work`; raise the engine's errors for the driver's."""
    try:
        return work(*arguments)
    except (sqlite3.Error, OverflowError) as error:
        raise translate(error) from error


def _commit(connection: sqlite3.Connection, begin: str, work: Callable[[], Result]) -> Result:
    """Run work in one transaction and commit it, or roll it back if it raises."""
    connection.execute(begin)
    try:
        result = work()
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has rolled it back already
            connection.execute("ROLLBACK")
        raise
    return result


def _run_flow(flow: Flow[Result], transaction: Transaction) -> Result:
    """Run a flow without an event loop: it never waits."""
    steps = flow(transaction).__await__()
    try:
        next(steps)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # StopIteration is untyped
    steps.close()
    raise RuntimeError("a flow may await nothing but its transaction")


def _require_library(version: tuple[int, ...]) -> None:
    if version < MIN_LIBRARY_VERSION:
        raise SchemaMismatch(
            f"this Python is linked to SQLite {'.'.join(map(str, version))}",
            hint="Reelstate needs SQLite 3.35 or newer",
        )


def _connection(path: Path | None, timeout: float, settings: Mapping[str, Setting]) -> sqlite3.Connection:
    name = ":memory:" if path is None else str(path)
    try:
        connection = sqlite3.connect(name, timeout=timeout, isolation_level=None, cached_statements=512)
    except sqlite3.OperationalError as error:
        raise StoreUnavailable(
            f"can't open {name}: {error}",
            hint="check that its folder is writable, the disk is not full and the open file limit is not reached",
        ) from error
    try:
        if path is None or not path.stat().st_size:  # a file with tables keeps its mode, and would be locked
            connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
        _enable_wal(connection, time.monotonic() + timeout)
        for setting, value in settings.items():
            connection.execute(f"PRAGMA {setting} = {value}")
    except BaseException as error:
        connection.close()
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            message = f"{name} is not a SQLite database"
            raise StoreUnavailable(message, hint="name another with --database or REEL_DATABASE_URL") from error
        raise
    return connection


def _enable_wal(connection: sqlite3.Connection, until: float) -> None:
    """Enable the write-ahead log; retry while another process does the same."""
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = wal").fetchone()
    except sqlite3.OperationalError as error:
        if not is_busy(error) or time.monotonic() > until:
            raise
        time.sleep(0.01)
        _enable_wal(connection, until)
        return
    if mode not in {"wal", "memory"}:
        raise StoreUnavailable(
            "the filesystem supports no write-ahead log", hint="move the file to an ordinary local disk"
        )


def _migrate(connection: sqlite3.Connection, shipped: Sequence[migrate.Migration]) -> list[str]:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
        f" applied_at REAL NOT NULL DEFAULT ({guards.NOW}))"
    )
    applied = []
    found = _applied(connection)
    pending = migrate.pending(shipped, found)
    if found.is_ahead(shipped):
        return []
    if pending:
        _drop_guards(connection)
    for migration in pending:
        _run_script(connection, migration.script)
        connection.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", [migration.number, migration.name])
        applied.append(f"{migration.number:04d}_{migration.name}")
    script = guards.script()
    installed = connection.execute("SELECT value FROM facts WHERE name = 'guards'").fetchone()
    if pending or installed != (guard.digest(script),):
        _install_guards(connection, script)
        applied.append("guards")
    if applied:
        _write_fact(connection, migrate.OLDEST_SCHEMA, str(migrate.oldest_schema(shipped)))
    return applied


def _write_fact(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute(
        "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", [name, value]
    )


def _install_guards(connection: sqlite3.Connection, script: str) -> None:
    """Replace our triggers with the generated ones."""
    _drop_guards(connection)
    _run_script(connection, script)
    _write_fact(connection, "guards", guard.digest(script))


def _drop_guards(connection: sqlite3.Connection) -> None:
    """Drop our triggers: a migration can't replace a table that a trigger names."""
    for name in _triggers(connection):
        if name.startswith(guards.PREFIXES):
            connection.execute(f"DROP TRIGGER {name}")


def _missing_guards(connection: sqlite3.Connection, shipped: Sequence[migrate.Migration]) -> list[str]:
    """Return missing or changed triggers and missing constraints and indexes; none on a newer schema."""
    if _applied(connection).is_ahead(shipped):
        return []
    installed = _triggers(connection)
    changed = {name for name, text in guards.triggers().items() if installed.get(name) != text}
    rows = connection.execute("SELECT name, coalesce(sql, '') FROM sqlite_master WHERE type IN ('table', 'index')")
    objects = dict(rows.fetchall())
    kept = guards.constraints("".join(objects.values())) | objects.keys()
    wanted = guards.constraints(_script_of(shipped)) | guards.indexes(_script_of(shipped)).keys()
    return sorted(changed | wanted - kept)


def _script_of(shipped: Sequence[migrate.Migration]) -> str:
    return "".join(migration.script for migration in shipped)


def _triggers(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())


def _run_script(connection: sqlite3.Connection, script: str) -> None:
    for part in split(script):
        connection.execute(part)


def _applied(connection: sqlite3.Connection) -> migrate.Applied:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").fetchall():
        return migrate.Applied()
    found = connection.execute(
        "SELECT coalesce(max(number), 0), (SELECT name FROM migrations WHERE number = 1) FROM migrations"
    )
    number, first = found.fetchone()
    wanted = "SELECT value FROM facts WHERE name = ?"
    oldest = connection.execute(wanted, [migrate.OLDEST_SCHEMA]).fetchone() if number else None
    return migrate.Applied(number, None if oldest is None else int(oldest[0]), first)
