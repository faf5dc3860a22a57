"""A pytest plugin: a run that leaves files in the checkout fails, and names them.

Ignored files count too, because a key or a database that git ignores was still written to the wrong place. What tools
keep for themselves does not count.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import pytest

TOOLS: Final = (
    ".git/",
    ".venv/",
    ".hypothesis/",
    ".import_linter_cache/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    "__pycache__/",
    ".egg-info/",
)
BEFORE: Final[pytest.StashKey[set[str]]] = pytest.StashKey()


def entries(root: Path) -> set[str]:
    """Return the output of `git status`; nothing without git or a checkout."""
    command = ["git", "-C", str(root), "status", "--porcelain", "--ignored=matching", "--untracked-files=all"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return set()
    return {line for line in done.stdout.splitlines() if not any(tool in f"{line[3:]}/" for tool in TOOLS)}


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        session.config.stash[BEFORE] = entries(session.config.rootpath)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    before: set[str] = session.config.stash[BEFORE]
    if left := sorted(entries(session.config.rootpath) - before):
        print("\n\nthe tests have changed the checkout:", *left, sep="\n  ")  # noqa: T201 - the reason of the failure
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
