"""Starts a command under limits, if util-linux is missing: `python launch.py PARENT LIMITS COMMAND…`.

It is a separate program that imports nothing of this package, so it starts fast. Setting limits between fork and exec
would run Python there, which is not safe in a process with threads.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, limits, *command = sys.argv[1:]
    for name, numbers in json.loads(limits).items():
        resource.setrlimit(getattr(resource, name), tuple(numbers))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the command would inherit that
        signal.signal(ignored, signal.SIG_DFL)
    if os.getppid() != int(parent):
        sys.exit("the parent process is gone")
    os.execv(command[0], command)  # noqa: S606 - its purpose


if __name__ == "__main__":
    main()
