"""Every wrong use has a message that says what to do, no traceback, and an exit code that means something."""

import errno
import os
from pathlib import Path

import pytest

from reelstate.cli.errors import from_os_error
from tests.cli import scenes
from tests.cli.conftest import Reel

WRONG_USE, FAILED = 2, 1


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["job", "abc"], WRONG_USE, "'abc' is not a job id (expected a whole number, see `reel jobs`)"),
        (["cancel", "1", "-x"], WRONG_USE, "No such option"),
        (["watch", "1.5"], WRONG_USE, "'1.5' is not a job id"),
        (["retry", "9" * 20], WRONG_USE, "is not a job id"),
        (["job", "77"], FAILED, "there is no job 77 hint: `reel jobs` lists"),
        (["history", "77"], FAILED, "there is no job 77"),
        (["logs", "77"], FAILED, "there is no job 77"),
        (["steps", "77"], FAILED, "there is no job 77"),
        (["watch", "77"], FAILED, "there is no job 77"),
        (["watch", "77", "--json"], FAILED, "there is no job 77"),
        (["cancel", "77"], FAILED, "job 77: refused: there is no job 77"),
        (["submit", "simpel"], FAILED, "unknown pipeline 'simpel' hint: declared: fan, parts, simple"),
        (["submit", "simple", "--spec", "{a:1}"], WRONG_USE, "invalid JSON: Expecting property name"),
        (["submit", "simple", "--spec", "@nowhere.json"], WRONG_USE, "nowhere.json can't be read: No such file"),
        (["submit", "simple", "--priority", "11"], WRONG_USE, "'11' is not a priority: expected 0 to 10"),
        (["submit", "simple", "--priority", "soon"], WRONG_USE, "'soon' is not a priority"),
        (["submit", "simple", "--delay", "-1"], WRONG_USE, "--delay"),
        (["submit", "parts", "--spec", '{"parts": "x"}'], FAILED, "spec.parts"),
        (["jobs", "--status", "bad"], WRONG_USE, "'bad' is not one of 'pending'"),
        (["jobs", "--after", "x"], FAILED, "'x' is not a cursor hint: use the one"),
        (["jobs", "--limit", "0"], WRONG_USE, "--limit"),
        (["quarantine", "77"], WRONG_USE, "Missing option '--reason'"),
        (["force", "77", "completed"], WRONG_USE, "Missing option '--reason'"),
        (["force", "77", "running", "--reason", "x"], WRONG_USE, "'running' is not one of 'pending'"),
        (["force", "77", "failed", "--reason", " "], FAILED, "force needs a reason (the history"),
        (["retry", "77", "--parts", "3"], WRONG_USE, "needs --from STAGE"),
        (
            ["retry", "77", "--from", "part", "--parts", "9-3"],
            WRONG_USE,
            "invalid parts '9-3' (expected for example 3-9,12",
        ),
        (["retry", "77", "--from", "part", "--parts", "a"], WRONG_USE, "'a' names no parts"),
        (["workers", "drain", "enc"], FAILED, "there is no worker 'enc' hint: no worker registered"),
        (["jobs", "-d", "mysql://x"], FAILED, "hint: sqlite:///jobs.db or postgresql://"),
        (["machines", "--svg"], WRONG_USE, "expected one machine: job, task or worker"),
    ],
)
def test_a_mistake_is_told_with_what_to_do(reel: Reel, arguments: list[str], code: int, words: str) -> None:
    reel.engine(scenes.waiting)
    answer = reel(*arguments)
    assert (answer.code, answer.stdout) == (code, "")
    assert words in answer.words
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("columns", ["30", "80"])
def test_an_error_stays_on_its_line(reel: Reel, columns: str) -> None:
    answer = reel("jobs", COLUMNS=columns)
    assert [line.split(":")[0] for line in answer.stderr.splitlines()] == ["error", "hint"]


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
def test_a_database_that_is_not_there_is_not_made(reel: Reel, arguments: list[str]) -> None:
    answer = reel(*arguments)
    assert answer.code == FAILED
    assert f"there is no database at {reel.folder / 'reelstate.db'}" in answer.stderr
    assert "create one with `reel up` or `reel migrate`" in answer.stderr
    assert list(reel.folder.iterdir()) == []


def test_a_server_that_is_away_is_told_once_and_soon(reel: Reel, refusing_port: int) -> None:
    answer = reel("jobs", "-d", f"postgresql://u:secret@127.0.0.1:{refusing_port}/x", REEL_DATABASE_TIMEOUT="0.2")
    assert answer.code == FAILED
    assert answer.stderr.startswith(f"error: can't connect to postgresql://u@127.0.0.1:{refusing_port}/x")
    assert "hint:  check REEL_DATABASE_URL" in answer.stderr
    assert "secret" not in answer.words
    assert "retry_seconds=" not in answer.stderr


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["submit", "transcode", "x" * 300], f"/{'x' * 300}: File name too long hint: check the path"),
        (["demo", "--folder", "taken"], "taken: File exists hint: check the path"),
        (["jobs", "-d", f"sqlite:///{'x' * 300}"], f"{'x' * 300}: File name too long"),
        (["jobs", "-d", "sqlite:///taken"], "/taken is not a SQLite database hint: name another with --database"),
    ],
)
def test_what_the_system_refuses_is_told_with_its_place(reel: Reel, arguments: list[str], words: str) -> None:
    (reel.folder / "taken").write_text("not a database, and no folder\n")
    answer = reel(*arguments)
    assert (answer.code, answer.stdout) == (FAILED, "")
    assert words in answer.words
    assert len(answer.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    "number, file, words",
    [
        (
            errno.EACCES,
            "/films",
            "/films: Permission denied (give this user permission to read and write there, or choose another path)",
        ),
        (errno.ENOSPC, None, "No space left on device (free space on that disk)"),
        (errno.EROFS, "/films", "/films: Read-only file system (the disk is read-only: choose another path)"),
        (errno.EBADF, None, "None"),
    ],
)
def test_what_the_system_refuses_has_a_hint(number: int, file: str | None, words: str) -> None:
    assert str(from_os_error(OSError(number, os.strerror(number), file))) == words


@pytest.mark.parametrize("command", [["jobs"], ["config"], ["migrate"], ["submit", "simple"]])
def test_a_wrong_variable_is_told_by_its_name(reel: Reel, command: list[str]) -> None:
    answer = reel(*command, REEL_HEARTBEAT="often")
    assert answer.code == FAILED
    assert (
        answer.stderr
        == "error: invalid value 'often' for REEL_HEARTBEAT (expected a number)\nhint:  the default is 10.0\n"
    )


def test_verdicts_come_for_each_job(reel: Reel) -> None:
    done, broken = reel.engine(scenes.completed), reel.engine(scenes.broken)
    answer = reel("retry", 77, broken, done, broken)
    assert answer.code == FAILED
    assert answer.stdout == f"job {broken}: retried\njob {broken}: already done\n"
    assert f"job {done}: refused: completed → pending" in answer.stderr
    assert "a completed job can't change; submit a new one" in answer.stderr


def test_verdicts_are_json_too_when_one_is_refused(reel: Reel) -> None:
    done, broken = reel.engine(scenes.completed), reel.engine(scenes.broken)
    answer = reel("cancel", done, broken, 77, "--json")
    assert answer.code == FAILED
    assert [(verdict["id"], verdict["verdict"]) for verdict in answer.json] == [
        (done, "refused"),
        (broken, "ok"),
        (77, "unknown"),
    ]
    assert answer.json[0]["hint"] == "a completed job can't change; submit a new one"
    assert answer.json[1]["error"] is None


def write(folder: Path, text: str) -> None:
    (folder / "film.py").write_text(text)


@pytest.mark.parametrize(
    "app, text, words",
    [
        ("nowhere:film", "", "there is no module 'nowhere'"),
        ("film.deep:film", "", "there is no module 'film.deep'"),
        ("no good:film", "", "'no good' is not a module"),
        ("film:other", 'import reelstate as rs\nfilm = rs.Pipeline("film")', "'other' not found in"),
        ("film:other", 'import reelstate as rs\nfilm = rs.Pipeline("film")', "hint: pipelines there: film"),
        ("film:film", "film = 3", "film:film is not a pipeline or a list of pipelines"),
        ("film:film", "film = []", "is not a pipeline"),
        ("film", "film = 3", "film is not a pipeline"),
        ("film:film", "\n\nimport nothing_like_it", "film.py, line 3: ModuleNotFoundError: No module named"),
        ("film:film", "def f():\n    return 1 / 0\nf()", "film.py, line 2: ZeroDivisionError"),
        ("film:film", "import sys\nsys.exit(3)", "film.py, line 2: SystemExit: 3"),
        ("film:film", "a = (", "film.py, line 1: SyntaxError"),
        ("film:film", 'import reelstate as rs\nfilm = rs.Pipeline("Bad Name")', "film.py, line 2: name: 'Bad Name'"),
    ],
)
def test_a_mistake_in_the_users_code_is_told_with_its_place(reel: Reel, app: str, text: str, words: str) -> None:
    reel("migrate")
    write(reel.folder, text)
    answer = reel("submit", "film", "--app", app)
    assert (answer.code, answer.stdout) == (FAILED, "")
    assert words in answer.words
    assert "hint:" in answer.words
    assert "Traceback" not in answer.stderr


def test_a_database_that_can_not_be_made_is_named(reel: Reel) -> None:
    (reel.folder / "jobs.db").symlink_to("/proc/jobs.db")
    ended = reel("migrate", "--database", f"sqlite:///{reel.folder / 'jobs.db'}")
    assert ended.code == 1
    assert "can't open " in ended.words
    assert "hint:" in ended.words
