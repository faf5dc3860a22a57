"""What this machine can do, found at start: ffmpeg, its encoders, a GPU. Operators may add to it or take away."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import imageio_ffmpeg  # type: ignore[import-untyped]  # it has no types

FFMPEG, GPU = "ffmpeg", "gpu"
HARDWARE = {
    "nvenc": "gpu:nvidia",
    "vaapi": "gpu:vaapi",
    "qsv": "gpu:vaapi",
    "videotoolbox": "gpu:apple",
    "amf": "gpu:amd",
}
"""Encoders that are built into ffmpeg but need a device, by the end of their name."""
_VIDEO_ENCODER = re.compile(r"^ V[.\w]{5} (\w+) ", re.MULTILINE)
TIMEOUT = 10


def detect(ffmpeg: str = "") -> frozenset[str]:
    """Names such as `ffmpeg`, `encoder:libx264`, `gpu`, `gpu:nvidia`; the ffmpeg to ask may be given."""
    devices = frozenset(_devices())
    return devices | ({GPU} if devices else frozenset()) | frozenset(_encoders(devices, ffmpeg))


def ffmpeg_candidates(wanted: str = "") -> Iterator[tuple[str, str]]:
    """Where an ffmpeg may be, as origin and path: the wanted one alone, else that on PATH, then that of the wheel."""
    if wanted:
        yield "settings", wanted
        return
    if path := shutil.which("ffmpeg"):
        yield "PATH", path
    with contextlib.suppress(RuntimeError):  # it has none for this machine
        yield "wheel", imageio_ffmpeg.get_ffmpeg_exe()


def adjust(names: frozenset[str], wish: str) -> frozenset[str]:
    """The names with an operator's wish: `gpu,zone:eu` adds, `-ffmpeg` takes away."""
    words = [word.strip() for word in wish.split(",") if word.strip()]
    taken = {word[1:] for word in words if word.startswith("-")}
    return (names | {word for word in words if not word.startswith("-")}) - taken


def _encoders(devices: frozenset[str], ffmpeg: str) -> Iterable[str]:
    answers = (read_output([path, "-hide_banner", "-encoders"]) for _, path in ffmpeg_candidates(ffmpeg))
    words = next(filter(None, answers), "")
    if words:
        yield FFMPEG
    for name in _VIDEO_ENCODER.findall(words):
        if HARDWARE.get(name.rpartition("_")[2], GPU) in {*devices, GPU}:
            yield f"encoder:{name}"


def _devices() -> Iterable[str]:
    tool = shutil.which("nvidia-smi")
    if tool and "GPU " in read_output([tool, "-L"]):
        yield "gpu:nvidia"
    if any(Path("/dev/dri").glob("renderD*")):
        yield "gpu:vaapi"


def read_output(command: list[str]) -> str:
    """What a program answers; nothing if it can't be run, or takes too long."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout
