"""Commands that tests run, of ffmpeg and of the shell, and the processes that they start."""

import contextlib
import os
import select
import shutil
import signal
from pathlib import Path

import imageio_ffmpeg  # type: ignore[import-untyped]  # it has no types

WHEEL: str = imageio_ffmpeg.get_ffmpeg_exe()
BUILDS = [path for path in (shutil.which("ffmpeg"), WHEEL) if path]
START = (
    *("-nostdin", "-hide_banner", "-y", "-nostats", "-loglevel", "level+warning"),
    *("-stats_period", "0.1", "-progress", "pipe:1"),
)


def encoding(ffmpeg: str, target: Path, *, size: str = "320x180", seconds: float = 2, speed: str = "") -> list[str]:
    """Return a command that encodes a moving picture; with `speed="-re"` in real time."""
    source = ["-f", "lavfi", "-i", f"testsrc2=s={size}:r=25:d={seconds}"]
    encoder = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
    return [ffmpeg, *START, *([speed] if speed else []), *source, *encoder, str(target)]


def shell(script: str, *arguments: str) -> list[str]:
    return ["/bin/sh", "-c", script, "sh", *arguments]


def running(marker: str) -> list[int]:
    """Return the pids of other processes whose command line contains the marker."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in command:
                found.append(int(entry.name))
    return found


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


class Handles:
    """Processes by pidfd, which is never reused: to wait for their exit, and to kill the rest."""

    def __init__(self, pids: list[int]) -> None:
        self._open = {os.pidfd_open(pid): pid for pid in pids}

    def gone(self, seconds: float) -> bool:
        """Return whether all of them exit within some seconds."""
        left = set(self._open)
        while left:
            ended, _, _ = select.select(list(left), [], [], seconds)
            if not ended:
                return False
            left -= set(ended)
        return True

    def close(self) -> None:
        for handle in self._open:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
