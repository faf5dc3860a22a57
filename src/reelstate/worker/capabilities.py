"""Detect what this machine offers to tasks: ffmpeg, its video encoders, GPUs. Operators add to it or remove from it."""

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
"""The device that an ffmpeg encoder needs, by the suffix of the encoder's name."""
PROBE_TIMEOUT = 10
_VIDEO_ENCODER = re.compile(r"^ V[.\w]{5} (\w+) ", re.MULTILINE)


def detect(ffmpeg: str = "") -> frozenset[str]:
    """Return capabilities such as `ffmpeg`, `encoder:libx264`, `gpu`, `gpu:nvidia`; `ffmpeg` is the binary to probe."""
    devices = frozenset(_detect_devices())
    return devices | ({GPU} if devices else frozenset()) | frozenset(_detect_encoders(devices, ffmpeg))


def ffmpeg_candidates(configured: str = "") -> Iterator[tuple[str, str]]:
    """Yield origin and path of each usable ffmpeg: only the configured one, or that on PATH, then the bundled one."""
    if configured:
        yield "settings", configured
        return
    if path := shutil.which("ffmpeg"):
        yield "PATH", path
    with contextlib.suppress(RuntimeError):  # none is bundled for this platform
        yield "wheel", imageio_ffmpeg.get_ffmpeg_exe()


def adjust(names: frozenset[str], changes: str) -> frozenset[str]:
    """Apply an operator's changes to detected names: `gpu,zone:eu` adds two, `-ffmpeg` removes one."""
    items = [item.strip() for item in changes.split(",") if item.strip()]
    removed = {item[1:] for item in items if item.startswith("-")}
    return (names | {item for item in items if not item.startswith("-")}) - removed


def read_output(command: list[str]) -> str:
    """Return the stdout of a command; empty if it can't be run or takes longer than `PROBE_TIMEOUT`."""
    try:
        result = subprocess.run(  # noqa: S603 - a program of this machine
            command, capture_output=True, text=True, timeout=PROBE_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout


def _detect_encoders(devices: frozenset[str], ffmpeg: str) -> Iterable[str]:
    outputs = (read_output([path, "-hide_banner", "-encoders"]) for _, path in ffmpeg_candidates(ffmpeg))
    listing = next(filter(None, outputs), "")
    if listing:
        yield FFMPEG
    for name in _VIDEO_ENCODER.findall(listing):
        if HARDWARE.get(name.rpartition("_")[2], GPU) in {*devices, GPU}:
            yield f"encoder:{name}"


def _detect_devices() -> Iterable[str]:
    tool = shutil.which("nvidia-smi")
    if tool and "GPU " in read_output([tool, "-L"]):
        yield "gpu:nvidia"
    if any(Path("/dev/dri").glob("renderD*")):
        yield "gpu:vaapi"
