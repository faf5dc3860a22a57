#!/usr/bin/env python3
"""Resume: a worker process is killed during an upload; the next run continues at the last checkpoint."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines import PIECE, upload

import reelstate as rs

PIECES = 10


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, store = Path(folder) / "video.mov", Path(folder) / "store"
        source.write_bytes(b"".join(bytes([number]) * PIECE for number in range(PIECES)))
        store.mkdir()
        url = f"sqlite:///{folder}/jobs.db"
        with rs.connect(url, pipelines=[upload]) as reel, reel_up(url):
            job = reel.submit("upload", {"file": str(source), "store": str(store), "power_cut_at": 6})
            detail = reel.wait(job.id, timeout=600)
            for line in reel.jobs.logs(job.id).items:
                print(line.message)
            for event in reel.jobs.history(job.id, stage=0, part=0).items:
                print(f"  {event.origin} → {event.target}, by {event.actor}")
        pieces = detail.outputs["send"]["pieces"]
        same = b"".join((store / name).read_bytes() for name in pieces) == source.read_bytes()
        print(f"{detail.job.status}: {len(pieces)} pieces, {'the same bytes' if same else 'damaged'}")


@contextmanager
def reel_up(url: str) -> Iterator[None]:
    """Run `reel up` in a separate process, which logs to stderr."""
    command = [sys.executable, "-m", "reelstate", "up", "--app", "pipelines:upload", "--database", url]
    process = subprocess.Popen(command, cwd=Path(__file__).parent, env={**os.environ, "REEL_SWEEP_EVERY": "0.5"})
    try:
        yield
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
