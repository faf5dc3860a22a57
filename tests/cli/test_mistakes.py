"""Errors have a message with a hint, an exit code and no traceback."""

import errno
import getpass
import os
from pathlib import Path

import pytest

from reelstate.cli.errors import from_os_error
from tests.cli import sample_jobs
from tests.cli.conftest import Reel, database_only

USAGE, FAILED = 2, 1


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["job", "abc"], USAGE, "'abc' is not a job id (expected a whole number, see `reel jobs`)"),
        (["cancel", "1", "-x"], USAGE, "No such option"),
        (["watch", "1.5"], USAGE, "'1.5' is not a job id"),
        (["retry", "9" * 20], USAGE, "is not a job id"),
        (["job", "77"], FAILED, "there is no job 77 hint: `reel jobs` lists"),
        (["history", "77"], FAILED, "there is no job 77"),
        (["logs", "77"], FAILED, "there is no job 77"),
        (["steps", "77"], FAILED, "there is no job 77"),
        (["watch", "77"], FAILED, "there is no job 77"),
        (["watch", "77", "--json"], FAILED, "there is no job 77"),
        (["cancel", "77"], FAILED, "job 77: refused: there is no job 77"),
        (["submit", "simpel"], FAILED, "unknown pipeline 'simpel' hint: declared: fan, parts, simple"),
        (["submit", "simple", "--spec", "{a:1}"], USAGE, "invalid JSON: Expecting property name"),
        (["submit", "simple", "--spec", "@nowhere.json"], USAGE, "nowhere.json can't be read: No such file"),
        (["submit", "simple", "--priority", "11"], USAGE, "'11' is not a priority: expected 0 to 10"),
        (["submit", "simple", "--priority", "soon"], USAGE, "'soon' is not a priority"),
        (["submit", "simple", "--delay", "-1"], USAGE, "--delay"),
        (["submit", "parts", "--spec", '{"parts": "x"}'], FAILED, "spec.parts"),
        (["jobs", "--status", "bad"], USAGE, "'bad' is not one of 'pending'"),
        (["jobs", "--after", "x"], FAILED, "'x' is not a cursor hint: use the one"),
        (["jobs", "--limit", "0"], USAGE, "--limit"),
        (["quarantine", "77"], USAGE, "Missing option '--reason'"),
        (["force", "77", "completed"], USAGE, "Missing option '--reason'"),
        (["force", "77", "running", "--reason", "x"], USAGE, "'running' is not one of 'pending'"),
        (["force", "77", "failed", "--reason", " "], FAILED, "force needs a reason (the history"),
        (["retry", "77", "--parts", "3"], USAGE, "needs --from STAGE"),
        (
            ["retry", "77", "--from", "part", "--parts", "9-3"],
            USAGE,
            "invalid parts '9-3' (expected for example 3-9,12",
        ),
        (["retry", "77", "--from", "part", "--parts", "a"], USAGE, "invalid parts 'a' (expected for example 3-9,12"),
        (["workers", "drain", "enc"], FAILED, "there is no worker 'enc' hint: no worker registered"),
        (["jobs", "-d", "mysql://x"], FAILED, "hint: expected sqlite:///jobs.db or postgresql://"),
        (["machines", "--svg"], USAGE, "expected one machine: job, task or worker"),
    ],
)
def test_an_invalid_command_is_reported_with_a_hint(reel: Reel, arguments: list[str], code: int, message: str) -> None:
    reel.engine(sample_jobs.waiting)
    result = reel(*arguments)
    assert (result.code, result.stdout) == (code, "")
    assert message in result.text
    assert "Traceback" not in result.stderr


@database_only
@pytest.mark.parametrize("columns", ["30", "80"])
def test_an_error_stays_on_its_line(reel: Reel, columns: str) -> None:
    result = reel("jobs", COLUMNS=columns)
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["error", "hint"]


@database_only
@pytest.mark.parametrize(
    "arguments",
    [
        ["jobs"],
        ["job", "7"],
        ["watch"],
        ["watch", "7"],
        ["logs", "7"],
        ["steps", "7"],
        ["history", "7"],
        ["workers"],
        ["retry", "7"],
        ["submit", "simple"],
        ["doctor"],
    ],
)
def test_a_missing_database_is_not_created(reel: Reel, arguments: list[str]) -> None:
    result = reel(*arguments)
    assert result.code == FAILED
    assert f"there is no database at {reel.folder / 'reelstate.db'}" in result.stderr
    assert "create one with `reel up` or `reel migrate`" in result.stderr
    assert list(reel.folder.iterdir()) == []


@database_only
def test_an_unreachable_server_is_reported_once_and_soon(reel: Reel, refusing_port: int) -> None:
    result = reel("jobs", "-d", f"postgresql://u:secret@127.0.0.1:{refusing_port}/x", REEL_DATABASE_TIMEOUT="0.2")
    assert result.code == FAILED
    assert result.stderr.startswith(f"error: can't connect to postgresql://u@127.0.0.1:{refusing_port}/x")
    assert "hint:  check REEL_DATABASE_URL" in result.stderr
    assert "secret" not in result.text
    assert "retry_seconds=" not in result.stderr


@database_only
@pytest.mark.parametrize(
    "arguments, message",
    [
        (["submit", "transcode", "x" * 300], f"/{'x' * 300}: File name too long hint: check the path"),
        (["demo", "--folder", "taken"], "taken: File exists hint: check the path"),
        (["jobs", "-d", f"sqlite:///{'x' * 300}"], f"{'x' * 300}: File name too long"),
        (["jobs", "-d", "sqlite:///taken"], "/taken is not a SQLite database hint: name another with --database"),
    ],
)
def test_a_system_error_is_reported_with_its_path(reel: Reel, arguments: list[str], message: str) -> None:
    (reel.folder / "taken").write_text("not a database, and no folder\n")
    result = reel(*arguments)
    assert (result.code, result.stdout) == (FAILED, "")
    assert message in result.text
    assert len(result.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    "number, file, message",
    [
        (
            errno.EACCES,
            "/videos",
            "/videos: Permission denied (give this user permission to read and write there, or choose another path)",
        ),
        (errno.ENOSPC, None, "No space left on device (free space on that disk)"),
        (errno.EROFS, "/videos", "/videos: Read-only file system (the disk is read-only: choose another path)"),
        (errno.EBADF, None, "None"),
    ],
)
def test_a_system_error_has_a_hint(number: int, file: str | None, message: str) -> None:
    assert str(from_os_error(OSError(number, os.strerror(number), file))) == message


@pytest.mark.parametrize("command", [["jobs"], ["config"], ["migrate"], ["submit", "simple"]])
def test_an_invalid_setting_is_reported_with_its_variable(reel: Reel, command: list[str]) -> None:
    result = reel(*command, REEL_HEARTBEAT="often")
    assert result.code == FAILED
    assert (
        result.stderr
        == "error: invalid value 'often' for REEL_HEARTBEAT (expected a number)\nhint:  the default is 10.0\n"
    )


def test_each_job_has_a_verdict(reel: Reel) -> None:
    done, broken = reel.engine(sample_jobs.completed), reel.engine(sample_jobs.failed_part)
    result = reel("retry", 77, broken, done, broken)
    assert result.code == FAILED
    assert result.stdout == f"job {broken}: retried\njob {broken}: already done\n"
    assert f"job {done}: refused: operator:{getpass.getuser()} may not change completed to pending" in result.stderr
    assert "a completed job can't change; submit a new one" in result.stderr


def test_verdicts_are_json_also_if_one_is_refused(reel: Reel) -> None:
    done, broken = reel.engine(sample_jobs.completed), reel.engine(sample_jobs.failed_part)
    result = reel("cancel", done, broken, 77, "--json")
    assert result.code == FAILED
    assert [(verdict["id"], verdict["verdict"]) for verdict in result.json] == [
        (done, "refused"),
        (broken, "ok"),
        (77, "unknown"),
    ]
    assert result.json[0]["hint"] == "a completed job can't change; submit a new one"
    assert result.json[1]["error"] is None


def write(folder: Path, text: str) -> None:
    (folder / "clips.py").write_text(text)


@database_only
@pytest.mark.parametrize(
    "app, code, message",
    [
        ("nowhere:clips", "", "there is no module 'nowhere'"),
        ("clips.deep:clips", "", "there is no module 'clips.deep'"),
        ("no good:clips", "", "'no good' is not a module"),
        ("clips:other", 'import reelstate as rs\nclips = rs.Pipeline("clips")', "'other' not found in"),
        ("clips:other", 'import reelstate as rs\nclips = rs.Pipeline("clips")', "hint: pipelines there: clips"),
        ("clips:clips", "clips = 3", "clips:clips is not a pipeline or a list of pipelines"),
        ("clips:clips", "clips = []", "is not a pipeline"),
        ("clips", "clips = 3", "clips is not a pipeline"),
        ("clips:clips", "\n\nimport nothing_like_it", "clips.py, line 3: ModuleNotFoundError: No module named"),
        ("clips:clips", "def f():\n    return 1 / 0\nf()", "clips.py, line 2: ZeroDivisionError"),
        ("clips:clips", "import sys\nsys.exit(3)", "clips.py, line 2: SystemExit: 3"),
        ("clips:clips", "a = (", "clips.py, line 1: SyntaxError"),
        (
            "clips:clips",
            'import reelstate as rs\nclips = rs.Pipeline("Bad Name")',
            "clips.py, line 2: name: invalid name 'Bad Name'",
        ),
    ],
)
def test_an_error_in_user_code_is_reported_with_its_line(reel: Reel, app: str, code: str, message: str) -> None:
    reel("migrate")
    write(reel.folder, code)
    result = reel("submit", "clips", "--app", app)
    assert (result.code, result.stdout) == (FAILED, "")
    assert message in result.text
    assert "hint:" in result.text
    assert "Traceback" not in result.stderr


@database_only
def test_a_database_that_cannot_be_created_is_named(reel: Reel) -> None:
    (reel.folder / "jobs.db").symlink_to("/proc/jobs.db")
    result = reel("migrate", "--database", f"sqlite:///{reel.folder / 'jobs.db'}")
    assert result.code == 1
    assert "can't open " in result.text
    assert "hint:" in result.text
