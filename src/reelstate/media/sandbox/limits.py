"""Limits of a tool: time, memory, CPU and files, and how they are passed to the kernel."""

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
CPU_GRACE = 5
"""CPU seconds between the soft limit, which sends SIGXCPU, and the hard limit, which kills."""
_OPTIONS = {"RLIMIT_AS": "as", "RLIMIT_CPU": "cpu", "RLIMIT_FSIZE": "fsize", "RLIMIT_NOFILE": "nofile"}
_OPTIONS |= {"RLIMIT_CORE": "core"}

ResourceLimits = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Limits of one process; None is no limit."""

    timeout: float | None = 6 * 3600.0
    """Seconds of wall-clock time."""
    stall: float | None = None
    """Seconds without a new frame, time or byte; for commands with `-progress pipe:1`."""
    memory: int | None = 8 * GIB
    """Bytes of address space, of which a program with many threads reserves far more than it uses."""
    cpu_seconds: int | None = None
    file_size: int | None = None
    """Bytes of any one file."""
    output_size: int | None = None
    """Bytes by which all files of the folder together may grow."""
    open_files: int = 256
    niceness: int = 0


def resource_limits(limits: ProcessLimits) -> dict[str, tuple[int, int]]:
    """Return soft and hard limits by resource name; none exceeds the limit of this process."""
    cpu = limits.cpu_seconds
    wanted = {
        "RLIMIT_AS": _both(limits.memory),
        "RLIMIT_CPU": None if cpu is None else (cpu, cpu + CPU_GRACE),
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


def limits_prefix(limits: ResourceLimits) -> list[str]:
    """Return the start of a command line that sets these limits, and kills the command if its parent dies.

    Two programs of util-linux take 3 ms of CPU, Python takes 16.
    """
    prlimit, setpriv = _util_linux()
    if prlimit and setpriv:
        numbers = [f"--{_OPTIONS[name]}={soft}:{hard}" for name, (soft, hard) in limits.items()]
        return [prlimit, *numbers, "--", setpriv, "--pdeathsig", "KILL", "--", *_if_parent_lives()]
    path = Path(launch.__file__)
    return [sys.executable, "-I", "-S", str(path), str(os.getpid()), json.dumps(dict(limits))]


def _if_parent_lives() -> list[str]:
    """Return a command prefix that gives up when the parent died before its death could be noticed."""
    return ["/bin/sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid())]


@cache
def _util_linux() -> tuple[str | None, str | None]:
    """Return prlimit and setpriv, if they are those of util-linux: other programs of these names lack options."""
    return _find_genuine("prlimit"), _find_genuine("setpriv")


def _find_genuine(name: str) -> str | None:
    path = shutil.which(name)
    return None if path is None or Path(path).resolve().name != name else path
