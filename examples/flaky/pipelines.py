"""Captions from services that fail now and then: what is tried again, what is not, and what may be missing."""

from typing import Any

import reelstate as rs

captions = rs.Pipeline("captions")


@captions.stage(phase="validating")
async def probe(task: rs.Run) -> dict[str, Any]:
    """A file that is no film will be none the next time either: `Fail` ends the job at once."""
    if not task.spec["file"].endswith((".mp4", ".mov")):
        raise rs.Fail(f"{task.spec['file']} is not a film")
    return {"scenes": ["opening", "chase", "ending"]}


@captions.stage(after=probe, each="probe.scenes", attempts=5, backoff=rs.Backoff(base=0.2, cap=2))
async def transcribe(task: rs.Run) -> str:
    """Up to five runs each. Any exception is tried again after a rest that doubles; `Retry` chooses the rest."""
    return recognise(task.input, task.attempt)


@captions.stage(after=transcribe, each="spec.languages", required=False)
async def translate(task: rs.Run) -> str:
    """Nice to have: when a language fails for good, the job goes on without it, and says so."""
    if task.input == "en":
        raise rs.Skip("the film is in English")
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
    """A service that is busy, then breaks the connection, then works."""
    match scene, attempt:
        case "chase", 1:
            raise rs.Retry("the service is busy", after=0.5)
        case "chase", 2:
            raise ConnectionError("the line broke")
    return f"text of the {scene}"
