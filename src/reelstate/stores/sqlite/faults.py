"""Translates the errors of SQLite into those of the engine."""

from __future__ import annotations

import sqlite3

from reelstate.core.errors import (
    CorruptState,
    GuardRefused,
    InvalidRequest,
    SchemaMismatch,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from reelstate.stores.sqlite.guards import REFUSED

MISSING = ("no such table", "no such column", "has no column named")


def translate(error: sqlite3.Error | OverflowError) -> StoreError | InvalidRequest:
    """Return the engine's error for one of the driver."""
    if isinstance(error, OverflowError):
        return InvalidRequest("number", str(error), hint="ids and counts must fit a column of the database")
    return _translate(error)


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection holds the lock."""
    return _code(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _code(error: sqlite3.Error) -> int:
    """Return the primary result code, without the bits of extended codes."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _translate(error: sqlite3.Error) -> StoreError:
    text = str(error)
    match _code(error):
        case sqlite3.SQLITE_CONSTRAINT if text.startswith(REFUSED):
            return GuardRefused(text.removeprefix(REFUSED), hint="docs/lifecycle.md shows the allowed changes")
        case sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_MISMATCH:
            return CorruptState(text, hint="run `reel doctor` to see what is wrong; nothing was changed")
        case sqlite3.SQLITE_FULL:
            return StoreFull(f"the database's disk is full: {text}", hint="free space on its disk; nothing was changed")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return StoreReadOnly(text, hint="the database file and its folder must be writable for this user")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreUnavailable(
                "another process holds the write lock of the database",
                hint="find the processes that have the file open; nothing was changed",
            )
        case sqlite3.SQLITE_NOTADB:
            return StoreUnavailable("the file is not a SQLite database", hint="check REEL_DATABASE_URL")
        case sqlite3.SQLITE_CORRUPT:
            return CorruptState(
                f"the database file is damaged: {text}",
                hint="restore a backup, or try `.recover` of the sqlite3 shell",
            )
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_PROTOCOL:
            return StoreUnavailable(text, hint="check the free disk space, the folder and the number of open files")
        case sqlite3.SQLITE_ERROR if any(part in text for part in MISSING):
            return SchemaMismatch(text, hint="run `reel migrate`")
        case sqlite3.SQLITE_ERROR if text.endswith("already exists"):
            return SchemaMismatch(text, hint="the file belongs to another program; use another file for Reelstate")
        case _:
            return StoreError(text)
