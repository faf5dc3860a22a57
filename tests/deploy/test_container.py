"""The image is pinned and small and runs without root. No engine builds it here: its file is read, its programs run."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from reelstate.config import variables
from reelstate.telemetry.exporter import exporting
from reelstate.telemetry.metrics import Metrics
from tests.deploy.files import DEPLOY, ROOT, check_command
from tests.remote.remote_fleet import free_port

CONTAINERFILE = DEPLOY / "container" / "Containerfile"
ENTRYPOINT, HEALTHCHECK = DEPLOY / "container" / "entrypoint.sh", DEPLOY / "container" / "healthcheck.py"
PINNED = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
BUILD_TOOLS = re.compile(r"\b(gcc|g\+\+|build-essential|make|cargo|rustc|golang|npm|nodejs|uv|pip|git)\b")


@dataclass(frozen=True)
class Instruction:
    name: str
    text: str


def stages() -> list[list[Instruction]]:
    """Return the instructions of each stage."""
    text = re.sub(r"^\s*#.*\n", "", CONTAINERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    found: list[list[Instruction]] = []
    for name, rest in lines:
        if name == "FROM":
            found.append([])
        found[-1].append(Instruction(name, rest.strip()))
    return found


def last(name: str) -> list[str]:
    """Return the texts of one instruction in the last stage."""
    return [each.text for each in stages()[-1] if each.name == name]


def test_every_base_image_is_pinned_by_its_digest() -> None:
    bases = [stage[0].text.split()[0] for stage in stages()]
    assert len(bases) == 2
    assert [base for base in bases if not PINNED.fullmatch(base)] == []


def test_the_image_runs_as_a_numeric_user_that_is_not_root() -> None:
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", last("USER")[-1])


def test_nothing_is_added_from_an_address_and_no_secret_is_kept() -> None:
    everything = [each for stage in stages() for each in stage]
    assert [each for each in everything if each.name == "ADD"] == []
    assert [each for each in everything if each.name in {"RUN", "COPY"} and "://" in each.text] == []
    kept = [each.text for each in everything if each.name in {"ARG", "ENV"}]
    assert not re.search(r"PASSWORD|SECRET|TOKEN|_KEY\b|PEPPER", " ".join(kept), re.IGNORECASE)


def test_the_last_stage_has_no_build_tools() -> None:
    assert not BUILD_TOOLS.search(" ".join(last("RUN")))
    assert [text for text in last("COPY") if "/source" in text] == []


def test_what_the_image_runs_are_commands_of_reel_and_settings_that_exist() -> None:
    program, *words = json.loads(last("CMD")[-1])
    assert program == "reel"
    check_command(words)
    assert json.loads(last("ENTRYPOINT")[-1]) == ["tini", "--", ENTRYPOINT.name]
    assert json.loads(last("HEALTHCHECK")[-1].partition("CMD ")[2]) == [HEALTHCHECK.name]
    named = set(re.findall(r"\bREEL_[A-Z_]+", " ".join(last("ENV"))))
    assert named - set(variables()) == set()


def test_a_checkout_sends_only_sources_to_the_build() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert lines[0] == "*"
    wanted = {line[1:] for line in lines if line[0] == "!"}
    copied = {word for stage in stages() for each in stage if each.name == "COPY" and "--from" not in each.text
              for word in each.text.split()[:-1] if not word.startswith("--")}  # fmt: skip
    assert {name for name in copied if name not in wanted and str(Path(name).parent) not in wanted} == set()
    assert [name for name in copied if not (ROOT / name).exists()] == []


HADOLINT = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")


@pytest.mark.skipif(HADOLINT is None, reason="THE CONTAINERFILE IS NOT LINTED, there is no hadolint")
def test_hadolint_accepts_the_file() -> None:
    done = subprocess.run([str(HADOLINT), CONTAINERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def run_entrypoint(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", **variables}
    return subprocess.run(
        ["/bin/sh", ENTRYPOINT, *command], env=environment, capture_output=True, text=True, check=False
    )


def test_a_secret_comes_from_its_file_and_the_command_takes_the_place_of_the_shell(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://reel:a b'$(id)\"@db/reel\n")
    done = run_entrypoint("env", REEL_DATABASE_URL_FILE=str(tmp_path / "url"), REEL_SERVER_KEY_FILE="/run/key")
    lines = set(done.stdout.splitlines())
    assert {"REEL_DATABASE_URL=postgresql://reel:a b'$(id)\"@db/reel", "REEL_SERVER_KEY_FILE=/run/key"} <= lines
    assert not any(line.startswith("REEL_DATABASE_URL_FILE") for line in lines)
    assert run_entrypoint("sh", "-c", "exit 7").returncode == 7


def test_a_secret_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    done = run_entrypoint("echo", "started", REEL_KEY_PEPPER_FILE=str(tmp_path / "missing"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "REEL_KEY_PEPPER_FILE" in done.stderr


def run_healthcheck(port: int) -> int:
    closed = free_port()
    environment = {"REEL_SERVE_PORT": str(closed), "REEL_METRICS_PORT": str(port)}
    return subprocess.run([sys.executable, HEALTHCHECK], env=environment, capture_output=True, check=False).returncode


def test_the_health_check_asks_the_process() -> None:
    port = free_port()
    assert run_healthcheck(port) == 1
    with exporting(Metrics(), "127.0.0.1", port):
        assert run_healthcheck(port) == 0
