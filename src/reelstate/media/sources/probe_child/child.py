"""Run one command of the parent under resource limits: `probe`, `count` or `decode`."""

from __future__ import annotations

import json
import os
import resource
import sys
from contextlib import suppress
from typing import Any, BinaryIO, Final

from .damage import find_damage
from .facts import count_frames, probe
from .protocol import ANSWER, CHILD_FRAME, Facts, Refused, RemoteFile, Request, receive

KILL_DELAY: Final = 5
"""CPU seconds between SIGXCPU and SIGKILL."""
COMMANDS: Final = {"probe": probe, "count": count_frames, "decode": find_damage}


def main() -> None:
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    request = json.loads(receive(stdin))
    set_limits(request)
    answer = json.dumps(run(request, _open_source(request, stdin, stdout))).encode()
    stdout.write(CHILD_FRAME.pack(ANSWER, 0, len(answer)) + answer)
    stdout.flush()


def _open_source(request: Request, stdin: BinaryIO, stdout: BinaryIO) -> BinaryIO:
    if request["descriptor"] is None:
        remote: Any = RemoteFile(stdin, stdout, request["size"])
        return remote  # type: ignore[no-any-return]  # PyAV needs no more than a raw file
    return os.fdopen(request["descriptor"], "rb", buffering=0)


def set_limits(request: Request) -> None:
    """Forbid writes and new processes, and limit memory, CPU time and open files, irrevocably."""
    cpu = request["cpu_seconds"]
    for kind, soft, hard in [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_NPROC, 0, 0),
        (resource.RLIMIT_NOFILE, 16, 16),
        (resource.RLIMIT_CPU, cpu, cpu + KILL_DELAY),  # the soft limit ends the process with SIGXCPU
        (resource.RLIMIT_AS, request["memory"], request["memory"]),
    ]:
        ceiling = resource.getrlimit(kind)[1]
        allowed = (soft, hard) if ceiling == resource.RLIM_INFINITY else (min(soft, ceiling), min(hard, ceiling))
        resource.setrlimit(kind, allowed)


def run(request: Request, source: BinaryIO) -> Facts:
    """Run the command of a request and return the answer: its facts, or the refusal of the source."""
    try:
        return {"facts": COMMANDS[request["command"]](request, source), "memory": _peak_memory()}
    except Refused as refused:
        return _refuse(refused.kind, str(refused))
    except MemoryError:
        return _refuse("bomb", f"it takes more than {request['memory'] // 2**20:,} MiB of memory to probe")
    except Exception as error:  # noqa: BLE001 - a damaged file can make the libraries raise anything
        return _refuse("damaged", f"it can't be read: {type(error).__name__}: {error}"[:200])


def _refuse(kind: str, message: str) -> Facts:
    return {"refused": {"kind": kind, "message": message}, "memory": _peak_memory()}


def _peak_memory() -> int:
    """Return the peak memory in bytes. On Linux ru_maxrss includes the memory of the parent before the start."""
    with suppress(OSError), open("/proc/self/status", encoding="utf-8") as status:  # noqa: PTH123 - no pathlib
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
