"""A fixture that runs `reel` commands in the process of the test."""

import asyncio
import io
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from reelstate.cli import main
from reelstate.config import PREFIX
from reelstate.engine import Engine
from tests.engines import engine_at

T = TypeVar("T")
APP_MODULE = "clips"
"""The name of the user module that a test writes."""


@dataclass(frozen=True)
class CommandResult:
    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def text(self) -> str:
        """Both outputs on one line, without the frames of error panels."""
        return " ".join((self.stdout + self.stderr).replace("│", " ").split())


class Reel:
    """Runs `reel` with arguments in a temporary folder."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder / 'reelstate.db'}"
        self._patch = patch
        self._capture = capture

    def __call__(self, *arguments: object, stdin: str = "", **environment: str) -> CommandResult:
        with self._patch.context() as patch:
            patch.setattr(sys, "argv", ["reel", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            for name, value in environment.items():
                patch.setenv(name, value)
            self._capture.readouterr()
            code = self._run()
        captured = self._capture.readouterr()
        return CommandResult(code, captured.out, captured.err)

    def engine(self, use: Callable[[Engine], Awaitable[T]]) -> T:
        """Run a function with an engine on the same store."""

        async def run() -> T:
            async with engine_at(self.url) as engine:
                return await use(engine)

        return asyncio.run(run())

    @staticmethod
    def _run() -> int:
        try:
            main.app()
        except SystemExit as error:
            return int(error.code or 0)
        return 0


@pytest.fixture
def reel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Reel]:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield Reel(tmp_path, monkeypatch, capsys)
    sys.modules.pop(APP_MODULE, None)
