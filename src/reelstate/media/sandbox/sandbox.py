"""Runs a program in a sandbox: without network and other processes, with only the files that it needs.

It is bubblewrap if that works, else Landlock with seccomp and, for root, another user (`confine.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from reelstate.core.errors import ReelstateError
from reelstate.media.sandbox import confine

logger = logging.getLogger("reelstate.media")

AUTO, REQUIRE, OFF = "auto", "require", "off"
BUBBLEWRAP, LANDLOCK, LIMITS = "bubblewrap", "landlock", "limits only"
OWN_PROCESS = "/proc/self"
TRIAL_TIMEOUT = 10
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""Programs and their libraries."""
SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
"""What a program needs to find its libraries."""
CPU_FOLLOWS = "cpu time of the command:"
COUNTED = ("/bin/sh", "-c", f'"$@"; code=$?; echo "{CPU_FOLLOWS}" >&2; times >&2; exit $code', "sh")
"""Writes the CPU time of a command at its exit: bubblewrap exits before its child, so the kernel does not report it."""
_CPU_TIME = re.compile(rf"{CPU_FOLLOWS}\n.*\n(\d+)m([\d.]+)s (\d+)m([\d.]+)s\n\Z")
NOT_STARTED = frozenset({confine.NOT_CONFINED, 126, 127})
"""Exit codes of shells and linkers for a program that could not be started."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a program may access. `auto`: isolated if possible; `require`: or fails; `off`: not isolated."""

    mode: str = AUTO
    readable: tuple[Path, ...] = ()
    """Files and folders that it may read besides its own folder."""
    needed: tuple[Path, ...] = ()
    """Files and folders without which it can't start; the trial run has them too."""

    def reading(self, *paths: Path) -> Sandbox:
        """Return this sandbox with more readable paths."""
        return replace(self, readable=(*self.readable, *paths))


@dataclass(frozen=True, slots=True)
class Isolation:
    """How a program is isolated on this machine."""

    kind: str
    """`bubblewrap`, `landlock` or `limits only`, from the strongest to none."""
    reason: str = ""
    """Why no stronger one works; empty for bubblewrap."""

    def __str__(self) -> str:
        return f"{self.kind} ({self.reason})" if self.reason else self.kind


async def find_isolation(
    program: Path, trial: Sequence[str] = ("-version",), readable: Sequence[Path] = ()
) -> Isolation:
    """Return the strongest isolation in which a program starts on this machine; the trial runs once per process.

    `trial` are the arguments of the trial run, `readable` the files and folders that the program needs.
    """
    return await asyncio.to_thread(_isolation, program, tuple(trial), tuple(readable))


async def sandbox_prefix(
    sandbox: Sandbox, program: Path, folder: Path | None = None, *, trial: Sequence[str] = ("-version",)
) -> list[str]:
    """Return the start of a command line that isolates a program; empty if it is not isolated.

    `folder` is where the program may write. In the mode `require`, raise if it can't be isolated.
    """
    if sandbox.mode == OFF:
        return []
    needed = sandbox.needed
    isolation = await find_isolation(program, trial, needed)
    readable = (*needed, *sandbox.readable)
    if isolation.kind == BUBBLEWRAP:
        return bubblewrap_prefix(program, folder, readable)
    if isolation.kind == LANDLOCK:
        return landlock_prefix(program, folder, readable)
    if sandbox.mode == REQUIRE:
        raise ReelstateError(
            f"{program.name} can't be run in a sandbox: {isolation.reason}",
            hint="install bubblewrap and allow user namespaces, use a kernel with Landlock, or set REEL_SANDBOX=off",
        )
    return []


def bubblewrap_prefix(program: Path, folder: Path | None, readable: Sequence[Path] = ()) -> list[str]:
    """Return the start of a command line for bubblewrap; mounts are in this order, the writable folder last."""
    seen = [Path(name) for name in (*SYSTEM, *SETTINGS)]
    own = ("--bind", str(folder), str(folder), "--chdir", str(folder)) if folder else ("--chdir", "/")
    return [
        *(_bubblewrap() or "bwrap", "--unshare-all", "--die-with-parent", *_capabilities()),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108 - a private one
        *_read_only("--ro-bind-try", [*seen, program, program.resolve()]),
        *_read_only("--ro-bind", readable),
        *(*own, "--", *COUNTED),
    ]


def landlock_prefix(program: Path, folder: Path | None, readable: Sequence[Path] = ()) -> list[str]:
    """Return the start of a command line for `confine.py`."""
    system = [Path(name) for name in (*SYSTEM, *SETTINGS, OWN_PROCESS)]
    paths = [*system, program, program.resolve(), *readable]
    spec = {
        "read": [str(path.absolute()) for path in paths],
        "write": [str(folder.absolute())] if folder else [],
        "parent": os.getpid(),
    }
    return [sys.executable, "-I", "-S", confine.__file__, json.dumps(spec)]


def restore_ownership(folder: Path) -> None:
    """Make root the owner of what a confined program wrote as another user."""
    if os.geteuid() or not folder.lstat().st_uid:
        return
    for path in (folder, *folder.rglob("*")):
        with contextlib.suppress(OSError):
            os.lchown(path, 0, 0)


def split_cpu_time(output: str) -> tuple[str, float | None]:
    """Split the stderr of a command into its output and its CPU seconds, which are None if it did not exit."""
    found = _CPU_TIME.search(output)
    if found is None:
        return output, None
    minutes, seconds = int(found[1]) + int(found[3]), float(found[2]) + float(found[4])
    return output[: found.start()], 60 * minutes + seconds


def _read_only(option: str, paths: Sequence[Path]) -> list[str]:
    return [word for path in paths for word in (option, str(path.absolute()), str(path.absolute()))]


def _capabilities() -> list[str]:
    """Drop all capabilities of root but that to read files of other users, because sources often are."""
    return [] if os.geteuid() else ["--cap-drop", "ALL", "--cap-add", "CAP_DAC_READ_SEARCH"]


@cache
def _bubblewrap() -> str | None:
    return shutil.which("bwrap")


@cache
def _isolation(program: Path, trial: tuple[str, ...], readable: tuple[Path, ...]) -> Isolation:
    """Try, and log, once per process."""
    reason = _try_bubblewrap(program, trial, readable)
    if not reason:
        return Isolation(BUBBLEWRAP)
    no_landlock = _try_landlock(program, trial, readable)
    if not no_landlock:
        logger.info("sandbox selected program=%s sandbox=landlock reason=%s", program.name, reason)
        return Isolation(LANDLOCK, reason)
    logger.warning("sandbox missing program=%s reason=%s; %s", program.name, reason, no_landlock)
    return Isolation(LIMITS, f"{reason}; {no_landlock}")


def _try_bubblewrap(program: Path, trial: Sequence[str] = ("-version",), readable: Sequence[Path] = ()) -> str:
    """Return why a program can't run in bubblewrap here; empty if it can."""
    if _bubblewrap() is None:
        return "bubblewrap (bwrap) is not installed"
    return _try(bubblewrap_prefix, program, trial, readable)


def _try_landlock(program: Path, trial: Sequence[str] = ("-version",), readable: Sequence[Path] = ()) -> str:
    """Return why a program can't run under Landlock here; empty if it can."""
    if sys.platform != "linux" or not confine.landlock_version():
        return "the kernel has no Landlock"
    return _try(landlock_prefix, program, trial, readable)


def _try(
    prefix: Callable[[Path, Path, Sequence[Path]], list[str]],
    program: Path,
    trial: Sequence[str],
    readable: Sequence[Path],
) -> str:
    try:
        with TemporaryDirectory() as folder:
            command = [*prefix(program, Path(folder), readable), str(program), *trial]
            answer = subprocess.run(  # noqa: S603 - a fixed command
                command, capture_output=True, timeout=TRIAL_TIMEOUT, check=False, stdin=subprocess.DEVNULL
            )
            restore_ownership(Path(folder))
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    errors = answer.stderr.decode(errors="replace").strip()
    if errors.startswith(("bwrap:", "landlock:")) or answer.returncode in NOT_STARTED:
        return errors.splitlines()[0] if errors else f"it exits with {answer.returncode}"
    if answer.returncode and trial != ("-version",):
        return f"{program.name} does not start in it: {errors.splitlines()[-1] if errors else answer.returncode}"
    return ""
