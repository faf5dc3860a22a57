"""Statement files for SQLite: how their parameters are bound and their rows are read."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from reelstate.stores.store import DOCUMENTS, NO_JSON, NO_TIME, TIMES, TOO_DEEP, Batch, Row, columns_of

NUMBER = "number"
"""The column of `given` with the number of the row; it is not in the batch."""
_GIVEN = re.compile(r"\bgiven \(([^)]*)\) AS")
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class SqliteStatement:
    """The parts of one file. There may be several, because a CTE can't write; the last one returns the rows."""

    parts: tuple[str, ...]
    columns: tuple[str, ...]
    """The columns of `:rows`, in the order of the expression `given`."""

    @classmethod
    def of(cls, text: str) -> SqliteStatement:
        given = _GIVEN.search(text)
        names = given[1].split(", ") if given else []
        return cls(tuple(split(text)), tuple(name for name in names if name != NUMBER))

    def rows_of(self, batch: Batch) -> str:
        """Return a batch as a JSON array of arrays with the columns in the order of the statement."""
        if batch.columns == self.columns:
            return _encode(batch.rows)
        order = [batch.columns.index(name) for name in self.columns]
        return _encode([[row[position] for position in order] for row in batch.rows])


@dataclass(slots=True)
class ResultShape:
    """The columns of a result, which are the same at every run, and which of them hold instants and documents."""

    names: tuple[str, ...]
    times: tuple[int, ...]
    documents: tuple[int, ...]
    checked: bool = False
    """Whether the names were compared with the declared ones."""

    @classmethod
    def of(cls, cursor: sqlite3.Cursor) -> ResultShape:
        names = tuple(column[0] for column in cursor.description or ())
        return cls(names, tuple(columns_of(TIMES, names)), tuple(columns_of(DOCUMENTS, names)))

    def read(self, rows: list[Row]) -> list[Row]:
        """Return the rows with instants as UTC times and documents decoded."""
        if not self.times and not self.documents:
            return rows
        read = []
        for row in rows:
            values: list[Any] = list(row)
            for column in self.times:
                if values[column] is not None:
                    values[column] = _instant(values[column])
            for column in self.documents:
                if isinstance(values[column], str):
                    values[column] = _decode(values[column])
            read.append(tuple(values))
        return read


def _instant(stored: Any) -> datetime:
    """Return a stored time; `NO_TIME` for a bad value, which must not hide a whole listing."""
    try:
        return datetime.fromtimestamp(stored, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return NO_TIME


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        return dict(TOO_DEEP)
    except ValueError:
        return dict(NO_JSON)


def bind(value: Any) -> Any:
    """Return a parameter as SQLite takes it: lists as JSON, instants as unix seconds."""
    if isinstance(value, list | tuple):
        return _encode(value)
    if isinstance(value, datetime):
        return value.timestamp()
    return value


def split(script: str) -> Iterator[str]:
    """Yield the statements of a script: `executescript` would commit the transaction around them."""
    part = ""
    for line in script.splitlines(keepends=True):
        part += line
        if sqlite3.complete_statement(part):
            yield part.strip()
            part = ""
    if part.strip():
        yield part.strip()
