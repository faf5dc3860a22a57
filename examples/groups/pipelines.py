"""Two pipelines: one cuts a clip, one writes a page about all clips of a night."""

from pathlib import Path
from typing import Any

import reelstate as rs

clips = rs.Pipeline("clips")
page = rs.Pipeline("page")


@clips.stage
def cut(task: rs.BlockingRun) -> dict[str, Any]:
    """Cut one recording. A missing one is an error that a retry does not fix by itself."""
    recording = Path(task.spec["recording"])
    if not recording.exists():
        raise rs.Fail(f"{recording.name} is missing")
    clip = recording.with_name(f"{task.job_id}-{recording.stem}.{task.token}.txt")
    clip.write_text(recording.read_text().upper())
    return {"clip": clip.name}


@page.stage
def write(task: rs.BlockingRun) -> dict[str, Any]:
    """Write the page. It runs once, when every clip is there."""
    names = sorted(file.read_text() for file in Path(task.spec["folder"]).glob("[0-9]*-*.txt"))
    return {"clips": names}
