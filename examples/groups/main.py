#!/usr/bin/env python3
"""A group of jobs, one of which fails, and a job that waits for all of them."""

import tempfile
from pathlib import Path

from pipelines import clips, page

import reelstate as rs

NIGHT = "night-2026-11-19"


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        rs.connect(f"{folder}/jobs.db", pipelines=[clips, page], workers=2) as reel,
    ):
        files = [Path(folder) / f"{name}.txt" for name in ("front", "side", "back")]
        for file in files[:2]:
            file.write_text(file.stem)
        cuts = [rs.Submission(pipeline="clips", spec={"recording": str(file)}, group=NIGHT) for file in files]
        last = rs.Submission(pipeline="page", spec={"folder": folder}, after=[rs.Group(NIGHT)])
        *jobs, waiting = reel.jobs.submit_many([*cuts, last])
        for job in jobs:
            reel.wait(job.id)
        show(reel.group(NIGHT))
        (reason,) = reel.jobs.why(waiting.id).reasons
        print(str(reason).replace(str(jobs[2].id), "N"))

        files[2].write_text("back")
        reel.groups.retry(NIGHT)
        print(reel.wait(waiting.id).outputs["write"]["clips"])
        show(reel.group(NIGHT))


def show(group: rs.GroupDetail) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in sorted(group.counts.items()))
    print(f"{group.name}: {group.status}, {group.progress:.0f} %, {counts}")


if __name__ == "__main__":
    main()
