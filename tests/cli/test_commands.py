"""The command `reel`, as a person runs it: a real process, its output and its exit code."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from reelstate import __version__
from reelstate.core.machine import MACHINES
from tests.vandal import Vandal

REEL = Path(sys.executable).with_name("reel")
COMMANDS = ("demo", "doctor", "machines", "migrate")


def reel(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "COLUMNS": "160", "NO_COLOR": "1"}
    settings.pop("REEL_DATABASE_URL", None)
    return subprocess.run(
        [REEL, *arguments], capture_output=True, text=True, cwd=cwd, env=settings, check=False, timeout=60
    )


def test_it_knows_its_version(tmp_path: Path) -> None:
    assert reel("--version", cwd=tmp_path).stdout == f"reel {__version__}\n"


def test_help_lists_every_command(tmp_path: Path) -> None:
    answer = reel("--help", cwd=tmp_path)
    assert answer.returncode == 0
    assert all(command in answer.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_an_example(tmp_path: Path, command: str) -> None:
    assert f"Example: reel {command}" in reel(command, "--help", cwd=tmp_path).stdout


def test_the_demo_loses_a_worker_and_completes(tmp_path: Path) -> None:
    answer = reel("demo", "--folder", str(tmp_path / "demo"), cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "worker died" in answer.stdout
    assert "every invariant holds" in answer.stdout
    assert (tmp_path / "demo" / "demo.db").exists()


def test_migrate_may_be_run_again(tmp_path: Path) -> None:
    first = reel("migrate", "--database", "sqlite:///jobs.db", cwd=tmp_path)
    again = reel("migrate", "--database", "sqlite:///jobs.db", cwd=tmp_path)
    assert first.stdout == "applied: 0001_engine, 0002_constraints, 0003_keeper, guards\n"
    assert again.stdout == "the schema is up to date\n"


def test_doctor_finds_repairs_and_says_so_by_its_exit_code(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    reel("migrate", "-d", url, cwd=tmp_path)
    assert reel("doctor", "-d", url, cwd=tmp_path).returncode == 0
    Vandal(url).run("DROP TRIGGER guard_jobs_change")
    sick = reel("doctor", "-d", url, "--json", cwd=tmp_path)
    assert sick.returncode == 1
    assert [finding["detail"] for finding in json.loads(sick.stdout)["findings"]] == ["guard_jobs_change"]
    mended = reel("doctor", "-d", url, "--repair", cwd=tmp_path)
    assert mended.returncode == 0
    assert "guard_jobs_change" in mended.stdout
    assert reel("doctor", "-d", url, cwd=tmp_path).stdout == "healthy: every invariant holds\n"


def test_machines_come_as_a_table_as_data_and_as_pictures(tmp_path: Path) -> None:
    assert all(machine.entity in reel("machines", cwd=tmp_path).stdout for machine in MACHINES.values())
    documents = json.loads(reel("machines", "--json", cwd=tmp_path).stdout)
    assert [len(document["transitions"]) for document in documents] == [
        len(machine.transitions) for machine in MACHINES.values()
    ]
    assert reel("machines", "task", "--mermaid", cwd=tmp_path).stdout.startswith("stateDiagram-v2\n")
    assert ET.fromstring(reel("machines", "job", "--svg", cwd=tmp_path).stdout).tag.endswith("svg")  # noqa: S314


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["doctor", "-d", "mysql://x"], "sqlite:///jobs.db or postgresql://"),
        (["doctor", "-d", "sqlite:///nowhere/jobs.db"], "there is no folder"),
        (["doctor", "-d", "sqlite:///missing.db"], "reel migrate"),
        (["migrate", "-d", "postgresql://u:secret@127.0.0.1:1/x"], "check REEL_DATABASE_URL"),
        (["machines", "--svg"], "name job, task or worker"),
        (["machines", "planet"], "planet"),
    ],
)
def test_a_mistake_is_told_with_what_to_do_and_no_traceback(tmp_path: Path, arguments: list[str], words: str) -> None:
    answer = reel(*arguments, cwd=tmp_path)
    assert answer.returncode != 0
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr
    assert "secret" not in answer.stderr + answer.stdout
