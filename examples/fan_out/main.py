#!/usr/bin/env python3
"""Fan-out and fan-in, twice in one pipeline, all in one program."""

import array
import asyncio
import math
import tempfile
import wave
from pathlib import Path

from pipelines import highlights

import reelstate as rs

RATE = 8000
LOUDNESS = [2, 3, 9, 2, 1, 8, 3, 2, 7, 1, 2, 4]
"""Of each second, in thousands."""


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "match.wav"
        record(recording)
        async with rs.open(f"sqlite:///{folder}/jobs.db", pipelines=[highlights], workers=4) as reel:
            job = await reel.submit("highlights", {"file": str(recording), "count": 3})
            detail = await reel.wait(job.id)
        for stage in detail.stages:
            print(f"{stage.name:8} {stage.status}  {stage.done}/{stage.total}")
        print(detail.job.status)
        for clip in detail.outputs["publish"]["clips"]:
            print(f"second {clip['second']}: {(Path(folder) / clip['clip']).stat().st_size} bytes")


def record(file: Path) -> None:
    """A tone that is louder in some seconds than in others."""
    tone = [math.sin(sample / 3) for sample in range(RATE)]
    with wave.open(str(file), "wb") as sound:
        sound.setparams((1, 2, RATE, 0, "NONE", ""))
        for loudness in LOUDNESS:
            sound.writeframes(array.array("h", [int(1000 * loudness * value) for value in tone]).tobytes())


if __name__ == "__main__":
    asyncio.run(main())
