"""What a page of jobs costs when there are a thousand of them, and when there are a million."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import psycopg

from bench.api.client import times
from bench.api.house import databases, serving
from bench.api.measured import Measured
from reelstate.app import store_at

FEW: Final = 1000
WARM_UP: Final = 50
AIM: Final = 3.0
PATHS: Final = {
    "GET /jobs": "/api/v1/jobs?limit=50",
    "GET /jobs of a status": "/api/v1/jobs?limit=50&status=failed",
    "GET /jobs of a user": "/api/v1/jobs?limit=50&user_id=user-7",
}
MAKE: Final = """
    INSERT INTO {schema}jobs (id, pipeline_id, user_id, status, finished_at, spec)
    WITH RECURSIVE numbers (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})
    SELECT n, (SELECT min(id) FROM {schema}pipelines), 'user-' || n % 100,
           CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'completed' END, {now}, '{{"source": "film.mov"}}'
    FROM numbers
"""


def measure(folder: Path, *, quick: bool) -> Iterator[Measured]:
    many = 5_000 if quick else 1_000_000
    with databases(folder) as found:
        for kind, url in found.items():
            with serving(url, folder):
                pass  # makes the schema, and declares the pipeline
            few = _slowest(folder, url, range(1, FEW + 1), quick=quick)
            all_of_them = _slowest(folder, url, range(FEW + 1, many + 1), quick=quick)
            for name in PATHS:
                words = f"{few[name] * 1000:.1f} ms with {FEW:,}, {all_of_them[name] * 1000:.1f} ms with {many:,}"
                subject = f"p99 of {name}, {kind}: {words}"
                yield Measured(subject, all_of_them[name] / few[name], "times", most=AIM)


def _slowest(folder: Path, url: str, numbers: range, *, quick: bool) -> dict[str, float]:
    """The p99 of each question once jobs with these numbers are there too."""
    (_make_sqlite if url.startswith("sqlite:") else _make_postgres)(url, numbers)
    asyncio.run(_restore(url))
    found = {}
    with serving(url, folder) as house:
        for name, path in PATHS.items():
            asyncio.run(times(house, path, WARM_UP))
            taken = asyncio.run(times(house, path, 20 if quick else 1000))
            found[name] = taken[len(taken) * 99 // 100]
    return found


def _make_sqlite(url: str, numbers: range) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(MAKE.format(schema="", first=numbers[0], last=numbers[-1], now="1.0"))
        connection.execute("ANALYZE")


def _make_postgres(url: str, numbers: range) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # without triggers
        connection.execute(MAKE.format(schema="reelstate.", first=numbers[0], last=numbers[-1], now="now()").encode())
        connection.execute("VACUUM (ANALYZE) reelstate.jobs")


async def _restore(url: str) -> None:
    store = store_at(url)
    await store.open()
    await store.restore_triggers()
    await store.close()
