"""Runs one PostgreSQL server as its child and ends it with the process that uses it, even if that is killed.

Started by `tests.postgres` as `postgres_guard.py PARENT FOLDER UID GID COMMAND…`; standard library only.
A line on standard input names a signal to pass on (a requested stop). The end of standard input, or another
parent than PARENT, means that the server is not needed any more: it is stopped at once and FOLDER is removed.
The parent is watched in addition to the pipe because a child forked by it may hold the pipe's other end open.
"""

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from typing import Final

_PARENT_CHECK_SECONDS: Final = 1.0


def guard(parent: int, folder: str, uid: int, gid: int, command: list[str]) -> None:
    as_root = os.geteuid() == 0
    server = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        user=uid if as_root else None,
        group=gid if as_root else None,
        extra_groups=[] if as_root else None,
    )
    deserted = threading.Event()
    threading.Thread(target=_watch, args=(parent, server, deserted), daemon=True).start()
    server.wait()
    if deserted.is_set():
        shutil.rmtree(folder, ignore_errors=True)


def _watch(parent: int, server: subprocess.Popen[bytes], deserted: threading.Event) -> None:
    while os.getppid() == parent:
        readable, _, _ = select.select([sys.stdin], [], [], _PARENT_CHECK_SECONDS)
        if readable:
            line = os.read(sys.stdin.fileno(), 64).decode().strip()
            if not line:
                break
            server.send_signal(signal.Signals[line])
    deserted.set()
    server.send_signal(signal.SIGQUIT)


if __name__ == "__main__":
    guard(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
