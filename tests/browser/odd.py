"""Odd sources: what cameras, phones, broadcasters and editors deliver, and what is left of it after an accident."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.browser.public import Address
from tests.media.clips import NTSC, ffmpeg, rotate_mp4
from tests.media.source_videos import BUILD, RATE

Json = Any
SECONDS = 6
SIZE = "320x180"
H264 = ("-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "25")
EIGHT_BIT = ("-pix_fmt", "yuv420p")
TONE = ("-f", "lavfi", "-i", "sine=sample_rate=48000")
AAC = ("-c:a", "aac")
TEXT = "1\n00:00:00,000 --> 00:00:01,000\nhello\n"


@dataclass(frozen=True)
class Odd:
    """How a source is made, and what is expected of its stream."""

    make: Callable[[Path], Path]
    is_odd: Callable[[Address], bool]
    """Whether the source that was made is what it should be."""
    tracks: int = 1
    profile: Mapping[str, Json] = field(default_factory=dict)


def picture(rate: str = str(RATE), size: str = SIZE, seconds: float = SECONDS) -> tuple[str, ...]:
    return "-f", "lavfi", "-i", f"testsrc2=size={size}:rate={rate}:duration={seconds}"


def encoded(path: Path, *options: str, inputs: Sequence[str] = (*picture(), *TONE), seconds: float = SECONDS) -> Path:
    ffmpeg(BUILD, *inputs, *H264, *EIGHT_BIT, *AAC, *options, "-t", str(seconds), str(path))
    return path


def variable_rate(folder: Path) -> Path:
    """30 frames a second, then 10, then 30."""
    kept = "select='lt(t,2)+gt(t,4)+not(mod(n,3))'"
    return encoded(folder / "a.mp4", "-vf", kept, "-fps_mode", "vfr", inputs=(*picture("30"), *TONE))


def ntsc(folder: Path) -> Path:
    return encoded(folder / "a.mp4", inputs=(*picture("30000/1001"), *TONE))


def interlaced(folder: Path) -> Path:
    fields = ("-vf", "tinterlace=interleave_top,setfield=tff", "-flags", "+ilme+ildct", "-x264-params", "tff=1")
    return encoded(folder / "a.mp4", *fields, inputs=(*picture("50"), *TONE))


def ten_bit(folder: Path) -> Path:
    return encoded(folder / "a.mp4", "-pix_fmt", "yuv420p10le")


def surround(folder: Path) -> Path:
    tones = "|".join(f"0.1*sin({pitch}*2*PI*t)" for pitch in range(300, 900, 100))
    return encoded(
        folder / "a.mp4", inputs=(*picture(), "-f", "lavfi", "-i", f"aevalsrc='{tones}':channel_layout=5.1:s=48000")
    )


def many_tracks(folder: Path) -> Path:
    """Four sound tracks, one of them without a language, and two of captions."""
    text = folder / "text.srt"
    text.write_text(TEXT)
    sound = [word for pitch in (300, 400, 500, 600) for word in (*TONE[:3], f"{TONE[3]}:frequency={pitch}")]
    languages = [
        word
        for number, language in enumerate(("eng", "deu", "fra"))
        for word in (f"-metadata:s:a:{number}", f"language={language}")
    ]
    maps = [word for number in range(7) for word in ("-map", str(number))]
    return encoded(
        folder / "a.mkv", *maps, *languages, "-metadata:s:s:0", "language=eng", "-metadata:s:s:1", "language=deu",
        inputs=(*picture(), *sound, "-i", str(text), "-i", str(text)),
    )  # fmt: skip


def mono(folder: Path) -> Path:
    return encoded(folder / "a.mp4", "-ac", "1", "-ar", "22050")


def rotated(folder: Path) -> Path:
    return rotate_mp4(encoded(folder / "a.mp4"))


def cropped(folder: Path) -> Path:
    """A stream whose own header crops the picture."""
    shown = "h264_metadata=crop_left=16:crop_right=14:crop_top=8:crop_bottom=10"
    return encoded(folder / "a.mp4", "-bsf:v", shown)


def damaged(folder: Path) -> Path:
    path = encoded(folder / "a.mp4")
    data = bytearray(path.read_bytes())
    start, end = data.find(b"mdat") + 2000, data.find(b"moov") - 8
    chosen = random.Random(7)
    for _ in range(40):
        data[chosen.randrange(start, end)] ^= 1 << chosen.randrange(8)
    path.write_bytes(data)
    return path


def long(folder: Path) -> Path:
    seconds = 900
    return encoded(folder / "a.mp4", inputs=(*picture(size="160x90", seconds=seconds), *TONE), seconds=seconds)


def one_frame(folder: Path) -> Path:
    return encoded(folder / "a.mp4", "-frames:v", "1", inputs=picture())


def silent(folder: Path) -> Path:
    return encoded(folder / "a.mp4", inputs=picture())


def late_sound(folder: Path) -> Path:
    """Sound that begins after the picture, and ends before it."""
    return encoded(folder / "a.mp4", inputs=(*picture(), "-itsoffset", "1.5", "-t", "3", *TONE))


def broadcast(folder: Path) -> Path:
    """A transport stream, whose times do not begin at zero."""
    return encoded(folder / "a.ts", "-mpegts_flags", "+resend_headers")


def odd_size(folder: Path) -> Path:
    """Neither even nor subsampled, with pixels that are not square."""
    return encoded(folder / "a.mkv", "-vf", "format=yuv444p,scale=321:181,setsar=4/3", "-pix_fmt", "yuv444p")


def short_tail(folder: Path) -> Path:
    """The last segment, and the last chunk, is one frame."""
    seconds = 4 + 1 / RATE
    return encoded(folder / "a.mp4", "-g", "8", inputs=(*picture(seconds=10), *TONE), seconds=seconds)


ODD: Mapping[str, Odd] = {
    "variable frame rate": Odd(variable_rate, lambda at: at.video.variable_rate),
    "29.97 frames a second": Odd(ntsc, lambda at: at.plan.grid.rate == NTSC),
    "interlaced": Odd(interlaced, lambda at: at.video.interlaced),
    "10 bits": Odd(ten_bit, lambda at: at.video.bits == 10),
    "5.1 sound": Odd(surround, lambda at: at.sound.channels == 6),
    "many tracks": Odd(many_tracks, lambda at: (len(at.plan.audio), len(at.plan.captions)) == (4, 2), tracks=4),
    "mono": Odd(mono, lambda at: at.sound.channels == 1),
    "rotated": Odd(rotated, lambda at: at.video.rotation % 180 == 90),
    "cropped": Odd(cropped, lambda at: (at.video.width, at.video.height) == (290, 174)),
    "damaged": Odd(damaged, lambda at: "damaged" in "".join(at.degraded), profile={"max_damage": 1}),
    "long": Odd(long, lambda at: at.seconds >= 900, profile={"segment_seconds": 6, "chunk_seconds": 60}),
    "one frame": Odd(one_frame, lambda at: at.frames == 1, tracks=0),
    "no sound": Odd(silent, lambda at: not at.facts.audio, tracks=0),
    "late sound": Odd(late_sound, lambda at: at.sound.start > 1),
    "transport stream": Odd(broadcast, lambda at: not at.facts.indexed),
    "odd size": Odd(odd_size, lambda at: (at.video.width, at.video.height) == (321, 181)),
    "a last segment of one frame": Odd(short_tail, lambda at: at.frames % at.plan.grid.chunk_frames == 1),
}
