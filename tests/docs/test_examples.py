"""The examples are run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
EXPECTED = {
    "fan_out": [
        "7 words in 3 lines, counted by 3 tasks",
        "most frequent: reel (3)",
        "completed",
    ],
    "resume": [
        "first run: started at 0, saved a checkpoint at 40, died at 50",
        "taken back: 1 task",
        "second run: attempt 2, started at 40",
        "completed: {'copied': 100, 'resumed_at': 40}",
    ],
}


def test_every_example_is_run() -> None:
    assert {folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_does_what_it_says(name: str, tmp_path: Path) -> None:
    main = EXAMPLES / name / "main.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(main)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_says_how_to_run_it_and_what_it_prints(name: str) -> None:
    readme = (EXAMPLES / name / "README.md").read_text()
    assert f"python examples/{name}/main.py" in readme
    assert "\n".join(EXPECTED[name]) in readme
