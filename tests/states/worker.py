"""A process that runs jobs with many states: `python -m tests.states.worker URL NUMBER VERSIONS`."""

import asyncio
import random
import sys

from reelstate.core.machine import ACTIVE_JOBS
from reelstate.core.model import ClaimedTask, Progress, TaskState
from reelstate.engine import Engine
from tests.engines import a_worker, done, engine_at, failed

TAGS = 5
REPORTS = 3
"""Reports in which the states of a task are sent."""


async def work(url: str, number: int, versions: int) -> None:
    random.seed(number)
    async with engine_at(url) as engine:
        worker = await a_worker(engine, f"worker-{number}")
        while (await engine.jobs(statuses=ACTIVE_JOBS, limit=1)).items:
            tasks = (await engine.claim(worker, random.randint(1, 3))).tasks
            await asyncio.gather(*(run(engine, worker, task, versions) for task in tasks))
            await engine.orchestrate()


async def run(engine: Engine, worker: int, task: ClaimedTask, versions: int) -> None:
    share = TAGS * versions // REPORTS
    for first in range(0, TAGS * versions, share):
        numbers = range(first + 1, min(first + share, TAGS * versions) + 1)
        states = tuple(TaskState(tag=f"tag-{number % TAGS}", number=number, status=number) for number in numbers)
        await engine.report(worker, [Progress(key=task.key, token=task.token, percent=first % 100, states=states)])
    if task.attempt == 1 and random.random() < 0.3:
        await engine.fail([failed(task, retry_in=0)])
    else:
        await engine.complete([done(task)])


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], *map(int, sys.argv[2:])))
