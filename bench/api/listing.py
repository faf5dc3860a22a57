"""The time of a page of jobs with a thousand jobs and with a million."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

import psycopg

from bench.api.client import in_turns
from bench.api.server import Server, databases, serving
from bench.measured import Measured
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
           CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'completed' END, {now}, '{{"source": "video.mov"}}'
    FROM numbers
"""


def measure(folder: Path, *, quick: bool) -> Iterator[Measured]:
    many = 5_000 if quick else 1_000_000
    with ExitStack() as stack:
        few_of = stack.enter_context(databases(_folder(folder, "few")))
        many_of = stack.enter_context(databases(_folder(folder, "many")))
        for kind in few_of:
            yield from _compared(kind, folder, {FEW: few_of[kind], many: many_of[kind]}, quick=quick)


def _compared(kind: str, folder: Path, urls: dict[int, str], *, quick: bool) -> Iterator[Measured]:
    """Measure both servers in turns, so that other load of the machine is in both figures."""
    (few, _), (many, _) = urls.items()
    with ExitStack() as stack:
        servers = [
            stack.enter_context(_filled(_folder(folder, f"{kind}-{count}"), url, count)) for count, url in urls.items()
        ]
        for name, path in PATHS.items():
            asyncio.run(in_turns(servers, path, WARM_UP))
            small, large = (slowest(taken) for taken in asyncio.run(in_turns(servers, path, 20 if quick else 1000)))
            words = f"{small * 1000:.1f} ms with {few:,}, {large * 1000:.1f} ms with {many:,}"
            yield Measured(f"p99 of {name}, {kind}: {words}", large / small, "times", most=AIM)


@contextmanager
def _filled(folder: Path, url: str, count: int) -> Iterator[Server]:
    """Start a server on a database with this many jobs."""
    with serving(url, folder):
        pass  # creates the schema and declares the pipeline
    (_make_sqlite if url.startswith("sqlite:") else _make_postgres)(url, range(1, count + 1))
    asyncio.run(_restore(url))
    with serving(url, folder) as server:
        yield server


def _folder(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir(exist_ok=True)
    return made


def slowest(taken: list[float]) -> float:
    return sorted(taken)[len(taken) * 99 // 100]


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
