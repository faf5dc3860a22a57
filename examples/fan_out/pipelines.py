"""Highlights of a recording: listen to every second of it at once, cut out the loudest ones, list them."""

import array
import wave
from pathlib import Path
from typing import Any

import reelstate as rs

highlights = rs.Pipeline("highlights")


@highlights.stage(phase="planning")
def probe(task: rs.BlockingRun) -> dict[str, Any]:
    """How long it is: the next stage has one task for every second."""
    with wave.open(task.spec["file"], "rb") as sound:
        return {"seconds": sound.getnframes() // sound.getframerate()}


@highlights.stage(after=probe, each="probe.seconds", weight=8)
def measure(task: rs.BlockingRun) -> dict[str, Any]:
    """How loud one second is. A whole number fans out too: `task.input` is 0, 1, 2 and so on."""
    samples = array.array("h", read_second(task.spec["file"], task.input))
    return {"second": task.input, "loudness": max(samples)}


@highlights.stage(after=measure)
def choose(task: rs.BlockingRun) -> dict[str, Any]:
    """Fan-in: all seconds are measured. The result is what the next stage fans out over."""
    measured = sorted(task.results(measure), key=lambda each: each["loudness"], reverse=True)
    return {"best": sorted(each["second"] for each in measured[: task.spec["count"]])}


@highlights.stage(after=choose, each="choose.best")
def cut(task: rs.BlockingRun) -> dict[str, Any]:
    """Write one clip. Its name carries the token, so that two runs of this task never write the same file."""
    clip = Path(task.spec["file"]).with_name(f"{task.job_id}-clip-{task.input}.{task.token}.wav")
    with wave.open(task.spec["file"], "rb") as sound, wave.open(str(clip), "wb") as written:
        written.setparams(sound.getparams())
        written.writeframes(read_second(task.spec["file"], task.input))
    return {"second": task.input, "clip": clip.name}


@highlights.stage(after=cut, phase="uploading_outputs")
def publish(task: rs.BlockingRun) -> dict[str, Any]:
    """The last fan-in. Nothing waits for this stage, so its result is an output of the job."""
    return {"clips": list(task.results(cut))}


def read_second(file: str, second: int) -> bytes:
    with wave.open(file, "rb") as sound:
        sound.setpos(second * sound.getframerate())
        return sound.readframes(sound.getframerate())
