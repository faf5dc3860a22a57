"""The workflows are valid, run what a developer runs on all that is supported, and publish from tags only."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.files import ROOT, read_yaml

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: [\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def jobs(name: str) -> dict[str, Any]:
    found: dict[str, Any] = read_yaml(ROOT / ".github" / "workflows" / name)["jobs"]
    return found


@each_workflow
def test_the_workflow_follows_the_schema(path: Path) -> None:
    program = str(Path(sys.executable).parent / "check-jsonschema")
    for schema in ("vendor.github-workflows", "custom.github-workflows-require-timeout"):
        command = [program, "--builtin-schema", schema, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@each_workflow
def test_every_action_is_pinned_by_its_commit(path: Path) -> None:
    used = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses:" in line]
    assert used
    assert [line for line in used if not PINNED.search(line)] == []


@each_workflow
def test_a_job_may_only_read_unless_it_says_so(path: Path) -> None:
    workflow = read_yaml(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in path.read_text()
    for job in workflow["jobs"].values():
        for step in job.get("steps", []):
            assert "${{" not in step.get("run", "")  # a value from outside would be run as a command
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}


def test_every_supported_python_and_postgresql_is_tested() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        oldest = tomllib.load(file)["project"]["requires-python"].removeprefix(">=")
    pythons = jobs("ci.yml")["test"]["strategy"]["matrix"]["python"]
    postgres = jobs("ci.yml")["postgres"]["strategy"]["matrix"]["postgres"]
    assert (pythons[0], pythons) == (oldest, ["3.11", "3.12", "3.13", "3.14"])
    assert f"{postgres[0]} or newer" in (ROOT / "docs" / "operations.md").read_text()
    assert postgres == ["14", "16", "18"]


@each_workflow
def test_the_files_and_targets_that_a_step_names_exist(path: Path) -> None:
    text = path.read_text()
    assert set(re.findall(r"\bmake ([a-z]+)", text)) <= TARGETS
    assert [name for name in re.findall(r"\bdeploy/[\w./-]+\w", text) if not (ROOT / name).exists()] == []


def test_only_the_publishing_job_has_a_token_and_only_for_a_tag() -> None:
    release = read_yaml(ROOT / ".github" / "workflows" / "release.yml")
    assert release[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads `on` as true
    publish = release["jobs"].pop("publish")
    assert publish["permissions"] == {"id-token": "write"}
    assert (publish["environment"], publish["needs"]) == ("pypi", "build")
    assert "refs/tags/v" in publish["if"]
    assert [job for job in release["jobs"].values() if "permissions" in job] == []
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()
