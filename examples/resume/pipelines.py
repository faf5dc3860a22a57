"""A large file goes out piece by piece. A checkpoint after each piece says where the next run begins."""

import hashlib
import os
import signal
from pathlib import Path
from typing import Any

import reelstate as rs

upload = rs.Pipeline("upload")
PIECE = 1 << 20


@upload.stage(phase="uploading_outputs", lease=10)
def send(task: rs.BlockingRun) -> dict[str, Any]:
    source, store = Path(task.spec["file"]), Path(task.spec["store"])
    sent: list[str] = task.checkpoint or []
    task.log(f"attempt {task.attempt} begins at piece {len(sent)}")
    count = source.stat().st_size // PIECE
    with source.open("rb") as stream:
        stream.seek(len(sent) * PIECE)
        for number in range(len(sent), count):
            if task.attempt == 1 and number == task.spec["power_cut_at"]:
                os.kill(os.getpid(), signal.SIGKILL)  # the whole worker is gone, in the middle of its work
            sent.append(send_piece(store, stream.read(PIECE)))
            task.progress(100 * (number + 1) / count, f"piece {number}", checkpoint=sent)
    return {"pieces": sent}


def send_piece(store: Path, piece: bytes) -> str:
    """The piece is named after what is in it: sending it twice does no harm."""
    name = hashlib.sha256(piece).hexdigest()[:16]
    (store / name).write_bytes(piece)
    return name
