"""What this machine can do, found at start: ffmpeg, its encoders, a GPU. Operators may add to it or take away."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

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
PATIENCE = 10


def found() -> frozenset[str]:
    """Names such as `ffmpeg`, `encoder:libx264`, `gpu`, `gpu:nvidia`."""
    devices = frozenset(_devices())
    return devices | ({GPU} if devices else frozenset()) | frozenset(_encoders(devices))


def adjusted(names: frozenset[str], wish: str) -> frozenset[str]:
    """The names with an operator's wish: `gpu,zone:eu` adds, `-ffmpeg` takes away."""
    words = [word.strip() for word in wish.split(",") if word.strip()]
    taken = {word[1:] for word in words if word.startswith("-")}
    return (names | {word for word in words if not word.startswith("-")}) - taken


def _encoders(devices: frozenset[str]) -> Iterable[str]:
    path = shutil.which("ffmpeg")
    if path is None:
        return
    yield FFMPEG
    for name in _VIDEO_ENCODER.findall(_output([path, "-hide_banner", "-encoders"])):
        if HARDWARE.get(name.rpartition("_")[2], GPU) in {*devices, GPU}:
            yield f"encoder:{name}"


def _devices() -> Iterable[str]:
    tool = shutil.which("nvidia-smi")
    if tool and "GPU " in _output([tool, "-L"]):
        yield "gpu:nvidia"
    if any(Path("/dev/dri").glob("renderD*")):
        yield "gpu:vaapi"


def _output(command: list[str]) -> str:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout
