"""The examples run unchanged and print what their pages show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir())


def readme(name: str) -> str:
    return (EXAMPLES / name / "README.md").read_text()


def printed(name: str) -> str:
    """Return the output that the page of an example shows."""
    (text,) = re.findall(r"```text\n(.*?)```", readme(name), re.DOTALL)
    return str(text)


def test_the_list_names_every_example() -> None:
    assert NAMES == ["fan_out", "flaky", "groups", "resume"]
    listed = re.findall(r"^\| \[(\w+)\]\(\1/\)", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_prints_what_its_page_shows(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name / "main.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_an_example_shows_how_to_run_it(name: str) -> None:
    assert f"python examples/{name}/main.py" in readme(name)
