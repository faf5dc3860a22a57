"""How much a process loads before it does anything: every command and every worker waits for that."""

import json
import subprocess
import sys

SLOW = ["httpx", "psycopg", "yaml", "av"]
"""Packages that only some sources, stores and profiles need."""


def test_a_process_loads_no_package_that_it_may_not_need() -> None:
    program = f"import json, sys, reelstate.cli.main; print(json.dumps([n for n in {SLOW} if n in sys.modules]))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert json.loads(said) == []
