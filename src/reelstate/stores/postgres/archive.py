"""The archive in PostgreSQL: partitions by month. See `migrations/0003_archive.sql`.

A month is created as a plain table that is attached afterwards, and deleted by detaching it concurrently: neither waits
for a reader of the archive, and none waits for it. The engine reads a month by its own tables, not through their
parents, so that a month which is being detached is either there or not.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from psycopg import AsyncServerCursor

from reelstate.core.errors import NotFound, SchemaMismatch
from reelstate.core.month import Month
from reelstate.stores.archive import TABLES, MisplacedJob
from reelstate.stores.store import Flow, Result, Row

if TYPE_CHECKING:
    from reelstate.stores.postgres.store import Connection, PostgresStore

ARCHIVE_LOCK: Final = 0x5245454C41524348
EXPORT_ROWS: Final = 1000
_TABLE: Final = re.compile(rf"\breelstate\.({'|'.join(TABLES)})\b")
_SNAPSHOT: Final = "pg_snapshot_xmin(pg_current_snapshot())"
_ALL: Final = "'18446744073709551615'::xid8"
"""Archived events are all readable, also after a dump that has brought transaction numbers of another server."""
PARTITIONS: Final = """
SELECT c.relname, i.inhparent IS NOT NULL AS attached, coalesce(i.inhdetachpending, false) AS pending
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relnamespace = 'reelstate'::regnamespace AND c.relkind = 'r' AND c.relname ~ '_archive_[0-9]{4}_[0-9]{2}$'
"""
MISPLACED: Final = """
SELECT j.id, j.version, a.version FROM reelstate.jobs j JOIN reelstate.jobs_archive a USING (id) ORDER BY 1 LIMIT %s
"""


class MonthStatements(Mapping[str, str]):
    """The statements of the store, on the tables of a month."""

    def __init__(self, statements: Mapping[str, str], month: Month) -> None:
        self._statements = statements
        self._suffix = _suffix(month)

    def __getitem__(self, name: str) -> str:
        text = self._statements[name].replace(_SNAPSHOT, _ALL)
        return _TABLE.sub(rf"reelstate.\1{self._suffix}", text)

    def __iter__(self) -> Iterator[str]:
        return iter(self._statements)

    def __len__(self) -> int:
        return len(self._statements)


class PostgresArchive:
    """The months of a PostgreSQL store."""

    def __init__(self, store: PostgresStore, statements: Mapping[str, str]) -> None:
        self._store = store
        self._statements = statements

    async def months(self) -> list[Month]:
        found = await self._run(_partitions)
        return sorted({month for month, parts in found.items() if all(part in parts for part in TABLES)})

    async def prepare(self, months: Iterable[Month]) -> list[Month]:
        existing = await self.months()
        missing = [month for month in sorted(set(months)) if month not in existing]
        for month in missing:
            await self._run(partial(_create, month=month))
        return missing

    async def copy(self, month: Month, job_ids: Sequence[int], names: Sequence[str]) -> None:
        """Copy nothing: `archive_take` moves rows in one statement."""

    async def read(self, month: Month, flow: Flow[Result]) -> Result:
        await self._require(month)
        try:
            return await self._store.read(flow, MonthStatements(self._statements, month))
        except SchemaMismatch:
            await self._require(month)  # it was dropped meanwhile
            raise

    async def write(self, month: Month, flow: Flow[Result]) -> Result:
        await self._require(month)
        return await self._store.write(flow, MonthStatements(self._statements, month))

    async def rows(self, month: Month, table: str) -> AsyncIterator[list[dict[str, Any]]]:
        await self._require(month)
        async with (
            await self._store.connect() as connection,
            connection.transaction(),
            AsyncServerCursor(connection, "export") as cursor,
        ):
            await cursor.execute(f"SELECT to_jsonb(t) FROM {_name(table, month)} t")
            while rows := await cursor.fetchmany(EXPORT_ROWS):
                yield [row for (row,) in rows]

    async def drop(self, month: Month) -> bool:
        parts = (await self._run(_partitions)).get(month, {})
        for table in sorted(parts, key=lambda table: table != "jobs"):  # jobs first: none is found without its rows
            await self._run(partial(_drop, month=month, table=table, state=parts[table]))
        return bool(parts)

    async def misplaced(self, limit: int) -> list[MisplacedJob]:
        async def find(connection: Connection) -> list[MisplacedJob]:
            return [MisplacedJob(*row) for row in await (await connection.execute(MISPLACED, [limit])).fetchall()]

        return await self._run(find)

    async def _require(self, month: Month) -> None:
        async def exists(connection: Connection) -> bool:
            cursor = await connection.execute("SELECT to_regclass(%s) IS NOT NULL", [_name("jobs", month)])
            return await cursor.fetchone() == (True,)

        if not await self._run(exists):
            raise NotFound("month in the archive", month, hint="`reel archive list` shows the months")

    async def _run(self, attempt: Callable[[Connection], Awaitable[Result]]) -> Result:
        return await self._store.run_with_retries(attempt)


def _suffix(month: Month) -> str:
    return f"_archive_{month.year:04d}_{month.number:02d}"


def _name(table: str, month: Month) -> str:
    return f"reelstate.{table}{_suffix(month)}"


async def _partitions(connection: Connection) -> dict[Month, dict[str, tuple[bool, bool]]]:
    """Return by month and table whether a partition is attached, and whether an interrupted detach is pending."""
    found: dict[Month, dict[str, tuple[bool, bool]]] = {}
    rows: list[Row] = await (await connection.execute(PARTITIONS)).fetchall()
    for relname, attached, pending in rows:
        table, _, rest = str(relname).partition("_archive_")
        found.setdefault(Month(*map(int, rest.split("_"))), {})[table] = (attached, pending)
    return found


async def _create(connection: Connection, *, month: Month) -> None:
    first, last = month.ids
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [ARCHIVE_LOCK])
        parts = (await _partitions(connection)).get(month, {})
        for table in TABLES:
            name, parent = _name(table, month), f"reelstate.{table}_archive"
            if table not in parts:
                await connection.execute(f"CREATE TABLE {name} (LIKE {parent})")
            if not parts.get(table, (False, False))[0]:
                attach = f"ALTER TABLE {parent} ATTACH PARTITION {name} FOR VALUES FROM ({first}) TO ({last})"
                await connection.execute(attach)


async def _drop(connection: Connection, *, month: Month, table: str, state: tuple[bool, bool]) -> None:
    name, (attached, pending) = _name(table, month), state
    if attached:
        how = "FINALIZE" if pending else "CONCURRENTLY"
        detach = f"ALTER TABLE reelstate.{table}_archive DETACH PARTITION {name} {how}"
        await connection.execute(detach, prepare=False)
    await connection.execute(f"DROP TABLE IF EXISTS {name}")
