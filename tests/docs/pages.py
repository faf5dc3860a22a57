"""What pages show, run as a reader would: programs in a folder of their own, commands in two terminals."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]
TIMEOUT = 300


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in one language, block by block."""
    text = (ROOT / page).read_text()
    return [str(found) for found in re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]


def run(source: str, folder: Path) -> list[str]:
    """The lines that a program prints in a folder."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class Terminals:
    """Two terminals in one folder: `reel up` stays in the first, other commands are run in the second."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._variables: dict[str, str] = {}
        self._up: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.interrupt()

    def keep(self, **variables: str) -> None:
        """Set variables of the second terminal."""
        self._variables |= variables

    def start(self, command: str) -> None:
        """Run `reel up` in the first terminal, once its last one was interrupted, until its worker is ready."""
        self.interrupt()
        self._up = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self._folder,
            env=_environment(),
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        assert self._up.stderr is not None
        watchdog = Timer(TIMEOUT, self._up.kill)
        watchdog.start()
        said = []
        for line in self._up.stderr:
            said.append(line)
            if "worker ready" in line:
                break
        watchdog.cancel()
        assert "worker ready" in said[-1], "".join(said)

    def interrupt(self) -> None:
        """Ctrl-C in the first terminal: everything in it gets the signal."""
        if self._up is not None:
            os.killpg(self._up.pid, signal.SIGINT)
            _, last_words = self._up.communicate(timeout=TIMEOUT)
            assert self._up.returncode == 0, last_words
            self._up = None

    def type(self, command: str, *, expect: int = 0) -> str:
        """What a command prints in the second terminal."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder,
            env={**_environment(), **self._variables},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert done.returncode == expect, (command, done.stdout, done.stderr)
        return done.stdout + done.stderr


def _environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("REEL_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**own, "PATH": path, "COLUMNS": "120"}


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])
