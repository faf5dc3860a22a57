"""The command `reel`: help, completion, and commands without a job."""

import json
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from subprocess import PIPE

import pytest
from typer.main import get_command

from reelstate import __version__
from reelstate.cli import main
from reelstate.cli.commands import SECTIONS
from reelstate.core.machine import MACHINES
from tests.cli import sample_jobs
from tests.cli.conftest import Reel, both_ways
from tests.manual_sql import ManualSql

REEL = Path(sys.executable).with_name("reel")
COMMANDS = (
    *("login", "logout", "profiles", "profiles list", "profiles use"),
    *("cancel", "config", "demo", "doctor", "force", "history", "ingest", "job", "jobs", "logs"),
    *("machines", "migrate", "quarantine", "reprioritise", "retry", "states", "steps", "submit", "up", "videos"),
    *("watch", "worker"),
    *("keys", "serve", "workers"),
    *("videos list", "videos show", "videos retranscode", "videos rollback", "videos unpin", "videos delete"),
    *("videos play", "workers register", "workers revoke"),
    *("keys list", "keys create", "keys rotate", "keys revoke", "keys path"),
    *("pipelines", "pipelines list", "pipelines use"),
    *("archive", "archive list", "archive read", "archive drop", "purge"),
    *("webhooks", "webhooks list", "webhooks add", "webhooks update", "webhooks remove", "webhooks rotate"),
    *("webhooks deliveries", "webhooks redeliver"),
    *("pause", "paused", "resume", "why", "groups", "group"),
    *("limits", "limits list", "limits show", "limits set", "limits remove"),
    *("schedules", "schedules list", "schedules show", "schedules create", "schedules update", "schedules pause"),
    *("schedules resume", "schedules trigger", "schedules backfill", "schedules delete"),
    *("workers list", "workers drain", "workers enable", "workers disable"),
)


def test_version_is_printed(reel: Reel) -> None:
    assert reel("--version").stdout == f"reel {__version__}\n"


def test_every_command_is_tested_here(reel: Reel) -> None:
    found = get_command(main.reel).commands  # type: ignore[attr-defined]  # it is a group
    assert sorted(found) == sorted(name for name in COMMANDS if " " not in name)
    assert all(name in reel("--help").stdout for name in found)


def test_the_help_has_a_line_for_every_command(reel: Reel) -> None:
    lines = reel("--help", COLUMNS="80").stdout.splitlines()
    for section in SECTIONS.values():
        for name, summary in section.items():
            assert any(line.split(maxsplit=1) == [name, summary] for line in lines), name


def test_without_a_command_the_help_is_shown(reel: Reel) -> None:
    result = reel()
    assert (result.code, result.stdout) == (2, reel("--help").stdout)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_help_shows_no_python_types(reel: Reel, command: str) -> None:
    text = reel(*command.split(), "--help", COLUMNS="200").stdout
    assert re.findall(r"<(?:bool|float|int|list|path|str)\b", text) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_an_example(reel: Reel, command: str) -> None:
    result = reel(*command.split(), "--help")
    assert result.code == 0
    assert f"reel {command}" in result.text.partition("Example: ")[2]


@pytest.mark.parametrize(
    "line, completed",
    [("reel qu", ["quarantine"]), ("reel workers dr", ["drain"]), ("reel jobs --status fa", ["failed"])],
)
def test_the_shell_completes(reel: Reel, line: str, completed: list[str]) -> None:
    count = str(len(line.split()) - 1)
    result = reel(_REEL_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=count)
    assert result.stdout.split() == completed


def test_the_demo_kills_a_worker_checks_every_frame_and_shows_how_to_play(
    reel: Reel, caplog: pytest.LogCaptureFixture
) -> None:
    folder = reel.folder / "demo"
    result = reel("demo", "--folder", folder, "--seconds", 24, "--size", "640x480")
    assert result.code == 0, result.stderr
    assert re.search("kill -9 worker 'worker-2' in the middle of chunk [0-5]", result.stdout)
    assert "keeper: worker died" in result.text
    assert "480p, 240p: each decodes to all 720 frames of the source" in result.text
    assert "every invariant holds" in result.stdout
    (stream,) = re.findall(rf"play .* ({re.escape(str(folder))}\S+)", result.stdout)
    master = Path(stream).read_text()
    assert "/live/" not in master
    assert [re.findall(r"RESOLUTION=(\S+?),", line) for line in master.splitlines() if "STREAM-INF:B" in line][:2] == [
        ["640x480"],
        ["320x240"],
    ]
    assert (result.stderr, (folder / "scratch").exists()) == ("", False)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("reelstate")] == []
    environment = dict(re.findall(r"export (\w+)=(\S+)", result.stdout))
    assert environment == {
        "REEL_DATABASE_URL": f"sqlite:///{folder / 'demo.db'}",
        "REEL_STORAGE_URL": str(folder / "media"),
    }
    address = folder / "dashboard.signin"
    assert f"watch it in a browser: the address is in {address}" in result.stdout
    assert (address.stat().st_mode & 0o777, "/signin?code=" in address.read_text()) == (0o600, True)
    assert "signin?code" not in result.stdout
    (show,) = re.findall(r"videos show \d+", result.stdout)
    assert f"plays: {stream}" in reel(*show.split(), **environment).text


def test_a_demo_without_an_encoder_fails(reel: Reel, tmp_path: Path) -> None:
    ffmpeg = tmp_path / "ffmpeg"
    ffmpeg.write_text(
        '#!/bin/sh\ncase "$*" in *-version*) echo "ffmpeg version 9.0";; *-i*) echo no x264 >&2; exit 1;; esac\n'
    )
    ffmpeg.chmod(0o755)
    result = reel("demo", "--folder", reel.folder / "demo", REEL_FFMPEG=str(ffmpeg))
    assert result.code == 1
    assert f"error: {ffmpeg} failed: no x264" in result.stderr


@pytest.mark.parametrize("address", ["jobs.db", "./jobs.db", "{folder}/jobs.db"])
def test_a_path_is_a_database_url(reel: Reel, address: str) -> None:
    url = address.format(folder=reel.folder)
    assert reel("migrate", "--database", url).code == 0
    assert (reel.folder / "jobs.db").is_file()
    assert reel("jobs", "--database", url).code == 0
    assert reel("jobs", REEL_DATABASE_URL=url).code == 0
    assert reel("jobs", "--database", "sqlite:///jobs.db").code == 0
    assert "there is no database at" in reel("jobs", "-d", "other.db").stderr


def test_migrate_can_be_run_again(reel: Reel) -> None:
    first = reel("migrate", "--database", "sqlite:///jobs.db")
    again = reel("migrate", "--database", "sqlite:///jobs.db")
    assert first.stdout.startswith("applied: 0001_initial")
    assert first.stdout.endswith(", guards\n")
    assert again.stdout == "the schema is up to date\n"
    assert reel("migrate", "--database", "sqlite:///jobs.db", "--json").json == {"applied": []}


def test_doctor_finds_and_repairs_and_sets_its_exit_code(reel: Reel) -> None:
    reel("migrate")
    assert reel("doctor").code == 0
    ManualSql(reel.url).run("DROP TRIGGER guard_jobs_change")
    broken = reel("doctor", "--json")
    assert broken.code == 1
    assert [finding["detail"] for finding in broken.json["findings"]] == ["guard_jobs_change"]
    repaired = reel("doctor", "--repair")
    assert repaired.code == 0
    assert "guard_jobs_change" in repaired.stdout
    assert reel("doctor").stdout.endswith("\nhealthy: every invariant holds\n")


def test_machines_are_printed_as_table_json_mermaid_and_svg(reel: Reel) -> None:
    assert all(machine.entity in reel("machines").stdout for machine in MACHINES.values())
    documents = reel("machines", "--json").json
    assert [len(document["transitions"]) for document in documents] == [
        len(machine.transitions) for machine in MACHINES.values()
    ]
    assert reel("machines", "task", "--mermaid").stdout.startswith("stateDiagram-v2\n")
    assert ET.fromstring(reel("machines", "job", "--svg").stdout).tag.endswith("svg")  # noqa: S314


def test_config_lists_every_setting_with_its_source(reel: Reel) -> None:
    given = {"REEL_DATABASE_URL": "postgresql://u:sesame@host/x?password=hush", "REEL_HEARTBEAT": "5"}
    listed = {setting["name"]: setting for setting in reel("config", "--json", **given).json}
    assert listed["heartbeat"] == {
        "name": "heartbeat",
        "variable": "REEL_HEARTBEAT",
        "value": 5.0,
        "default": 10.0,
        "source": "environment",
        "meaning": "How often a worker renews its leases.",
    }
    assert listed["poll"]["source"] == "default"
    assert listed["database_url"]["value"] == "postgresql://u:***@host/x?password=***"
    page = reel("config", **given, COLUMNS="80").text
    assert "REEL_HEARTBEAT 5.0" in page
    assert "(default: 10.0)" in page
    assert "sesame" not in page


def test_config_warns_of_unknown_variables(reel: Reel) -> None:
    result = reel("config", "--json", REEL_HEARTBEET="5")
    assert result.json
    assert result.stderr == "REEL_HEARTBEET is not a setting; did you mean REEL_HEARTBEAT?\n"


def test_an_unknown_variable_suggests_a_setting_that_ends_with_it(reel: Reel) -> None:
    assert reel("config", "--json", REEL_NAME="5").stderr.endswith("; did you mean REEL_WORKER_NAME?\n")
    assert reel("config", "--json", REEL_PORT="5").stderr.endswith(
        "; did you mean REEL_SERVE_PORT or REEL_METRICS_PORT?\n"
    )


@pytest.mark.parametrize("arguments", [["up", "--app", "nowhere"], ["worker", "--app", "nowhere"]])
def test_long_running_commands_warn_of_unknown_variables(
    reel: Reel, caplog: pytest.LogCaptureFixture, arguments: list[str]
) -> None:
    assert reel(*arguments, REEL_POL="5").code == 1
    assert caplog.messages == ["REEL_POL is not a setting; did you mean REEL_POLL?"]
    caplog.clear()
    assert reel(*arguments, REEL_POL="5", REEL_SUPERVISED="1").code == 1
    assert caplog.messages == [], "a supervised worker leaves it to the server"


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Send ctrl-C to a command, and return its exit code and standard error."""
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, errors


def watching(reel: Reel, *arguments: str) -> subprocess.Popen[str]:
    """Start `reel watch` on the database or over the server."""
    command = [str(REEL), "watch", *arguments, *([] if reel.server else ["-d", reel.url])]
    return subprocess.Popen(command, env={**os.environ, **reel.server}, stdout=PIPE, stderr=PIPE, text=True)


@both_ways
def test_ctrl_c_stops_watching_a_job_without_an_error(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.running)
    with watching(reel, str(job_id)) as process:
        assert process.stdout is not None
        assert f"job {job_id}  processing  50 %  part 0/2" in process.stdout.readline()
        assert interrupt(process) == (130, "")


@both_ways
def test_watch_without_a_job_shows_new_events_until_ctrl_c(reel: Reel) -> None:
    old = reel.engine(sample_jobs.waiting)
    with (
        ThreadPoolExecutor() as pool,
        watching(reel, "--json") as process,
    ):
        assert process.stdout is not None
        line = pool.submit(process.stdout.readline)
        made = []
        while not line.done():
            made.append(reel.engine(sample_jobs.waiting))
            wait([line], timeout=0.5)
        event = json.loads(line.result())
        assert (event["entity"], event["to"]) == ("job", "pending")
        assert event["id"] in made
        assert event["id"] != old
        assert interrupt(process) == (130, "")
