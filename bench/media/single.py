"""The same ladder made by one ffmpeg command on the whole machine: one decode, HLS in fragmented MP4."""

import shutil
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.media import ladder
from bench.media.fleet import children_cpu


def command(ffmpeg: str, clip: Path, folder: Path, threads: int) -> list[str]:
    """Return the command with this many threads for each encoder; 0 lets ffmpeg decide."""
    streams = " ".join([*(f"v:{number},agroup:sound" for number in range(len(ladder.RUNGS))), "a:0,agroup:sound"])
    return [
        *(ffmpeg, "-nostdin", "-hide_banner", "-loglevel", "error", "-y", "-i", str(clip)),
        *("-filter_complex", ladder.branches()),
        *(word for number in range(len(ladder.RUNGS)) for word in ("-map", f"[v{number}]")),
        *("-map", "0:a", *ladder.encoders(), "-threads:v", str(threads)),
        *("-f", "hls", "-hls_time", str(ladder.SEGMENT_SECONDS), "-hls_playlist_type", "vod"),
        *("-hls_segment_type", "fmp4", "-var_stream_map", streams, "-master_pl_name", "master.m3u8"),
        *("-hls_segment_filename", str(folder / "%v" / "%d.m4s"), str(folder / "%v" / "index.m3u8")),
    ]


@dataclass(frozen=True)
class Alone:
    """One run."""

    seconds: float
    cpu: float


def run(ffmpeg: str, clip: Path, folder: Path, threads: int) -> Alone:
    folder.mkdir()
    spent, began = children_cpu(), time.monotonic()
    subprocess.run(command(ffmpeg, clip, folder, threads), check=True)
    alone = Alone(time.monotonic() - began, children_cpu() - spent)
    shutil.rmtree(folder)
    return alone


def best_threads(ffmpeg: str, clip: Path, folder: Path, candidates: Iterable[int]) -> dict[int, float]:
    """Return the seconds by number of threads, the best first; the better of two runs counts."""
    tried = {threads: min(run(ffmpeg, clip, folder, threads).seconds for _ in range(2)) for threads in candidates}
    return dict(sorted(tried.items(), key=lambda pair: pair[1]))
