"""The command line inside the test's own process: fast, and with its exit code and both its outputs."""

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
APP_MODULE = "film"
"""What tests call a user's module; each test writes its own."""


@dataclass(frozen=True)
class Answer:
    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def words(self) -> str:
        """Both outputs on one line, without the frames that a narrow terminal puts around and into them."""
        return " ".join((self.stdout + self.stderr).replace("│", " ").split())


class Reel:
    """`reel …` as a person types it, in a folder of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder / 'reelstate.db'}"
        self._patch = patch
        self._capture = capture

    def __call__(self, *arguments: object, stdin: str = "", **environment: str) -> Answer:
        with self._patch.context() as patch:
            patch.setattr(sys, "argv", ["reel", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            for name, value in environment.items():
                patch.setenv(name, value)
            self._capture.readouterr()
            code = self._code()
        captured = self._capture.readouterr()
        return Answer(code, captured.out, captured.err)

    def engine(self, use: Callable[[Engine], Awaitable[T]]) -> T:
        """What an engine on the same store is made to do."""

        async def opened() -> T:
            async with engine_at(self.url) as engine:
                return await use(engine)

        return asyncio.run(opened())

    @staticmethod
    def _code() -> int:
        try:
            main.app()
        except SystemExit as end:
            return int(end.code or 0)
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
