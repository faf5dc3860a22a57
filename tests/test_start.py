"""How much a process loads before it does anything: every command and every worker waits for that."""

import json
import subprocess
import sys

import pytest

SLOW = ("httpx", "psycopg", "yaml", "av", "redis", "fastapi")
"""Packages that only some sources, stores and profiles need, and servers."""


@pytest.mark.parametrize(
    "loaded, unneeded",
    [
        ("reelstate.cli.main", SLOW),
        ("reelstate", (*SLOW, "reelstate.media.pipeline", "typer", "rich")),
        ("reelstate.cli.serving", ("httpx", "psycopg", "yaml", "av", "redis")),
    ],
)
def test_a_process_loads_no_package_that_it_may_not_need(loaded: str, unneeded: tuple[str, ...]) -> None:
    program = f"import json, sys, {loaded}; print(json.dumps([n for n in {unneeded} if n in sys.modules]))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert json.loads(said) == []
