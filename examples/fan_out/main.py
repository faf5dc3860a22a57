#!/usr/bin/env python3
"""Fan-out and fan-in: one stage splits a text, one task counts each line, the last stage adds the counts up."""

import asyncio
import sys
import tempfile
from collections import Counter
from typing import Any

import reelstate as rs
from reelstate.core.model import ClaimedTask

COUNT = rs.Graph.of(
    "count",
    [
        rs.StageSpec(name="split", phase=rs.JobStatus.PLANNING),
        rs.StageSpec(name="count", after=("split",), each="split.lines"),
        rs.StageSpec(name="add", after=("count",), phase=rs.JobStatus.UPLOADING_OUTPUTS),
    ],
)
TEXT = "a reel\nanother reel\none more reel"


async def main() -> None:
    """Submit one job, be its worker, show what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        async with rs.open(f"sqlite:///{folder}/jobs.db", pipelines=[COUNT]) as reel:
            job_id = (await reel.submit("count", {"text": TEXT})).job_id
            worker = await reel.register("example", hostname="localhost", software="example", slots=8)
            while tasks := (await reel.claim(worker, 8)).tasks:
                await reel.complete([await completion(reel, task) for task in tasks])
            await show(reel, job_id)


async def completion(reel: rs.Engine, task: ClaimedTask) -> rs.Completion:
    """Run one task. Its token goes back with the result: it proves that the task is still ours."""
    return rs.Completion(key=task.key, token=task.token, result=await run(reel, task))


async def run(reel: rs.Engine, task: ClaimedTask) -> Any:
    """What a task of each stage does."""
    match task.stage_name:
        case "split":
            return {"lines": task.spec["text"].splitlines()}  # `each` points at this array
        case "count":
            return Counter(task.input.split())  # the input is one element of it
        case _:
            return await total(reel, task.key.job_id)


async def total(reel: rs.Engine, job_id: int) -> dict[str, Any]:
    """Page through the results of the parts; there may be more of them than fit in one page."""
    words: Counter[str] = Counter()
    parts, after = 0, None
    while True:
        page = await reel.tasks(job_id, stage="count", after=after, limit=2)
        for part in page.items:
            words.update(part.result)
            parts += 1
        after = page.after
        if after is None:
            return {"words": words.total(), "most": words.most_common(1)[0], "parts": parts}


async def show(reel: rs.Engine, job_id: int) -> None:
    """Print the outputs: the results of the stages that no other stage waits for."""
    detail = await reel.job(job_id)
    lines, parts = len(detail.plan["split"]["lines"]), detail.outputs["add"]["parts"]
    word, number = detail.outputs["add"]["most"]
    say(f"{detail.outputs['add']['words']} words in {lines} lines, counted by {parts} tasks")
    say(f"most frequent: {word} ({number})")
    say(detail.job.status)


def say(text: str) -> None:
    """One line for people."""
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    asyncio.run(main())
