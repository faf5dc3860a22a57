"""Identify a process, so that another one on the same machine can detect its death. Linux only.

A PID is not enough: it is reused, and every container has its own. So the identity also names the boot of the machine,
its host name, the PID and time namespaces, and the start time of the process.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from reelstate.core.model import Json

PROC = Path("/proc")
DEAD_STATES = {"Z", "X"}
"""A dead process is listed until its parent waits for it. A stopped one (T) is alive."""


def own_process() -> dict[str, Json] | None:
    """Return the identity of this process; None without a usable /proc."""
    machine, pid = own_machine(), os.getpid()
    found = _state_and_start(pid) if machine else None
    return {"machine": machine, "pid": pid, "started": found[1]} if found else None


def own_machine() -> str | None:
    """Return the boot, host and namespaces in which PIDs mean the same as here; None if they are unknown."""
    try:
        if (PROC / "self").readlink().name != str(os.getpid()):
            return None  # this /proc belongs to another namespace
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        namespaces = [_namespace("pid"), _namespace("time")]
    except (OSError, ValueError):
        return None
    return " ".join([boot, socket.gethostname(), *namespaces])


def is_alive(identity: Json) -> bool | None:
    """Return whether a process still runs; None if that can't be known from here."""
    match identity:
        case {"machine": str(machine), "pid": int(pid), "started": int(started)} if pid > 0:
            return _is_running(pid, started) if machine == own_machine() else None
    return None


def _is_running(pid: int, started: int) -> bool | None:
    try:
        found = _state_and_start(pid)
    except OSError:
        return None
    if found is None:
        return False if _is_unknown_to_kernel(pid) else None
    state, start = found
    return start == started and state not in DEAD_STATES


def _state_and_start(pid: int) -> tuple[str, int] | None:
    """Return a process's state and its start time in ticks since boot; None if it is not listed."""
    try:
        line = (PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may contain parentheses.
    state, *numbers = line.rpartition(")")[2].split()
    return state, int(numbers[18])


def _is_unknown_to_kernel(pid: int) -> bool:
    """Check without /proc, which may be mounted so that it hides the processes of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _namespace(kind: str) -> str:
    try:
        return str((PROC / "self/ns" / kind).readlink())
    except FileNotFoundError:
        return kind  # a kernel without this kind has a single one
