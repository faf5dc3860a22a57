"""The SQLite store: one file, one connection a process, one thread that does all work on it.

A flow awaits nothing but its transaction, and a transaction waits for nothing but the disk. So the thread
drives the whole flow itself, from BEGIN to COMMIT, and a verb costs one hop to the thread and back, however
many statements it runs. BEGIN IMMEDIATE takes the write lock at once: writers wait for each other there, in
SQLite's busy handler, and nothing that has begun can fail on a lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, overload

from reelstate.core.errors import InvalidRequest, SchemaMismatch, StoreUnavailable
from reelstate.runtime.private_files import create_file
from reelstate.stores import guard, migrate
from reelstate.stores.sqlite import guards
from reelstate.stores.sqlite.address import database_path, require_place
from reelstate.stores.sqlite.faults import is_busy, translate
from reelstate.stores.sqlite.statement import ResultShape, SqliteStatement, bound, split
from reelstate.stores.store import Batch, Clock, Flow, Row, RowType, Statement, Transaction

Result = TypeVar("Result")
Setting = int | str

PACKAGE = "reelstate.stores.sqlite"
OLDEST_LIBRARY = (3, 35, 0)
SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")
SETTINGS: Mapping[str, Setting] = {
    "foreign_keys": "off",
    "temp_store": "memory",
    "cache_size": -65536,  # in KiB: a large batch must not spill before its commit
    "wal_autocheckpoint": 4000,  # in pages: a checkpoint costs two syncs and stands in the way of a commit
    "journal_size_limit": 67108864,
}


@dataclass(frozen=True, slots=True)
class SQLiteTransaction:
    """Runs the named statements on one connection, in the store's thread."""

    _connection: sqlite3.Connection
    _statements: Mapping[str, SqliteStatement]
    _shapes: dict[str, ResultShape]
    _clock: Clock | None

    @overload
    async def run(
        self, statement: Statement[RowType], batch: Batch | None = None, /, **parameters: Any
    ) -> list[RowType]: ...

    @overload
    async def run(self, statement: str, batch: Batch | None = None, /, **parameters: Any) -> list[Row]: ...

    async def run(self, statement: Any, batch: Batch | None = None, /, **parameters: Any) -> list[Any]:
        name = statement if isinstance(statement, str) else statement.name
        known = self._statements[name]
        values = {name: bound(value) for name, value in parameters.items()}
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
        if statement is name:
            return rows
        if not shape.checked:
            statement.check(shape.names)
            shape.checked = True
        return list(map(statement.row._make, rows))


class SQLiteStore:
    """A SQLite file on a local disk that holds nothing else; several processes of one host may share it.

    `synchronous` FULL keeps every acknowledged write through a loss of power; NORMAL may lose the last ones,
    and damages nothing. `pragmas` are set on the connection after our own (`cache_size`, …).
    A call that is cancelled while the thread is at it takes effect nevertheless.
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
                "synchronous", f"{synchronous!r} is no such mode", hint=f"one of {', '.join(SYNCHRONOUS)}"
            )
        self.path = database_path(address)
        self._clock = clock
        self._timeout = timeout
        self._settings = {**SETTINGS, "synchronous": synchronous, **(pragmas or {})}
        self._statements = dict(_statements())
        self._shapes: dict[str, ResultShape] = {}
        self._migrations = migrate.migrations(PACKAGE)
        self._connection: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reelstate-sqlite")
        self._closed = False

    async def open(self) -> None:
        """Connect and check the library, the place and the schema."""
        await self._in_thread(self._open)

    async def close(self) -> None:
        if not self._closed:
            await self._in_thread(self._disconnect)
            self._closed = True
            self._thread.shutdown()

    async def migrate(self) -> list[str]:
        """Apply what is missing, one process at a time, and install the guards if they are not these."""
        return await self._in_thread(self._migrate)

    async def missing_guards(self) -> list[str]:
        return await self._in_thread(lambda: _missing_guards(self._ready(), self._migrations))

    async def restore_triggers(self) -> None:
        await self._in_thread(self._restore_triggers)

    async def restore_constraints(self) -> None:
        await self._in_thread(self._restore_constraints)

    async def read(self, flow: Flow[Result]) -> Result:
        return await self._in_thread(self._transact, "BEGIN", flow)

    async def survey(self, flow: Flow[Result]) -> Result:
        """On a connection of its own, so that nobody in this process waits for it either."""
        if self.path is None or self._closed:
            return await self.read(flow)  # a database in memory is known to its one connection alone
        return await asyncio.to_thread(_translate_errors, self._survey, flow)

    async def write(self, flow: Flow[Result]) -> Result:
        return await self._in_thread(self._transact, "BEGIN IMMEDIATE", flow)

    async def write_alone(self, flow: Flow[Result], again: Flow[Result] | None = None) -> Result:
        """Write in one transaction: there is no round trip to save."""
        return await self._in_thread(self._transact, "BEGIN IMMEDIATE", again or flow)

    async def _in_thread(self, work: Callable[..., Result], *arguments: Any) -> Result:
        if self._closed:
            raise StoreUnavailable("the store is closed", hint="open a new one")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _translate_errors, work, *arguments)

    def _survey(self, flow: Flow[Result]) -> Result:
        self._ready()
        with contextlib.closing(_connection(self.path, self._timeout, self._settings)) as connection:
            return self._transact("BEGIN", flow, connection)

    def _transact(self, begin: str, flow: Flow[Result], connection: sqlite3.Connection | None = None) -> Result:
        """Run a flow in one transaction, on the store's connection or another."""
        used = connection or self._connection or self._ready()
        transaction = SQLiteTransaction(used, self._statements, self._shapes, self._clock)
        return _commit(used, begin, partial(_run_flow, flow, transaction))

    def _ready(self) -> sqlite3.Connection:
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
        connection = self._ready()
        return _commit(connection, "BEGIN IMMEDIATE", lambda: _brought_up_to_date(connection, self._migrations))

    def _restore_triggers(self) -> None:
        connection = self._ready()
        _commit(connection, "BEGIN IMMEDIATE", lambda: _install_guards(connection, guards.script()))

    def _restore_constraints(self) -> None:
        connection = self._ready()
        indexes = guards.indexes(_all(self._migrations))
        for name in indexes.keys() & set(_missing_guards(connection, self._migrations)):
            connection.execute(indexes[name])
        missing = _missing_guards(connection, self._migrations)
        if missing:
            raise SchemaMismatch(
                f"tables have lost their constraints: {', '.join(missing)}",
                hint="SQLite can't add one to a table; copy the rows into a database made by `reel migrate`",
            )

    def _connect(self, *, create: bool) -> None:
        """Make the connection when there is none yet, unless there is no file and none may be made."""
        if self._connection is not None:
            return
        _require_library(sqlite3.sqlite_version_info)
        if self.path is not None:
            require_place(self.path)
        if create and self.path is not None:
            with contextlib.suppress(OSError):  # why it can't be created is reported by the connection
                create_file(self.path)  # its log and shared memory get the mode of the file
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
    """Do work in one transaction, all or nothing."""
    connection.execute(begin)
    try:
        result = work()
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise
    return result


def _run_flow(flow: Flow[Result], transaction: Transaction) -> Result:
    """Run a flow to its end without an event loop: it has nothing to wait for."""
    steps = flow(transaction).__await__()
    try:
        next(steps)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # the value of a generator's end is untyped
    steps.close()
    raise RuntimeError("a flow may await nothing but its transaction")


def _require_library(version: tuple[int, ...]) -> None:
    if version < OLDEST_LIBRARY:
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
            f"{name} can't be opened: {error}",
            hint="may this user write to its folder? is there room, and no limit met?",
        ) from error
    try:
        _use_log(connection, time.monotonic() + timeout)
        for setting, value in settings.items():
            connection.execute(f"PRAGMA {setting} = {value}")
    except BaseException as error:
        connection.close()
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            words = f"{name} is not a SQLite database"
            raise StoreUnavailable(words, hint="name another with --database or REEL_DATABASE_URL") from error
        raise
    return connection


def _use_log(connection: sqlite3.Connection, until: float) -> None:
    """Turn on the write-ahead log. Of two processes that do so at once one is told to come back."""
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = wal").fetchone()
    except sqlite3.OperationalError as error:
        if not is_busy(error) or time.monotonic() > until:
            raise
        time.sleep(0.01)
        _use_log(connection, until)
        return
    if mode not in {"wal", "memory"}:
        raise StoreUnavailable(
            "the database can't keep a write-ahead log here", hint="move the file to an ordinary local disk"
        )


def _brought_up_to_date(connection: sqlite3.Connection, shipped: Sequence[migrate.Migration]) -> list[str]:
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
        f" applied_at REAL NOT NULL DEFAULT ({guards.NOW}))"
    )
    applied = []
    found = _applied(connection)
    awaited = migrate.pending(shipped, found)
    if found.is_ahead(shipped):
        return []
    if awaited:
        _drop_guards(connection)
    for migration in awaited:
        _run_script(connection, migration.script)
        connection.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", [migration.number, migration.name])
        applied.append(f"{migration.number:04d}_{migration.name}")
    script = guards.script()
    installed = connection.execute("SELECT value FROM facts WHERE name = 'guards'").fetchone()
    if awaited or installed != (guard.digest(script),):
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
    """Put the generated triggers in place of whatever there is of them."""
    _drop_guards(connection)
    _run_script(connection, script)
    _write_fact(connection, "guards", guard.digest(script))


def _drop_guards(connection: sqlite3.Connection) -> None:
    """A table can't be replaced while a trigger of another names it."""
    for name in _triggers(connection):
        if name.startswith(guards.PREFIXES):
            connection.execute(f"DROP TRIGGER {name}")


def _missing_guards(connection: sqlite3.Connection, shipped: Sequence[migrate.Migration]) -> list[str]:
    """Triggers that are gone or were changed, and constraints and indexes that are gone. On a newer schema, none."""
    if _applied(connection).is_ahead(shipped):
        return []
    installed = _triggers(connection)
    changed = {name for name, text in guards.triggers().items() if installed.get(name) != text}
    rows = connection.execute("SELECT name, coalesce(sql, '') FROM sqlite_master WHERE type IN ('table', 'index')")
    objects = dict(rows.fetchall())
    kept = guards.constraints("".join(objects.values())) | objects.keys()
    wanted = guards.constraints(_all(shipped)) | guards.indexes(_all(shipped)).keys()
    return sorted(changed | wanted - kept)


def _all(shipped: Sequence[migrate.Migration]) -> str:
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
