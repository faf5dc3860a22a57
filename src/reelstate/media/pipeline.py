"""The pipeline `transcode`: from the address of a video to an adaptive stream, in stages that any worker can run.

```text
 validate ─▶ probe ─▶ plan ─▶ fetch ─┬─▶ audio (each track) ──────┐
                                     ├─▶ encode (each chunk) ─────┼─▶ package ─▶ verify ─▶ publish
                                     ├─▶ thumbnails ──────────────┤
                                     └─▶ captions (each track) ───┘
```

The handlers are in `stages`, the records that they return in `results`. A result names files with their sizes and
hashes. A file is stored under the token of the run that made it, so files of a stopped run never count as results. A
later run of the same task copies them if every byte is as recorded (`stages.adoption`).
"""

from __future__ import annotations

from typing import Any

from reelstate.media import TRANSCODE
from reelstate.media.planning.request import SPEC, TranscodeRequest
from reelstate.media.stages.delivery import Delivery
from reelstate.media.stages.intake import Intake
from reelstate.media.stages.renditions import Renditions
from reelstate.media.stages.stage import STALL, StageGroup
from reelstate.media.tools import MediaTools
from reelstate.pipelines.declaration import Pipeline


def transcode_pipeline(tools: MediaTools) -> Pipeline:
    """Declare the pipeline; its stages use the given tools."""
    pipeline = Pipeline(TRANSCODE, spec=SPEC, check=TranscodeRequest.check, built_in=True)
    intake, renditions, delivery = Intake(tools), Renditions(tools), Delivery(tools)
    ffmpeg: dict[str, Any] = {"needs": {"ffmpeg"}, "stall_after": STALL}

    pipeline.stage(phase="validating", weight=0.1)(intake.validate)
    pipeline.stage(after="validate", phase="validating", weight=0.2)(intake.probe)
    pipeline.stage(after="probe", phase="planning", weight=0.1)(intake.plan)
    pipeline.stage(after="plan", phase="downloading_inputs", weight=2, **ffmpeg)(intake.fetch)

    # Audio comes before the chunks: a stream can be watched once it and the first chunk are made.
    pipeline.stage(after="fetch", each="fetch.audio", weight=2, **ffmpeg)(renditions.audio)
    pipeline.stage(
        after="fetch", each="fetch.chunks", needs_from="fetch.needs", wants_from="fetch.wants", weight=40, **ffmpeg
    )(renditions.encode)
    pipeline.stage(after="fetch", weight=1, required=False, **ffmpeg)(renditions.thumbnails)
    pipeline.stage(after="fetch", each="fetch.captions", weight=0.2, required=False, **ffmpeg)(renditions.captions)

    made = ("audio", "encode", "thumbnails", "captions")
    pipeline.stage(after=made, phase="uploading_outputs", weight=0.5)(delivery.package)
    pipeline.stage(after="package", phase="uploading_outputs", weight=2, attempts=2, needs={"ffmpeg"})(delivery.verify)
    pipeline.stage(after=("verify", "package"), phase="uploading_outputs", weight=0.2)(delivery.publish)
    return pipeline


def require_sandbox(pipeline: Pipeline) -> None:
    """Refuse to run tools of `transcode` without a sandbox; handlers of other pipelines are left as they are."""
    for handler in pipeline.handlers.values():
        group = getattr(handler.call, "__self__", None)
        if isinstance(group, StageGroup):
            group.require_sandbox()
