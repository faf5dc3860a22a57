"""The measurements: submit and drain beside old jobs, and a drain while old jobs move to the archive."""

import asyncio
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
import uvloop

from bench.archive.fill import Jobs, fill, sums
from bench.engine.ours import Ours
from bench.measured import Measured

ROOT: Final = Path(__file__).parents[2]
WARM_UP: Final = 1_000
WAITS: Final = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - waitstart)), 0)::float8 FROM pg_locks
WHERE NOT granted AND waitstart IS NOT NULL AND pg_blocking_pids(pid) && ARRAY(
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'archiver')
"""
"""The longest wait at this moment for a lock that the archiver holds."""
PROBE_SECONDS: Final = 0.005
PENDING: Final = "SELECT id FROM reelstate.jobs ORDER BY id DESC LIMIT 1"


@dataclass(frozen=True)
class Sizes:
    """The numbers of jobs, and the rounds of each measurement."""

    archived: int
    finished: int
    drained: int
    rounds: int


def measure(empty: str, filled: str, sizes: Sizes) -> Iterator[Measured]:
    """Fill the second database, and compare it with the first."""
    for url in (empty, filled):
        _rates(url, WARM_UP)
    finished = Jobs(sizes.finished, days=40)
    _fill(filled, Jobs(sizes.archived, days=100), finished)
    beside = f"{sizes.finished:,} finished and {sizes.archived:,} archived jobs"
    rounds = [(_rates(empty, sizes.drained), _rates(filled, sizes.drained)) for _ in range(sizes.rounds)]
    for number, name in enumerate(("submit", "claim + complete")):
        ratio = statistics.median(old[number] / new[number] for new, old in rounds)
        yield Measured(f"simple jobs: {name}, with {beside}, over without", ratio, "", least=0.95)
    yield from _drain_while_archiving(filled, finished, sizes)


def _drain_while_archiving(url: str, finished: Jobs, sizes: Sizes) -> Iterator[Measured]:
    before = sums(url, finished)
    alone = [_rates(url, sizes.drained)[1] for _ in range(sizes.rounds)]
    beside: list[float] = []
    with _longest_wait(url) as longest:
        archiver = subprocess.Popen(
            [sys.executable, "-m", "bench.archive.archiver", url],
            cwd=ROOT,
            env=os.environ | {"PGAPPNAME": "archiver"},
            stdout=subprocess.PIPE,
            text=True,
        )
        while archiver.poll() is None:
            rate = _rates(url, sizes.drained)[1]
            if archiver.poll() is None:  # a drain that the archiver did not last for says nothing
                beside.append(rate)
        moved = int(archiver.communicate()[0])
    assert moved >= finished.count, f"{moved} jobs were archived, expected {finished.count}"
    assert sums(url, finished) == before, "rows changed while they moved"
    yield Measured("jobs that moved, with equal rows before and after", moved, "jobs", least=finished.count)
    if beside:
        ratio = statistics.median(beside) / statistics.median(alone)
        yield Measured(f"claim + complete while jobs move ({len(beside)} drains), over without", ratio, "", least=0.85)
    yield Measured("longest wait for a lock of the archiver", longest[0] * 1000, "ms", most=100)


def _fill(url: str, archived: Jobs, finished: Jobs) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(PENDING).fetchone()
    assert row is not None
    asyncio.run(_prepare(url, archived))
    fill(url, row[0], archived, archived=True)
    fill(url, row[0], finished, archived=False)


async def _prepare(url: str, jobs: Jobs) -> None:
    """Create the months of these jobs, which may begin in one month and end in the next."""
    ours = Ours()
    await ours.prepare(url)
    await ours.prepare_months([jobs.month, jobs.month.next])
    await ours.close()


def _rates(url: str, count: int) -> tuple[float, float]:
    """Submit and drain simple jobs; return the rates."""

    async def run() -> tuple[float, float]:
        ours = Ours()
        await ours.prepare(url)
        try:
            return await ours.submit_simple(count), await ours.drain_simple(count)
        finally:
            await ours.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


@contextmanager
def _longest_wait(url: str) -> Iterator[list[float]]:
    """Yield a list with the longest wait for a lock, which grows while the server is asked again and again."""
    found = [0.0]
    stop = threading.Event()

    def probe() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not stop.wait(PROBE_SECONDS):
                row = connection.execute(WAITS).fetchone()
                found[0] = max(found[0], row[0] if row else 0.0)

    thread = threading.Thread(target=probe)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()
