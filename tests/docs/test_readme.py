"""The programs in the documentation are run as they stand, and say what the text says of them."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def program(page: str) -> str:
    """The one Python program of a page."""
    (found,) = re.findall(r"```python\n(import asyncio\n.*?)```", (ROOT / page).read_text(), re.DOTALL)
    return str(found)


def run(source: str, folder: Path) -> list[str]:
    """The lines that a program prints in a folder of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_program_of_the_readme_completes_its_job(tmp_path: Path) -> None:
    lines = run(program("README.md"), tmp_path)
    assert lines[0] == "job None None None → pending by user"
    assert lines[-1] == "job None None uploading_outputs → completed by orchestrator"
    assert len([line for line in lines if line.endswith("running → done by worker")]) == 5


def test_run_twice_the_program_of_the_readme_makes_one_job(tmp_path: Path) -> None:
    assert run(program("README.md"), tmp_path) == run(program("README.md"), tmp_path)


def test_the_program_of_the_quickstart_fails_is_retried_and_completes(tmp_path: Path) -> None:
    failed, cause, completed, *history, healthy = run(program("docs/quickstart.md"), tmp_path)
    assert re.fullmatch(r"failed - task \d+/1/1 of stage word failed for good", failed)
    assert cause == """cause: {'message': "can't shout 'two'"}"""
    assert completed == "completed {'join': 'ONE TWO THREE'} 100 %"
    assert history.count("task  1 0  running → done  worker") == 1
    assert history.count("task  1 2  ready → new  orchestrator") == 1
    assert healthy == "healthy: True"


def test_the_worker_by_hand_completes_its_job_and_signs_off(tmp_path: Path) -> None:
    guide = "docs/guides/claim-and-report.md"
    (line,) = run(program(guide), tmp_path)
    assert line == "completed attempts: [1, 2, 1] worker: offline"
    assert f"It prints `{line}`" in (ROOT / guide).read_text()


def test_the_test_in_the_reference_owns_the_time(tmp_path: Path) -> None:
    assert run(program("docs/reference/python.md"), tmp_path) == ["1 taken back", "lost"]


def test_the_readme_is_short_and_opens_with_both_commands() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) < 150
    first_screen = "\n".join(lines[:40])
    assert "make demo" in first_screen
    assert "make test" in first_screen


def test_the_readmes_program_is_short() -> None:
    lines = [line for line in program("README.md").splitlines() if line.strip()]
    assert len(lines) <= 30
