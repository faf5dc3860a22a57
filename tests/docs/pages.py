"""Runs what pages show as a reader would: programs in an empty folder, commands in two terminals."""

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
    """Return the code blocks of a page in one language."""
    text = (ROOT / page).read_text()
    return [str(found) for found in re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]


def run(source: str, folder: Path) -> list[str]:
    """Run a program in a folder and return the lines it prints."""
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
    """Two terminals in one folder: `reel up` runs in the first, other commands run in the second."""

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
        """Interrupt the first terminal, run `reel up` in it, and wait until its worker is ready."""
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
        lines = []
        for line in self._up.stderr:
            lines.append(line)
            if "worker ready" in line:
                break
        watchdog.cancel()
        assert "worker ready" in lines[-1], "".join(lines)

    def interrupt(self) -> None:
        """Press ctrl-C in the first terminal: every process in it gets the signal."""
        if self._up is not None:
            os.killpg(self._up.pid, signal.SIGINT)
            _, output = self._up.communicate(timeout=TIMEOUT)
            assert self._up.returncode == 0, output
            self._up = None

    def type(self, command: str, *, expect: int = 0) -> str:
        """Run a command in the second terminal and return what it prints."""
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
