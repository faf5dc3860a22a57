"""The tests leave nothing behind in the checkout."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TIMEOUT = 300


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / ".gitignore").write_text("*.key\n__pycache__/\n.pytest_cache/\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text("import pathlib\ndef test_it(): pathlib.Path('NAME').write_text('x')\n")
    return tmp_path


def run(checkout: Path, name: str) -> subprocess.CompletedProcess[str]:
    test = checkout / "test_it.py"
    test.write_text(test.read_text().replace("NAME", name))
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=checkout, check=True, timeout=TIMEOUT)
    pytest_of_it = [sys.executable, "-m", "pytest", "-q", "-p", "tests.clean_checkout", "-n", "0"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(checkout.parent)}
    return subprocess.run(
        pytest_of_it, cwd=checkout, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


@pytest.mark.parametrize("name", ["left.txt", "reelstate.key", "test_it.py"])
def test_a_run_that_leaves_a_file_in_the_checkout_fails_and_names_it(checkout: Path, name: str) -> None:
    ended = run(checkout, name)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout
    assert name in ended.stdout.partition("have changed the checkout")[2]


def test_a_run_that_leaves_nothing_passes(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    ended = run(checkout, str(tmp_path_factory.mktemp("elsewhere") / "made.txt"))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_no_secret_of_a_server_can_be_added_to_the_repository() -> None:
    names = ["reelstate.key", "reelstate.db.key", "a/reelstate.db.url", "reelstate.signin", "reelstate.db"]
    ignored = subprocess.run(
        ["git", "-C", ROOT, "check-ignore", "--no-index", *names], capture_output=True, text=True, check=False
    )
    if ignored.returncode == 128:
        pytest.skip("this is no checkout of git")
    assert ignored.stdout.splitlines() == names
