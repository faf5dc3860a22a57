"""Many subscribers in one process: `python -m bench.states.crowd URL SUBSCRIBERS EVENTS`."""

import asyncio
import json
import os
import sys
import time
from contextlib import aclosing
from pathlib import Path

from reelstate.app import open_engine
from reelstate.core.machine import JobStatus
from reelstate.core.model import Progress
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from reelstate.feed.subscriber import MessageKind

GRAPH = Graph.of("bench", [StageSpec(name="work", each="spec.parts")])
JOBS = 100
PARTS = 100
"""Tasks of a job; all of them run, so that progress of 10,000 is published."""
ROUNDS = 6
WARM = 2
"""Rounds before the measurement, to warm up."""


class Listener:
    """Counts the messages it receives."""

    def __init__(self) -> None:
        self.items = self.frames = 0

    async def listen(self, engine: Engine, job_id: int | None, user_id: str | None) -> None:
        async with aclosing(engine.subscribe(job_id, user_id=user_id)) as messages:
            async for message in messages:
                self.items += message.kind is MessageKind.ITEM
                self.frames += message.kind is MessageKind.PROGRESS
                if message.kind is MessageKind.OVERFLOW:
                    raise AssertionError("a subscriber was too slow")


async def measure(url: str, subscribers: int, events: int) -> dict[str, float]:
    async with open_engine(url, migrate=True, pipelines=[GRAPH]) as engine:
        jobs = [(await engine.submit("bench", {"parts": PARTS}, user_id=f"user-{n % 10}")).job_id for n in range(JOBS)]
        worker = await engine.register("bench", hostname="bench", software="bench", slots=JOBS * PARTS)
        tasks = (await engine.claim(worker, JOBS * PARTS)).tasks
        before = rss()
        listeners = [Listener() for _ in range(subscribers)]
        async with asyncio.TaskGroup() as group:
            listening = [group.create_task(each.listen(engine, *_scope(n, jobs))) for n, each in enumerate(listeners)]
            while engine.feed.figures.subscribers < subscribers:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.01)
            sizes = []
            began = time.perf_counter()
            for number in range(ROUNDS):
                moving = tasks[number::ROUNDS]
                for first in range(0, len(moving), 500):
                    some = moving[first : first + 500]
                    await engine.report(worker, [Progress(key=task.key, token=task.token, percent=9) for task in some])
                for _ in range(events // ROUNDS // 2):
                    await engine.force(jobs[number], JobStatus.FAILED, reason="bench")
                    await engine.retry(jobs[number])
                await asyncio.sleep(0.5)
                sizes.append(rss())
            seconds = time.perf_counter() - began
            for each in listening:
                each.cancel()
        delivered = sum(each.items + each.frames for each in listeners)
        return {
            "delivered": delivered,
            "per second": delivered / seconds,
            "before": before / 2**20,
            "subscriber": (sizes[WARM - 1] - before) / 2**10 / subscribers,
            "growth": sizes[-1] / sizes[WARM - 1],
        }


def _scope(number: int, jobs: list[int]) -> tuple[int | None, str | None]:
    """Return the scope of a subscriber: mostly one job, sometimes a user or everything."""
    if number % 10 == 0:
        return None, None
    return (None, f"user-{number % 10}") if number % 10 == 1 else (jobs[number % len(jobs)], None)


def rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
