"""Source videos, profiles and ffmpeg wrappers for tests of the transcode pipeline."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.media.clips import ffmpeg
from tests.media.streams import builds

Json = Any
BUILD = next(iter(builds()))
RATE = 25
TIMEOUT = 300.0
RUNGS = ("180p", "90p")
SOUND = ("-f", "lavfi", "-i", "sine=sample_rate=48000")
X264 = "-c:v libx264 -preset ultrafast -bf 2 -g 8 -pix_fmt yuv420p"


def profile(*, optional: Sequence[str] = (), **changes: Json) -> Json:
    """Return a profile of two rungs that encodes fast, with segments and chunks of one second."""
    heights = {name: int(name.removesuffix("p")) for name in RUNGS}
    rungs = [
        {"name": name, "height": height, "crf": 30, "max_bitrate": 2_000_000, "preset": "ultrafast",
         "required": name not in optional}
        for name, height in heights.items()
    ]  # fmt: skip
    plain = {"thumbnails": False, "sprites": False, "segment_seconds": 1, "chunk_seconds": 1}
    return {"name": "tiny", "rungs": rungs, **plain, **changes}


def make_video(path: Path, seconds: int = 2, *, size: str = "320x180", sound: bool = True, options: str = X264) -> Path:
    """Encode a test pattern, with a sine tone if `sound`, and return its path."""
    picture = ("-f", "lavfi", "-i", f"testsrc2=size={size}:rate={RATE}")
    audio = (*SOUND, "-c:a", "aac") if sound else ()
    ffmpeg(BUILD, *picture, *audio[:4], *options.split(), *audio[4:], "-t", str(seconds), str(path))
    return path


def wrap_ffmpeg(path: Path, script: str) -> Path:
    """Write a program that runs a shell script on its arguments, then the real ffmpeg."""
    path.write_text(f'#!/bin/sh\n{script}\nexec {shlex.quote(builds()[BUILD])} "$@"\n')
    path.chmod(0o700)
    return path


def ffmpeg_failing_at(path: Path, rung: str) -> Path:
    """Write an ffmpeg that fails whenever it has to encode this rung."""
    return wrap_ffmpeg(path, f'case " $* " in *"/{rung} "*) echo "[error] no {rung} today" >&2; exit 1;; esac')
