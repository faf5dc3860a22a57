#!/usr/bin/env python3
"""Resume: a worker saves a checkpoint and dies; its lease runs out, and the next run starts at the checkpoint."""

import asyncio
import sys
import tempfile

import reelstate as rs
from reelstate.core.model import ClaimedTask

LEASE = 1.0
COPY = rs.Graph.of("copy", [rs.StageSpec(name="copy", lease=LEASE)])
WHOLE, STEP = 100, 10


class Died(Exception):
    """The first worker is gone: it says nothing any more, to anybody."""


async def main() -> None:
    """Lose one worker, let another finish its work."""
    with tempfile.TemporaryDirectory() as folder:
        async with rs.open(f"sqlite:///{folder}/jobs.db", pipelines=[COPY]) as reel:
            job_id = (await reel.submit("copy")).job_id
            await first_run(reel)
            await taken_back(reel)
            await second_run(reel)
            detail = await reel.job(job_id)
            say(f"{detail.job.status}: {detail.outputs['copy']}")


async def first_run(reel: rs.Engine) -> None:
    """A worker that dies half way, between two checkpoints."""
    worker = await reel.register("doomed", hostname="localhost", software="example")
    (task,) = (await reel.claim(worker)).tasks
    try:
        await copy(reel, worker, task, dies_at=50)
    except Died:
        say("first run: started at 0, saved a checkpoint at 40, died at 50")


async def taken_back(reel: rs.Engine) -> None:
    """What a timer does in a real program: take back the leases that have run out."""
    await asyncio.sleep(1.1 * LEASE)
    reclaimed = await reel.reclaim()
    say(f"taken back: {reclaimed.ready} task")


async def second_run(reel: rs.Engine) -> None:
    """The claim hands over the last checkpoint."""
    worker = await reel.register("steady", hostname="localhost", software="example")
    (task,) = (await reel.claim(worker)).tasks
    say(f"second run: attempt {task.attempt}, started at {task.checkpoint['copied']}")
    copied = await copy(reel, worker, task)
    result = {"copied": copied, "resumed_at": task.checkpoint["copied"]}
    await reel.complete([rs.Completion(key=task.key, token=task.token, result=result)])


async def copy(reel: rs.Engine, worker: int, task: ClaimedTask, dies_at: int | None = None) -> int:
    """Do the work in steps, from the checkpoint on. Every second step is saved, and the report renews the lease."""
    copied: int = task.checkpoint["copied"] if task.checkpoint else 0
    while copied < WHOLE:
        copied += STEP
        if copied == dies_at:
            raise Died
        if copied % (2 * STEP) == 0:
            said = rs.Progress(key=task.key, token=task.token, percent=copied, checkpoint={"copied": copied})
            (verdict,) = (await reel.report(worker, [said])).verdicts
            if verdict is not rs.Verdict.OK:
                raise RuntimeError(f"stop: the task is {verdict}")
    return copied


def say(text: str) -> None:
    """One line for people."""
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    asyncio.run(main())
