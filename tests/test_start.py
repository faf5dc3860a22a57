"""What a process imports at its start: every command and every worker waits for that."""

import json
import subprocess
import sys

import pytest

import reelstate as rs

SLOW = ("httpx", "psycopg", "yaml", "av", "redis", "fastapi", "pydantic", "jsonschema_rs")
"""Packages that only servers and some sources, stores and profiles need."""


def modules_after(program: str) -> set[str]:
    """Return the modules that a new process has imported after it ran a program."""
    shown = f"{program}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", shown], capture_output=True, check=True, text=True).stdout
    return set(json.loads(said.splitlines()[-1]))


def test_the_help_imports_no_command_and_nothing_that_a_command_needs() -> None:
    program = (
        "import sys\nfrom reelstate.cli.main import app\nsys.argv = ['reel', '--help']\n"
        "try:\n    app()\nexcept SystemExit:\n    pass"
    )
    found = modules_after(program)
    ours = {name for name in found if name.startswith("reelstate")}
    assert ours == {
        *("reelstate", "reelstate.cli", "reelstate.cli.commands", "reelstate.cli.main"),
        *("reelstate.core", "reelstate.core.errors"),
    }
    assert found & {"rich", "asyncio", "sqlite3", "importlib.metadata", *SLOW} == set()


def test_the_package_imports_its_public_names_at_their_first_use() -> None:
    assert "reelstate.app" not in modules_after("import reelstate")
    assert "reelstate.app" in modules_after("from reelstate import *; open")


def test_a_name_that_is_not_public_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        rs.opne  # type: ignore[attr-defined]  # noqa: B018
    assert set(rs.__all__) <= set(dir(rs))


@pytest.mark.parametrize(
    "loaded, unneeded",
    [
        ("reelstate.exports", (*SLOW, "reelstate.media.pipeline", "typer", "rich")),
        ("reelstate.cli.serving", ("httpx", "psycopg", "yaml", "av", "redis")),
    ],
)
def test_a_process_loads_no_package_that_it_may_not_need(loaded: str, unneeded: tuple[str, ...]) -> None:
    assert modules_after(f"import {loaded}") & set(unneeded) == set()
