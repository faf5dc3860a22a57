"""Captions from unreliable services: tasks that are retried, that fail at once, and that are optional."""

from typing import Any

import reelstate as rs

captions = rs.Pipeline("captions")


@captions.stage(phase="validating")
async def probe(task: rs.Run) -> dict[str, Any]:
    """Fail the job at once if the file is not a video: another attempt would not help."""
    if not task.spec["file"].endswith((".mp4", ".mov")):
        raise rs.Fail(f"{task.spec['file']} is not a video")
    return {"scenes": ["opening", "chase", "ending"]}


@captions.stage(after=probe, each="probe.scenes", attempts=5, backoff=rs.Backoff(base=0.2, cap=2))
async def transcribe(task: rs.Run) -> str:
    """Run up to five times. An exception is retried after a doubling delay; `Retry` sets the delay."""
    return recognise(task.input, task.attempt)


@captions.stage(after=transcribe, each="spec.languages", required=False)
async def translate(task: rs.Run) -> str:
    """Optional: if a language fails, the job goes on without it and is marked as degraded."""
    if task.input == "en":
        raise rs.Skip("the video is in English")
    if task.input not in {"de", "fr"}:
        raise rs.Fail(f"no translator for {task.input!r}")
    return str(task.input)


@captions.stage(after=translate, phase="uploading_outputs")
async def publish(task: rs.Run) -> dict[str, Any]:
    return {
        "scenes": [text async for text in task.results(transcribe)],
        "languages": ["en", *[language async for language in task.results(translate)]],
    }


def recognise(scene: str, attempt: int) -> str:
    """Simulate a service that is busy, then breaks the connection, then works."""
    match scene, attempt:
        case "chase", 1:
            raise rs.Retry("the service is busy", after=0.5)
        case "chase", 2:
            raise ConnectionError("connection reset")
    return f"text of the {scene}"
