"""Run `reel` in a process that dies with its parent. The first argument is the host name that it reports."""

import ctypes
import signal
import socket
import sys

from reelstate.cli.main import app

HERE = "here"
PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    host = sys.argv.pop(1)
    if host != HERE:
        socket.gethostname = lambda: host
    app()
