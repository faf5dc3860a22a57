"""Short clips made by a real ffmpeg, and their frames."""

import os
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from reelstate.media.ffmpeg.commands import ENVIRONMENT
from reelstate.media.planning.profile import Profile, Rung
from reelstate.media.sources.facts import AudioFacts, SourceFacts, VideoFacts
from tests.media.streams import builds

NTSC = Fraction(30000, 1001)
FRAMES = 57
SIZE = (160, 90)
PICTURE = f"testsrc2=size={SIZE[0]}x{SIZE[1]}:rate={NTSC}"
X264 = "-c:v libx264 -preset fast -bf 3 -g 47 -pix_fmt yuv420p"
MICROSECOND = Fraction(1, 1_000_000)
LOSSLESS = Profile(
    name="lossless",
    rungs=(
        Rung(name="90p", height=90, crf=0, max_bitrate=50_000_000, preset="ultrafast"),
        Rung(name="64p", height=64, crf=0, max_bitrate=50_000_000, preset="ultrafast"),
    ),
    segment_seconds=0.95,
    chunk_seconds=0.95,
)
"""CRF 0 is lossless, so that frames can be compared bit by bit; submitted profiles may not use it.

Chunks have 28 frames, so their times are not whole microseconds and the last of 57 frames is a segment by itself.
"""


@dataclass(frozen=True)
class Frame:
    time: Fraction
    digest: str


def run(argv: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        list(argv), check=False, capture_output=True, cwd=folder, env={**os.environ, **ENVIRONMENT}, timeout=300
    )


def run_checked(argv: Sequence[str], folder: Path | None = None) -> bytes:
    finished = run(argv, folder)
    assert finished.returncode == 0, finished.stderr.decode()[-2000:]
    return finished.stdout


def ffmpeg(build: str, *arguments: str) -> bytes:
    return run_checked([builds()[build], "-nostdin", "-hide_banner", "-loglevel", "error", "-y", *arguments])


def make_clip(build: str, target: Path, options: str, *, picture: str = PICTURE, inputs: Sequence[str] = ()) -> Path:
    ffmpeg(build, "-f", "lavfi", "-i", picture, *inputs, "-frames:v", str(FRAMES), *options.split(), str(target))
    return target


def rotate_mp4(path: Path) -> Path:
    """Set the matrix of an MP4 that rotates its picture by 90 degrees, as an upright phone does."""
    data = path.read_bytes()
    offset = data.index(b"tkhd") + 4 + 40
    matrix = struct.pack(">9i", 0, 1 << 16, 0, -(1 << 16), 0, 0, 0, 0, 1 << 30)
    path.write_bytes(data[:offset] + matrix + data[offset + len(matrix) :])
    return path


def frames_of(build: str, path: Path, filters: str = "null") -> list[Frame]:
    """Decode and filter a file, and return every frame with its time in the file."""
    text = ffmpeg(
        build, "-copyts", "-i", f"file:{path}", "-map", "0:V:0", "-vf", f"{filters},settb=AVTB",
        "-fps_mode", "passthrough", "-enc_time_base", "1/1000000", "-f", "framemd5", "-",
    ).decode()  # fmt: skip
    assert "#tb 0: 1/1000000" in text
    rows = [line.split(",") for line in text.splitlines() if not line.startswith("#")]
    return [Frame(int(row[2]) * MICROSECOND, row[-1].strip()) for row in rows]


def facts_of(build: str, path: Path, rate: Fraction = NTSC, **changes: object) -> SourceFacts:
    """Return the facts that a scan of all frames would find."""
    times = [frame.time for frame in frames_of(build, path)]
    span = max(times) - min(times) + 1 / rate
    video = VideoFacts(
        **{  # type: ignore[arg-type]  # changed fields by name
            "index": 0, "codec": "h264", "width": SIZE[0], "height": SIZE[1], "rate": rate,
            "start": min(times), "duration": span, "frames": len(times), **changes,
        }
    )  # fmt: skip
    return SourceFacts(container="", size=path.stat().st_size, duration=span, indexed=True, video=video)


def sound_facts(index: int = 1, *, start: Fraction = Fraction(0), duration: Fraction = Fraction(4)) -> AudioFacts:
    return AudioFacts(index=index, codec="aac", channels=2, sample_rate=48000, start=start, duration=duration)


def on_grid(frames: Sequence[Frame], rate: Fraction, start: Fraction, count: int) -> list[str]:
    """Return the frame at each position of a grid: the last one whose nearest position is not later."""
    positions = [int((frame.time - start) * rate + Fraction(1, 2)) for frame in frames]
    return [
        next(frame.digest for frame, at in zip(reversed(frames), reversed(positions), strict=True) if at <= number)
        for number in range(count)
    ]
