"""A tool in bubblewrap: without network and other processes, with the files that it needs and no others."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from reelstate.core.errors import ReelstateError

logger = logging.getLogger("reelstate.media")

AUTO, REQUIRE, OFF = "auto", "require", "off"
PATIENCE = 10
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""Where programs and their libraries are."""
SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
"""How a program finds its libraries."""
CPU_FOLLOWS = "cpu time of the command:"
COUNTED = ("/bin/sh", "-c", f'"$@"; code=$?; echo "{CPU_FOLLOWS}" >&2; times >&2; exit $code', "sh")
"""Has the CPU time of a command written at its end. The kernel does not tell it: bubblewrap ends before its child."""
_CPU_TIME = re.compile(rf"{CPU_FOLLOWS}\n.*\n(\d+)m([\d.]+)s (\d+)m([\d.]+)s\n\Z")
NOT_STARTED = frozenset({126, 127})
"""How shells and linkers say that a program could not be started."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How much a tool may see: `auto` is a sandbox where one works, `require` fails without, `off` is none."""

    mode: str = AUTO
    readable: tuple[Path, ...] = ()
    """Files and folders that it may read beside its own folder."""

    def reading(self, *paths: Path) -> Sandbox:
        return replace(self, readable=(*self.readable, *paths))


async def confinement(sandbox: Sandbox, program: Path, folder: Path) -> list[str]:
    """The beginning of a command that runs in the sandbox; empty where there is none."""
    if sandbox.mode == OFF:
        return []
    trouble = await asyncio.to_thread(_trouble, program)
    if not trouble:
        return bubble(program, folder, sandbox.readable)
    if sandbox.mode == REQUIRE:
        raise ReelstateError(
            f"{program.name} can't be run in a sandbox: {trouble}",
            hint="install bubblewrap and allow user namespaces, or set REEL_SANDBOX=auto",
        )
    return []


def bubble(program: Path, folder: Path, readable: Sequence[Path] = ()) -> list[str]:
    """The words before a command: what it sees is mounted in this order, the folder it may write to last."""
    seen = [Path(name) for name in (*SYSTEM, *SETTINGS)]
    return [
        *(_bubblewrap() or "bwrap", "--unshare-all", "--die-with-parent", *_capabilities()),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108 - one of its own
        *_read_only("--ro-bind-try", [*seen, program, program.resolve()]),
        *_read_only("--ro-bind", readable),
        *("--bind", str(folder), str(folder), "--chdir", str(folder), "--", *COUNTED),
    ]


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
def _trouble(program: Path) -> str:
    """Why this program can't run in a sandbox on this machine; empty when it can. Tried once, warned of once."""
    trouble = _tried(program)
    if trouble:
        logger.warning("%s runs without a sandbox: %s", program.name, trouble)
    return trouble


def _tried(program: Path) -> str:
    if _bubblewrap() is None:
        return "bubblewrap (bwrap) is not installed"
    try:
        with TemporaryDirectory() as folder:
            command = [*bubble(program, Path(folder)), str(program), "-version"]
            answer = subprocess.run(  # noqa: S603 - a fixed command
                command, capture_output=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    words = answer.stderr.decode(errors="replace").strip()
    if words.startswith("bwrap:") or answer.returncode in NOT_STARTED:
        return words.splitlines()[0] if words else f"it ends with {answer.returncode}"
    return ""
