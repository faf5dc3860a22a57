"""export: write a month of the archive to the storage, and read it back.

A month is one file per table, `archive/2026-11/jobs.jsonl.gz`: a row per line, as JSON by column. gzip needs no package
and every tool reads it. The file of the jobs is written last, so an interrupted export has none, and is written again.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from reelstate.artifacts.storage import Storage
from reelstate.core.errors import InvalidRequest, NotFound, StorageMissing
from reelstate.core.month import Month
from reelstate.services.archive import archive_months
from reelstate.stores.archive import TABLES
from reelstate.stores.store import Store

FOLDER: Final = "archive"
READ_LINES: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMonth:
    """A month of the archive, or one that was deleted from it after an export."""

    month: str
    jobs: int
    finished_at: datetime | None
    """When the last of its jobs finished."""
    exported: bool
    """Whether the storage has an export of it."""
    deleted: bool
    """Whether only its export is left."""


def export_key(month: Month, table: str) -> str:
    return f"{FOLDER}/{month}/{table}.jsonl.gz"


async def export_month(store: Store, storage: Storage, month: Month) -> dict[str, int]:
    """Write a month to the storage, in place of an earlier export; return the number of rows by table."""
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for table in sorted(TABLES, key=lambda table: table == "jobs"):
            file = Path(folder) / f"{table}.jsonl.gz"
            counts[table] = await _write(file, store.archive.rows(month, table))
            await storage.delete(export_key(month, table))
            await storage.put_file(export_key(month, table), file)
    return counts


async def exported_months(storage: Storage) -> list[str]:
    """List the months that were exported completely, the oldest first."""
    names = await storage.folders(FOLDER)
    return sorted([name for name in names if await storage.exists(f"{FOLDER}/{name}/jobs.jsonl.gz")])


async def read_export(storage: Storage, month: str, table: str = "jobs") -> AsyncIterator[dict[str, Any]]:
    """Yield the rows of a table of an exported month. Raise `NotFound` where it was not exported."""
    chosen = Month.parse(month)
    _require_table(table)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "export.jsonl.gz"
        try:
            await storage.download(export_key(chosen, table), file)
        except StorageMissing:
            raise NotFound("export of the month", chosen, hint="`reel archive list` shows the months") from None
        lines = _lines(file)
        while rows := await asyncio.to_thread(lambda: [row for row, _ in zip(lines, range(READ_LINES), strict=False)]):
            for row in rows:
                yield row


async def list_months(store: Store, storage: Storage) -> list[ListedMonth]:
    """List the months of the archive and those that were exported, the oldest first."""
    known = {month.month: month for month in await archive_months(store)}
    exported = set(await exported_months(storage))
    return [
        ListedMonth(
            month=name,
            jobs=known[name].jobs if name in known else 0,
            finished_at=known[name].finished_at if name in known else None,
            exported=name in exported,
            deleted=name not in known,
        )
        for name in sorted({*known, *exported})
    ]


async def read_month(store: Store, storage: Storage, month: str, table: str) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the rows of a table of a month, from the archive, or from its export where the month was deleted."""
    chosen = Month.parse(month)
    _require_table(table)
    if chosen not in await store.archive.months():
        async for row in read_export(storage, month, table):
            yield row
        return
    async for batch in store.archive.rows(chosen, table):
        for row in batch:
            yield row


def _require_table(table: str) -> None:
    if table not in TABLES:
        raise InvalidRequest("table", f"there is no table {table[:50]!r}", hint=f"one of {', '.join(sorted(TABLES))}")


async def erase_from_exports(storage: Storage, user_id: str) -> int:
    """Write every export that has jobs of a user again without them; return how many files were written."""
    written = 0
    for name in await exported_months(storage):
        jobs = {row["id"] async for row in read_export(storage, name) if row["user_id"] == user_id}
        for table in sorted(TABLES, key=lambda table: table == "jobs") if jobs else ():
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / f"{table}.jsonl.gz"
                kept = read_export(storage, name, table)
                await _write(file, _without(kept, jobs))
                key = export_key(Month.parse(name), table)
                await storage.delete(key)
                await storage.put_file(key, file)
                written += 1
    return written


async def _without(rows: AsyncIterator[dict[str, Any]], jobs: Collection[int]) -> AsyncIterator[list[dict[str, Any]]]:
    async for row in rows:
        owner = str(row["job_id"] if "job_id" in row else row["id"])
        if int(owner.partition(".")[0]) not in jobs:
            yield [row]


async def _write(file: Path, batches: AsyncIterator[list[dict[str, Any]]]) -> int:
    count = 0
    with gzip.open(file, "wt", encoding="utf-8") as output:
        async for rows in batches:
            text = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)
            await asyncio.to_thread(output.write, text)
            count += len(rows)
    return count


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as text:
        for line in text:
            yield json.loads(line)
