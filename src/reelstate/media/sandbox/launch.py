"""Starts a command under limits, for machines without util-linux: `python launch.py PARENT LIMITS COMMAND…`.

It is a program of its own and imports nothing of this package, so that it takes little time to start. A child that is
changed between fork and exec would have to run Python there, which is not safe in a process with threads.
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
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and what it starts would inherit that
        signal.signal(ignored, signal.SIG_DFL)
    if os.getppid() != int(parent):
        sys.exit("its parent is gone")
    os.execv(command[0], command)  # noqa: S606 - that is what it is for


if __name__ == "__main__":
    main()
