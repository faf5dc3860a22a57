"""Starts of a worker that finds work by NOTIFY only: no job waits, whenever it is submitted, and every stop ends."""

import asyncio
import random
import sys
from pathlib import Path

import pytest

from reelstate import Pipeline, Run
from reelstate.app import open_engine
from reelstate.config import Settings

POLL = 3600.0
"""Seconds between two polls: longer than any start may take, so that only a wake-up finds a job."""
LIMIT = 120.0
"""Seconds after which a start counts as hanging."""


@pytest.mark.parametrize("starts", [10, pytest.param(600, marks=pytest.mark.prove)])
async def test_no_start_of_a_worker_misses_a_wakeup(starts: int, postgres_database: str, tmp_path: Path) -> None:
    ran: asyncio.Queue[int] = asyncio.Queue()
    pipeline = Pipeline("timed")

    @pipeline.stage()
    async def run(task: Run) -> None:
        ran.put_nowait(task.job_id)

    # An ffmpeg that names no encoders saves most of the time that a start takes.
    settings = Settings(database_url=postgres_database, poll=POLL, storage_url=str(tmp_path), ffmpeg="/bin/true")
    dice = random.Random(starts)
    for number in range(starts):
        try:
            async with (
                asyncio.timeout(LIMIT),
                open_engine(postgres_database, pipelines=[pipeline], settings=settings) as client,
                open_engine(postgres_database, pipelines=[pipeline], settings=settings, workers=1),
            ):
                # At any moment: before, while or after the worker registers, listens and claims for the first time.
                await asyncio.sleep(dice.choice([0.0, dice.uniform(0.0, 0.3)]))  # no signal is random
                for _ in range(2):
                    job_id = (await client.submit("timed")).job_id
                    assert await ran.get() == job_id
        except TimeoutError:
            tasks = "\n".join(str(task) for task in asyncio.all_tasks())
            pytest.fail(f"start {number} hangs\n{tasks}")
    sys.stdout.write(f"\n{starts} starts, {2 * starts} jobs, none waited for a poll\n")
