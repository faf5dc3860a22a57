import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

from tests.time_limit import LIMIT

ROOT = Path(__file__).parents[1]
HANGS = """
import asyncio, threading
import pytest
import tests.time_limit
pytestmark = pytest.mark.asyncio

async def test_that_waits_for_what_never_happens():
    await asyncio.Event().wait()

def test_that_holds_its_thread():
    threading.Event().wait()

def test_after_them():
    pass
"""


def test_a_test_that_hangs_fails_under_its_name_and_the_next_runs(tmp_path: Path) -> None:
    (tmp_path / "test_hangs.py").write_text(HANGS)
    (tmp_path / "conftest.py").write_text("import tests.time_limit as limits\nlimits.LIMIT = 3.0\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.time_limit", "-p", "no:cacheprovider", "."]
    answer = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True, check=False
    )
    assert "FAILED test_hangs.py::test_that_waits_for_what_never_happens" in answer.stdout, answer
    assert "FAILED test_hangs.py::test_that_holds_its_thread" in answer.stdout, answer
    assert "2 failed, 1 passed" in answer.stdout, answer


def test_every_test_has_a_time_limit(request: pytest.FixtureRequest) -> None:
    limited = [item.get_closest_marker("timeout") for item in request.session.items]
    assert None not in limited
    assert min(marker.args[0] for marker in limited if marker) >= LIMIT, "a marker gives more, never less"


def test_no_property_test_has_a_deadline() -> None:
    assert hypothesis.settings().deadline is None
