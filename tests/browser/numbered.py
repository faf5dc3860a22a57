"""A source video in which every frame shows its number, as black and white fields that survive any encoder."""

from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.media.clips import ffmpeg
from tests.media.source_videos import BUILD, X264

RATE = Fraction(30000, 1001)
FRAMES = 240
SEGMENT, CHUNK = 30, 60
JOINS = range(CHUNK, FRAMES, CHUNK)
DURATION = float(FRAMES / RATE)
HEIGHTS = (180, 90)
BITS = 8

_WHITE = f"bitand(N,pow(2,floor(X/W*{BITS})))"
_STRIP = f"color=size=320x36:rate={RATE},geq=lum='if({_WHITE},235,16)':cb=128:cr=128"


def numbered_profile() -> dict[str, Any]:
    """Return a profile of two rungs; the larger one has frames that are decoded and shown in different orders."""
    presets = zip(HEIGHTS, ("veryfast", "ultrafast"), strict=True)
    rungs = [
        {"name": f"{height}p", "height": height, "crf": 26, "max_bitrate": 2_000_000, "preset": preset}
        for height, preset in presets
    ]
    seconds = {"segment_seconds": float(SEGMENT / RATE), "chunk_seconds": float(CHUNK / RATE)}
    return {"name": "numbered", "rungs": rungs, "thumbnails": False, "sprites": False, **seconds}


def make_numbered_video(path: Path) -> Path:
    picture = f"testsrc2=size=320x144:rate={RATE}[above];{_STRIP}[strip];[above][strip]vstack"
    ffmpeg(
        BUILD, "-filter_complex", picture, "-f", "lavfi", "-i", "sine=sample_rate=48000", "-frames:v", str(FRAMES),
        "-t", f"{DURATION:.3f}", *X264.split(), "-c:a", "aac", str(path),
    )  # fmt: skip
    return path
