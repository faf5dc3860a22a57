"""What a tool may take of the machine, and how that is handed to the kernel when it is started."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reelstate.media.sandbox import launch

GIB = 1024**3
HARD = 5
"""CPU seconds between the signal that says enough and the one that ends it."""
_OPTIONS = {"RLIMIT_AS": "as", "RLIMIT_CPU": "cpu", "RLIMIT_FSIZE": "fsize", "RLIMIT_NOFILE": "nofile"}
_OPTIONS |= {"RLIMIT_CORE": "core"}

Bounds = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """None is no limit."""

    timeout: float | None = 6 * 3600.0
    """Seconds by the clock on the wall."""
    stall: float | None = None
    """Seconds without a new frame, time or byte; for commands with `-progress pipe:1`."""
    memory: int | None = 8 * GIB
    """Bytes of address space, of which a program with many threads reserves far more than it uses."""
    cpu_seconds: int | None = None
    file_size: int | None = None
    """Bytes of any one file."""
    output_size: int | None = None
    """Bytes by which all files of the folder may grow together."""
    open_files: int = 256
    niceness: int = 0


def bounds(limits: ProcessLimits) -> dict[str, tuple[int, int]]:
    """Soft and hard limits by the names of the kernel; none is above what this process has itself."""
    cpu = limits.cpu_seconds
    wanted = {
        "RLIMIT_AS": _both(limits.memory),
        "RLIMIT_CPU": None if cpu is None else (cpu, cpu + HARD),
        "RLIMIT_FSIZE": _both(limits.file_size),
        "RLIMIT_NOFILE": _both(limits.open_files),
        "RLIMIT_CORE": (0, 0),
    }
    return {name: _within(name, pair) for name, pair in wanted.items() if pair is not None}


def _both(number: int | None) -> tuple[int, int] | None:
    return None if number is None else (number, number)


def _within(name: str, pair: tuple[int, int]) -> tuple[int, int]:
    _, most = resource.getrlimit(getattr(resource, name))
    soft, hard = pair if most == resource.RLIM_INFINITY else (min(number, most) for number in pair)
    return soft, hard


def starter(held: Bounds) -> list[str]:
    """The beginning of a command that is started under these limits, and that ends when its parent does.

    Two small programs of util-linux take 3 ms of CPU, a Python 16.
    """
    prlimit, setpriv = _util_linux()
    if prlimit and setpriv:
        numbers = [f"--{_OPTIONS[name]}={soft}:{hard}" for name, (soft, hard) in held.items()]
        return [prlimit, *numbers, "--", setpriv, "--pdeathsig", "KILL", "--"]
    path = Path(launch.__file__)
    return [sys.executable, "-I", "-S", str(path), str(os.getpid()), json.dumps(dict(held))]


@cache
def _util_linux() -> tuple[str | None, str | None]:
    """The two programs, where they are those of util-linux: others of these names know less."""
    return _genuine("prlimit"), _genuine("setpriv")


def _genuine(name: str) -> str | None:
    path = shutil.which(name)
    return None if path is None or Path(path).resolve().name != name else path
