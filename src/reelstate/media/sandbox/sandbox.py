"""A program behind a wall: without network and other processes, with the files that it needs and no others.

The wall is bubblewrap where it works, else Landlock with seccomp and, for root, another user (`confine.py`).
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
TIMEOUT = 10
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""Where programs and their libraries are."""
SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
"""How a program finds its libraries."""
CPU_FOLLOWS = "cpu time of the command:"
COUNTED = ("/bin/sh", "-c", f'"$@"; code=$?; echo "{CPU_FOLLOWS}" >&2; times >&2; exit $code', "sh")
"""Has the CPU time of a command written at its end. The kernel does not tell it: bubblewrap ends before its child."""
_CPU_TIME = re.compile(rf"{CPU_FOLLOWS}\n.*\n(\d+)m([\d.]+)s (\d+)m([\d.]+)s\n\Z")
NOT_STARTED = frozenset({confine.NOT_CONFINED, 126, 127})
"""How shells and linkers say that a program could not be started."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How much a program may see: `auto` is a wall where one stands, `require` fails without, `off` is none."""

    mode: str = AUTO
    readable: tuple[Path, ...] = ()
    """Files and folders that it may read beside its own folder."""
    needed: tuple[Path, ...] = ()
    """Files and folders without which it can't start; a wall is tried with them."""

    def reading(self, *paths: Path) -> Sandbox:
        return replace(self, readable=(*self.readable, *paths))


@dataclass(frozen=True, slots=True)
class Wall:
    """What stands between a program and the machine."""

    kind: str
    """`bubblewrap`, `landlock` or `limits only`, from the strongest to none."""
    reason: str = ""
    """Why no stronger one stands; empty for bubblewrap."""

    def __str__(self) -> str:
        return f"{self.kind} ({self.reason})" if self.reason else self.kind


async def standing_wall(program: Path, trial: Sequence[str] = ("-version",), readable: Sequence[Path] = ()) -> Wall:
    """The strongest wall in which a program can be started on this machine, found by trying once a process.

    `trial` are the arguments that it is tried with, `readable` the files and folders that it can't do without.
    """
    return await asyncio.to_thread(_wall, program, tuple(trial), tuple(readable))


async def confinement(
    sandbox: Sandbox, program: Path, folder: Path | None = None, *, trial: Sequence[str] = ("-version",)
) -> list[str]:
    """The beginning of a command that runs behind the strongest wall that stands; empty where there is none.

    `folder` is where the program may write. With `require` a program without a wall raises.
    """
    if sandbox.mode == OFF:
        return []
    needed = sandbox.needed
    wall = await standing_wall(program, trial, needed)
    readable = (*needed, *sandbox.readable)
    if wall.kind == BUBBLEWRAP:
        return bubble(program, folder, readable)
    if wall.kind == LANDLOCK:
        return landlock(program, folder, readable)
    if sandbox.mode == REQUIRE:
        raise ReelstateError(
            f"{program.name} can't be run in a sandbox: {wall.reason}",
            hint="install bubblewrap and allow user namespaces, use a kernel with Landlock, or set REEL_SANDBOX=off",
        )
    return []


def bubble(program: Path, folder: Path | None, readable: Sequence[Path] = ()) -> list[str]:
    """The words before a command: what it sees is mounted in this order, the folder it may write to last."""
    seen = [Path(name) for name in (*SYSTEM, *SETTINGS)]
    own = ("--bind", str(folder), str(folder), "--chdir", str(folder)) if folder else ("--chdir", "/")
    return [
        *(_bubblewrap() or "bwrap", "--unshare-all", "--die-with-parent", *_capabilities()),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108 - one of its own
        *_read_only("--ro-bind-try", [*seen, program, program.resolve()]),
        *_read_only("--ro-bind", readable),
        *(*own, "--", *COUNTED),
    ]


def landlock(program: Path, folder: Path | None, readable: Sequence[Path] = ()) -> list[str]:
    """The words before a command that gives up its rights itself: see `confine.py`."""
    system = [Path(name) for name in (*SYSTEM, *SETTINGS, OWN_PROCESS)]
    paths = [*system, program, program.resolve(), *readable]
    spec = {
        "read": [str(path.absolute()) for path in paths],
        "write": [str(folder.absolute())] if folder else [],
        "parent": os.getpid(),
    }
    return [sys.executable, "-I", "-S", confine.__file__, json.dumps(spec)]


def take_back(folder: Path) -> None:
    """Make root the owner again of what a confined program, which was another user, has written."""
    if os.geteuid() or not folder.lstat().st_uid:
        return
    for path in (folder, *folder.rglob("*")):
        with contextlib.suppress(OSError):
            os.lchown(path, 0, 0)


def without_cpu_time(output: str) -> tuple[str, float | None]:
    """What a command in the sandbox wrote to stderr, and the seconds of CPU that it took, if it came to its end."""
    found = _CPU_TIME.search(output)
    if found is None:
        return output, None
    minutes, seconds = int(found[1]) + int(found[3]), float(found[2]) + float(found[4])
    return output[: found.start()], 60 * minutes + seconds


def _read_only(option: str, paths: Sequence[Path]) -> list[str]:
    return [word for path in paths for word in (option, str(path.absolute()), str(path.absolute()))]


def _capabilities() -> list[str]:
    """Root loses its powers but that of reading what belongs to others, because sources often do."""
    return [] if os.geteuid() else ["--cap-drop", "ALL", "--cap-add", "CAP_DAC_READ_SEARCH"]


@cache
def _bubblewrap() -> str | None:
    return shutil.which("bwrap")


@cache
def _wall(program: Path, trial: tuple[str, ...], readable: tuple[Path, ...]) -> Wall:
    """Tried once, warned of once."""
    trouble = _tried(program, trial, readable)
    if not trouble:
        return Wall(BUBBLEWRAP)
    further = _tried_landlock(program, trial, readable)
    if not further:
        logger.info("%s runs behind Landlock: %s", program.name, trouble)
        return Wall(LANDLOCK, trouble)
    logger.warning("%s runs without a sandbox: %s; %s", program.name, trouble, further)
    return Wall(LIMITS, f"{trouble}; {further}")


def _tried(program: Path, trial: Sequence[str] = ("-version",), readable: Sequence[Path] = ()) -> str:
    """Why a program can't run in bubblewrap here; empty when it can."""
    if _bubblewrap() is None:
        return "bubblewrap (bwrap) is not installed"
    return _tried_behind(bubble, program, trial, readable)


def _tried_landlock(program: Path, trial: Sequence[str] = ("-version",), readable: Sequence[Path] = ()) -> str:
    """Why a program can't run behind Landlock here; empty when it can."""
    if sys.platform != "linux" or not confine.landlock_version():
        return "the kernel has no Landlock"
    return _tried_behind(landlock, program, trial, readable)


def _tried_behind(
    wall: Callable[[Path, Path, Sequence[Path]], list[str]],
    program: Path,
    trial: Sequence[str],
    readable: Sequence[Path],
) -> str:
    try:
        with TemporaryDirectory() as folder:
            command = [*wall(program, Path(folder), readable), str(program), *trial]
            answer = subprocess.run(  # noqa: S603 - a fixed command
                command, capture_output=True, timeout=TIMEOUT, check=False, stdin=subprocess.DEVNULL
            )
            take_back(Path(folder))
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    words = answer.stderr.decode(errors="replace").strip()
    if words.startswith(("bwrap:", "landlock:")) or answer.returncode in NOT_STARTED:
        return words.splitlines()[0] if words else f"it ends with {answer.returncode}"
    if answer.returncode and trial != ("-version",):
        return f"{program.name} does not start in it: {words.splitlines()[-1] if words else answer.returncode}"
    return ""
