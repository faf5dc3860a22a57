"""Finished jobs with rows in every table, and every row of a store, wherever it is."""

import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from reelstate.core.model import LogLine, Progress, Step, TaskState
from reelstate.engine import Engine
from reelstate.stores.archive import TABLES
from reelstate.stores.sqlite.address import database_path
from tests.engines import FakeClock, a_worker, done, engine_at

DAY = 86_400.0
Rows = dict[str, list[str]]
"""The rows of each table, as JSON texts in order."""


@asynccontextmanager
async def archive_engine(url: str) -> AsyncIterator[tuple[Engine, FakeClock]]:
    """An engine whose clock starts with the time of the ids of its jobs, which is that of the machine."""
    clock = FakeClock()
    clock.now = datetime.now(UTC)
    async with engine_at(url, clock) as engine:
        yield engine, clock


async def complete_jobs(engine: Engine, count: int, *, user: str = "", mark: str = "") -> list[int]:
    """Jobs that ran to their end, with a row in every table: logs, steps and states too."""
    job_ids = [(await engine.submit("parts", {"parts": 1, "mark": mark}, user_id=user)).job_id for _ in range(count)]
    worker = await a_worker(engine)
    while tasks := (await engine.claim(worker, 100)).tasks:
        reports = [
            Progress(
                key=task.key,
                token=task.token,
                logs=(LogLine(level="info", message=f"log {mark}", metadata={"mark": mark}),),
                steps=(Step(number=1, argv=("tool", mark), exit_code=0, seconds=0.1, output=f"out {mark}"),),
                states=(TaskState(number=1, tag="main", status=5, message=f"state {mark}"),),
            )
            for task in tasks
        ]
        await engine.report(worker, reports)
        await engine.complete([done(task, {"mark": mark}) for task in tasks])
    return job_ids


def every_row(url: str) -> Rows:
    """The rows of every archived table in the store and in all its months together."""
    if url.startswith("postgres"):
        with psycopg.connect(url) as connection:
            return {table: _postgres_rows(connection, table) for table in TABLES}
    path = database_path(url)
    assert path is not None
    files = [path, *sorted(path.parent.glob(f"{path.stem}.archive-*{path.suffix}"))]
    found: Rows = {table: [] for table in TABLES}
    for file in files:
        with closing(sqlite3.connect(file)) as connection:
            connection.row_factory = sqlite3.Row
            for table in TABLES:
                found[table] += [_text(dict(row)) for row in connection.execute(f"SELECT * FROM {table}")]
    return {table: sorted(rows) for table, rows in found.items()}


def _postgres_rows(connection: psycopg.Connection[Any], table: str) -> list[str]:
    rows = connection.execute(
        f"SELECT to_jsonb(h) FROM reelstate.{table} h UNION ALL SELECT to_jsonb(a) FROM reelstate.{table}_archive a"
    )
    return sorted(_text(row) for (row,) in rows)


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, default=str)


def checksum(rows: Rows) -> str:
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def hot_ids(url: str) -> list[int]:
    """The jobs in the tables of the engine."""
    if url.startswith("postgres"):
        with psycopg.connect(url) as connection:
            return [row[0] for row in connection.execute("SELECT id FROM reelstate.jobs ORDER BY id")]
    with closing(sqlite3.connect(database_path(url) or Path())) as file:
        return [row[0] for row in file.execute("SELECT id FROM jobs ORDER BY id")]
