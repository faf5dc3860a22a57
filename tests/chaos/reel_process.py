"""Starts `reel` as a process that dies with the one that started it. First argument: the host it says it runs on."""

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
