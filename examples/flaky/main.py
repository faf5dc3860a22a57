#!/usr/bin/env python3
"""Flaky steps: one video gets its captions after retries, another file fails at once."""

import asyncio
import tempfile

from pipelines import captions

import reelstate as rs


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with rs.open(f"sqlite:///{folder}/jobs.db", pipelines=[captions], workers=4) as reel:
            for file in ("video.mp4", "notes.txt"):
                job = await reel.submit("captions", {"file": file, "languages": ["en", "de", "tlh"]})
                await show(reel, file, job.id)


async def show(reel: rs.Reel, file: str, job_id: int) -> None:
    detail = await reel.wait(job_id, timeout=600)
    print(f"{file}: {detail.job.status}")
    for task in (await reel.jobs.tasks(job_id)).items:
        if task.attempt:
            why = f": {task.error['message']}" if task.error else ""
            print(f"  {task.stage_name}/{task.part} {task.status} in attempt {task.attempt}{why}")
    if detail.job.degraded:
        print(f"  degraded: {', '.join(detail.job.degraded)}")
    if detail.outputs:
        print(f"  languages: {', '.join(detail.outputs['publish']['languages'])}")


if __name__ == "__main__":
    asyncio.run(main())
