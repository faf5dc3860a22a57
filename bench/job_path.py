"""Count the functions that a trivial job runs through, from submit to completed: `python -m bench.job_path`.

The job has one stage of one task with an empty handler, in SQLite without Redis. The worker is registered and idle
when the job is submitted. A function of the package counts if it is called, on any thread, before the job is stored as
completed. Functions that not every job calls (a timer, a heartbeat, the first use of a cache) do not count.
Comprehensions and generator expressions count as part of their function.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import sys
import tempfile
import threading
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import reelstate as rs
from reelstate.app import open_engine, worker_for
from reelstate.config import Settings

PACKAGE = Path(rs.__file__).parent
JOBS = 20
WAKEUPS_SENT = 0.1
"""Seconds after which a wake-up is sent at once, not merged with those of the job before."""
ACKNOWLEDGED = 0.01
"""Seconds from the commit of a completion until the worker has handled the answer to it."""
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

pipeline = rs.Pipeline("trivial")


@pipeline.stage
async def nothing(run: rs.Run) -> None:
    """Do nothing."""


class CallRecorder:
    """Records the code of every call, on all threads that are started while it is installed."""

    def __init__(self) -> None:
        self.codes: set[CodeType] | None = None
        threading.setprofile(self)
        sys.setprofile(self)

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if self.codes is not None and event == "call":
            self.codes.add(frame.f_code)


def functions_by_file(codes: set[CodeType]) -> dict[str, list[str]]:
    """Return the names of the package's functions among these, by file."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for code in codes:
        path = Path(code.co_filename)
        if path.is_relative_to(PACKAGE) and code.co_name not in COMPREHENSIONS:
            found[str(path.relative_to(PACKAGE))].append(code.co_qualname)
    return {path: sorted(found[path]) for path in sorted(found)}


async def run_jobs(database: Path, recorder: CallRecorder) -> set[CodeType]:
    """Run a few jobs, one after the other; return the code that every one but the first has called."""
    recorded: list[set[CodeType]] = []
    settings = Settings(database_url=f"sqlite:///{database}", worker_concurrency=1)
    async with open_engine(settings.database_url, settings=settings) as engine:
        await engine.declare(pipeline)
        worker = worker_for(engine, [pipeline], settings)
        running = asyncio.create_task(worker.run())
        await worker.registered.wait()
        for _ in range(1 + JOBS):
            await asyncio.sleep(WAKEUPS_SENT)
            codes: set[CodeType] = set()
            recorder.codes = codes
            job_id = (await engine.submit("trivial")).job_id
            await asyncio.to_thread(_wait_until_completed, database, job_id)
            await asyncio.sleep(ACKNOWLEDGED)
            recorder.codes = None
            recorded.append(codes)
        worker.stop()
        await running
    return set.intersection(*recorded[1:])


def _wait_until_completed(database: Path, job_id: int) -> None:
    """Look at the row itself, so that no function of the package is called for it."""
    with closing(sqlite3.connect(database)) as connection:
        while connection.execute("SELECT status FROM jobs WHERE id = ?", [job_id]).fetchone() != ("completed",):
            threading.Event().wait(0.005)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the functions, not only their number")
    arguments = parser.parse_args()
    recorder = CallRecorder()
    with tempfile.TemporaryDirectory() as folder:
        found = functions_by_file(asyncio.run(run_jobs(Path(folder) / "jobs.db", recorder)))
    for path, names in found.items():
        print(f"{len(names):3}  {path}")
        if arguments.list:
            print("".join(f"       {name}\n" for name in names), end="")
    print(f"{sum(map(len, found.values()))} functions in {len(found)} files")


if __name__ == "__main__":
    main()
