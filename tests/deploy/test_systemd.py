"""The units are accepted by systemd, confine what they start, and let it drain."""

import asyncio
import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import reelstate as rs
from reelstate.media.ffmpeg.build import find_ffmpeg
from reelstate.media.sandbox import confine
from reelstate.media.sandbox.limits import ProcessLimits, limits_prefix, resource_limits
from reelstate.media.sandbox.sandbox import landlock_prefix
from tests.deploy.files import DEPLOY, UNITS, check_command, read_unit, seconds, unit_values

ANALYZE = shutil.which("systemd-analyze")
MAX_EXPOSURE = 2.0
"""systemd rates units from 0 (isolated) to 10; a daemon without any setting has 9.6."""
PROGRAM = "/opt/reelstate/bin/reel"
CONFINED = Path(__file__).parent / "confined.py"
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="THE UNITS ARE NOT CHECKED, there is no systemd-analyze")
each_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)


def installed(unit: Path, folder: Path) -> Path:
    """Copy a unit as it is installed, with a program that exists; a template gets an instance."""
    copy = folder / unit.name.replace("@", "@cpu")
    copy.write_text(unit.read_text().replace(PROGRAM, sys.executable))
    return copy


def analyze(*arguments: str | Path) -> str:
    done = subprocess.run([str(ANALYZE), *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@needs_systemd
@each_unit
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path) -> None:
    printed = analyze("verify", "--man=no", installed(unit, tmp_path))
    assert unit.stem.split("@")[0] not in printed  # a warning names the unit


@needs_systemd
@each_unit
def test_the_unit_is_isolated(unit: Path, tmp_path: Path) -> None:
    printed = analyze("security", "--offline=true", "--no-pager", installed(unit, tmp_path))
    found = re.search(r"exposure level for \S+: ([\d.]+)", printed)
    assert found is not None
    assert float(found[1]) <= MAX_EXPOSURE, printed


@each_unit
def test_the_unit_runs_a_command_of_reel(unit: Path) -> None:
    program, *words = shlex.split(unit_values(unit)["ExecStart"])
    assert program == PROGRAM
    check_command(words)


@each_unit
def test_the_unit_holds_no_secret(unit: Path) -> None:
    values = " ".join(value for name, value in read_unit(unit) if name != "EnvironmentFile")
    assert not re.search(r"://|password|secret|[A-Z]_KEY", values, re.IGNORECASE)


def test_a_stopped_unit_may_drain() -> None:
    worker = unit_values(DEPLOY / "systemd" / "reelstate-worker@.service")
    server = unit_values(DEPLOY / "systemd" / "reelstate-server.service")
    assert (worker["KillMode"], server["KillMode"]) == ("mixed", "mixed")
    assert seconds(worker["TimeoutStopSec"]) >= rs.Settings().worker_grace + 60
    assert seconds(server["TimeoutStopSec"]) >= rs.Settings().serve_grace + 60
    assert worker["OOMPolicy"] == "continue"


@pytest.mark.parametrize("unit", [unit for unit in UNITS if "migrate" not in unit.name], ids=lambda unit: unit.name)
def test_a_unit_that_fails_again_and_again_is_given_up(unit: Path) -> None:
    values = unit_values(unit)
    assert values["Restart"] == "on-failure"
    assert int(values["StartLimitBurst"]) * seconds(values["RestartSec"]) < seconds(values["StartLimitIntervalSec"])


@cache
def members(name: str) -> frozenset[str]:
    """Return the system calls of a group such as `@system-service`, or the one of this name."""
    if not name.startswith("@"):
        return frozenset({name})
    lines = [line.strip() for line in analyze("syscall-filter", name).splitlines()]
    names = [line for line in lines[1:] if line and not line.startswith("#")]
    return frozenset().union(*(members(each) for each in names))


def allowed_calls(unit: Path) -> set[str]:
    """Return what the `SystemCallFilter` lines of a unit allow, one line after the other."""
    calls: set[str] = set()
    for name, value in read_unit(unit):
        if name == "SystemCallFilter":
            named = set().union(*(members(word) for word in value.removeprefix("~").split()))
            calls = calls - named if value.startswith("~") else calls | named
    return calls | members("@default")


@needs_systemd
@pytest.mark.skipif(not confine.landlock_version(), reason="NO SANDBOX UNDER THE FILTER, the kernel has no Landlock")
def test_ffmpeg_encodes_in_its_sandbox_under_the_filter_of_the_worker(tmp_path: Path) -> None:
    worker = DEPLOY / "systemd" / "reelstate-worker@.service"
    families = [getattr(socket, name) for name in unit_values(worker)["RestrictAddressFamilies"].split()]
    wanted = json.dumps({"calls": sorted(allowed_calls(worker)), "families": families})
    ffmpeg, encoded = Path(asyncio.run(find_ffmpeg()).path), tmp_path / "a.mp4"
    done = subprocess.run(
        [
            *(sys.executable, CONFINED, wanted),
            *limits_prefix(resource_limits(ProcessLimits())),
            *landlock_prefix(ffmpeg, tmp_path),
            *(ffmpeg, "-v", "error", "-f", "lavfi", "-i", "testsrc=d=0.2", "-c:v", "libx264", encoded),
        ],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert encoded.stat().st_size > 1000
