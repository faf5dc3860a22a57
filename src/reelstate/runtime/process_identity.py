"""Which process of which machine this is, so that a neighbour on the machine can tell when it is gone. Linux alone.

A process number says little: it is reused, and every container has its own numbers. So the identity names the boot of
the machine, its host name, the name spaces in which numbers and times are counted, and when the process started.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from reelstate.core.model import Json

PROC = Path("/proc")
# A dead process stays listed until its parent has asked for it; a stopped one (T) is alive.
DEAD = {"Z", "X"}


def own_process() -> dict[str, Json] | None:
    """The identity of the process that asks; None where there is no /proc to read it from."""
    machine, pid = own_machine(), os.getpid()
    found = _state_and_start(pid) if machine else None
    return {"machine": machine, "pid": pid, "started": found[1]} if found else None


def own_machine() -> str | None:
    """The boot, host and name spaces in which process numbers mean the same as here; None where they can't be told."""
    try:
        if (PROC / "self").readlink().name != str(os.getpid()):
            return None  # this /proc shows the numbers of another name space
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        spaces = [_name_space("pid"), _name_space("time")]
    except (OSError, ValueError):
        return None
    return " ".join([boot, socket.gethostname(), *spaces])


def is_alive(identity: Json) -> bool | None:
    """Whether a process still runs; None when that can't be told from here."""
    match identity:
        case {"machine": str(machine), "pid": int(pid), "started": int(started)} if pid > 0:
            return _runs(pid, started) if machine == own_machine() else None
    return None


def _runs(pid: int, started: int) -> bool | None:
    try:
        found = _state_and_start(pid)
    except OSError:
        return None
    if found is None:
        return False if _unknown_to_the_kernel(pid) else None
    state, start = found
    return start == started and state not in DEAD


def _state_and_start(pid: int) -> tuple[str, int] | None:
    """A process's state and start time, in ticks since boot; None when it is not listed."""
    try:
        line = (PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold anything, also parentheses.
    state, *numbers = line.rpartition(")")[2].split()
    return state, int(numbers[18])


def _unknown_to_the_kernel(pid: int) -> bool:
    """Asked apart from /proc, which may be mounted so that it hides the processes of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _name_space(kind: str) -> str:
    try:
        return str((PROC / "self/ns" / kind).readlink())
    except FileNotFoundError:
        return kind  # a kernel without this kind has one for all
