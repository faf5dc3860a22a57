"""Pipelines whose tasks run until a test opens their gate: a file in the folder that the spec names."""

import asyncio
from pathlib import Path

import reelstate as rs

gated = rs.Pipeline("gated")
INTERVAL = 0.05


@gated.stage(phase="planning")
async def plan(task: rs.Run) -> dict[str, list[int]]:
    return {"parts": list(range(task.spec["parts"]))}


@gated.stage(after=plan, each="plan.parts", attempts=2, backoff=0.1, lease=4, timeout=600)
async def work(task: rs.Run) -> str:
    """Report progress until the gate of the part, or of all parts, is open; a file `fail-PART` makes it fail."""
    folder, percent = Path(task.spec["folder"]), 0
    while not (folder / "all").exists() and not (folder / str(task.part)).exists():
        if (folder / f"fail-{task.part}").exists():
            raise ValueError(f"part {task.part} must fail")
        percent = min(90, percent + 1)
        await task.progress(percent, f"waiting at part {task.part}")
        await asyncio.sleep(INTERVAL)  # the test is another process, which can only write files
    return f"part {task.part}"


@gated.stage(after=work, phase="uploading_outputs")
async def collect(task: rs.Run) -> dict[str, int]:
    return {"parts": task.spec["parts"]}
