"""A fixture that runs `reel` commands in the process of the test: on a database, and over a server on the same one."""

import asyncio
import io
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from reelstate.cli import main
from reelstate.cli.servers import LOCAL
from reelstate.config import PREFIX
from reelstate.engine import Engine
from tests.cli.module_server import ModuleServer
from tests.engines import engine_at

T = TypeVar("T")
APP_MODULE = "clips"
"""The name of the user module that a test writes."""
BOTH_WAYS = {
    *(
        "test_archive",
        "test_change",
        "test_limits",
        "test_look",
        "test_mistakes",
        "test_pause",
        "test_pipelines",
        "test_printable",
    ),
    *("test_schedules", "test_search", "test_states", "test_submit", "test_videos", "test_webhooks", "test_why"),
}
"""Modules whose tests run on a database, and over a server on the same database."""
SERVER = "server"
Test = TypeVar("Test", bound=Callable[..., Any])


def database_only(test: Test) -> Test:
    """Mark a test of such a module that runs only on a database: it is about the database or this machine."""
    test.database_only = True  # type: ignore[attr-defined]
    return test


def both_ways(test: Test) -> Test:
    """Mark a test of another module that runs both ways."""
    test.both_ways = True  # type: ignore[attr-defined]
    return test


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests on a database, and where they are marked for it, over a server too."""
    both = metafunc.module.__name__.rpartition(".")[2] in BOTH_WAYS or hasattr(metafunc.function, "both_ways")
    if "reel" in metafunc.fixturenames and both and not hasattr(metafunc.function, "database_only"):
        metafunc.parametrize("reel", ["database", SERVER], indirect=True)


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

    def __init__(
        self,
        folder: Path,
        patch: pytest.MonkeyPatch,
        capture: pytest.CaptureFixture[str],
        server: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder / 'reelstate.db'}"
        self._patch = patch
        self._capture = capture
        self.server = server or {}
        """The variables that name a server and its key; empty on a database."""

    def __call__(self, *arguments: object, stdin: str = "", **environment: str) -> CommandResult:
        with self._patch.context() as patch:
            patch.setattr(sys, "argv", ["reel", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            for name, value in {**self._target(arguments, environment), **environment}.items():
                patch.setenv(name, value)
            self._capture.readouterr()
            code = self._run()
        captured = self._capture.readouterr()
        return CommandResult(code, captured.out, captured.err)

    def _target(self, arguments: tuple[object, ...], environment: Mapping[str, str]) -> Mapping[str, str]:
        """Return the variables that name the server; commands that need the database use that."""
        words = [str(argument) for argument in arguments]
        named = {"-d", "--database"} & set(words) or "REEL_DATABASE_URL" in environment
        command, subcommand = words[0] if words else "", " ".join(words[:2])
        reads = subcommand in {"archive list", "archive read"}
        local = {command, subcommand} & LOCAL and not reads
        return {} if named or local else self.server

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


@pytest.fixture(scope="module")
def module_server() -> Iterator[ModuleServer]:
    with ModuleServer().running() as server:
        yield server


@pytest.fixture
def reel(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Reel]:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path.with_name(f"{tmp_path.name}-config")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    made = Reel(tmp_path, monkeypatch, capsys)
    over_server = getattr(request, "param", "database") == SERVER
    with _serving(made, request) if over_server else nullcontext("") as key:
        if key:
            server: ModuleServer = request.getfixturevalue("module_server")
            made.server = {"REEL_SERVER": server.url, "REEL_KEY": key}
        yield made
    sys.modules.pop(APP_MODULE, None)


def _serving(made: Reel, request: pytest.FixtureRequest) -> AbstractContextManager[str]:
    server: ModuleServer = request.getfixturevalue("module_server")
    shutil.copy(request.getfixturevalue("migrated_file"), made.folder)
    return server.serving(made.url, storage_url=str(made.folder / "media"))
