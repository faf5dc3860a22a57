"""`reel login`, `reel profiles` and `reel logout`, and which server a command uses."""

import json
import os
import pty
import stat
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from reelstate.cli.profile_file import profile_path
from reelstate.cli.servers import LOCAL
from reelstate.client.transport import ServerAddress
from reelstate.core.errors import InvalidRequest
from tests.cli import sample_jobs
from tests.cli.conftest import Reel
from tests.cli.module_server import ModuleServer
from tests.waiting import until_true

WRONG_KEY = "reel_0123456789ab_" + "0" * 72


@pytest.fixture
def server(reel: Reel, module_server: ModuleServer, migrated_file: Path) -> Iterator[str]:
    """Serve another database; yields its key. Commands are not given it."""
    folder = reel.folder / "served"
    folder.mkdir()
    path = folder / "reelstate.db"
    path.write_bytes(migrated_file.read_bytes())
    with module_server.serving(f"sqlite:///{path}") as key:
        yield key


def test_a_key_is_checked_stored_privately_and_used(reel: Reel, module_server: ModuleServer, server: str) -> None:
    url = module_server.url
    done = reel("login", f"{url}/", "--profile", "prod", stdin=f"{server}\n")
    assert (done.code, done.stderr) == (0, "")
    assert done.text.startswith(f"logged in to {url} as ")
    path = profile_path()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]
    assert list(path.parent.iterdir()) == [path]
    job_id = reel("submit", "simple", "--json").json["id"]
    assert [job["id"] for job in reel("jobs", "--json").json] == [job_id]
    assert not (reel.folder / "reelstate.db").exists()
    listed = reel("profiles", "--json")
    assert listed.json == [{"name": "prod", "server": url, "key_id": server.split("_")[1], "default": True}]
    assert "prod" in reel("profiles").text
    left = reel("logout")
    assert left.text == f"profile prod: forgot the key {server.split('_')[1]} for {url}"
    assert "no profiles" in reel("profiles").text
    assert "there is no database" in reel("jobs").text
    for shown in (done, listed, left):
        assert server not in shown.stdout + shown.stderr


def test_a_key_that_the_server_refuses_is_not_stored(reel: Reel, module_server: ModuleServer, server: str) -> None:
    refused = reel("login", module_server.url, REEL_KEY=WRONG_KEY)
    assert (refused.code, refused.stdout) == (1, "")
    assert f"error: {module_server.url}: " in refused.stderr
    assert WRONG_KEY not in refused.stderr
    empty = reel("login", module_server.url)
    assert "standard input is empty hint: pipe the key in, or set REEL_KEY" in empty.text
    assert not profile_path().exists()


def test_profiles_have_names_and_one_is_the_default(reel: Reel, module_server: ModuleServer, server: str) -> None:
    for name in ("one", "two"):
        assert reel("login", module_server.url, "--profile", name, REEL_KEY=server).code == 0
    assert [each["default"] for each in reel("profiles", "--json").json] == [False, True]
    assert reel("profiles", "use", "one").code == 0
    assert [each["default"] for each in reel("profiles", "list", "--json").json] == [True, False]
    assert reel("jobs", "--server", "two").code == 0
    assert reel("jobs", REEL_SERVER="two").code == 0
    reel("logout", "--profile", "one")
    assert "there is no default profile" in reel("logout").text
    assert "there is no database" in reel("jobs").text
    missing = reel("jobs", "--server", "three")
    assert "there is no profile 'three' hint: profiles: two; or an address" in missing.text
    assert "invalid name" in reel("login", module_server.url, "--profile", "../x", REEL_KEY=server).text


def test_an_option_wins_over_the_environment_and_that_over_the_profile(
    reel: Reel, module_server: ModuleServer, server: str, refusing_port: int
) -> None:
    reel.engine(sample_jobs.waiting)
    wrong = {"REEL_SERVER": f"http://127.0.0.1:{refusing_port}", "REEL_KEY": server}

    def found(*arguments: object, **environment: str) -> int:
        result = reel("jobs", "--json", *arguments, **environment)
        return len(result.json) if result.code == 0 else -1

    assert reel("login", module_server.url, REEL_KEY=server).code == 0
    on_server, on_database, unreachable = 0, 1, -1
    assert found() == on_server
    assert found("-d", reel.url) == on_database
    assert found(REEL_DATABASE_URL=reel.url) == on_database
    assert found(**wrong) == unreachable
    assert found("--server", module_server.url, **wrong) == on_server
    assert found("--server", module_server.url, REEL_DATABASE_URL=reel.url) == on_server
    assert found("-d", reel.url, **wrong) == on_database
    both = reel("jobs", REEL_DATABASE_URL=reel.url, **wrong)
    assert "for REEL_SERVER (expected nothing beside REEL_DATABASE_URL)" in both.text
    either = reel("jobs", "--server", module_server.url, "-d", reel.url)
    assert (either.code, "expected either --server or --database" in either.text) == (2, True)
    after = reel("keys", "--server", module_server.url, "list")
    assert (after.code, "expected after the subcommand" in after.text) == (2, True)


def test_a_key_is_sent_to_its_server_only(reel: Reel, module_server: ModuleServer, server: str) -> None:
    other = "https://other.example"
    reel("login", module_server.url, REEL_KEY=server)
    for environment in ({}, {"REEL_SERVER": module_server.url, "REEL_KEY": server}):
        refused = reel("jobs", "--server", other, **environment)
        assert f"there is no key for {other} hint: `reel login {other}` stores one" in refused.text


def test_a_key_is_not_sent_unencrypted_to_another_machine(reel: Reel) -> None:
    url = "http://reel.example"
    for refused in (reel("login", url, REEL_KEY=WRONG_KEY), reel("jobs", REEL_SERVER=url, REEL_KEY=WRONG_KEY)):
        assert (refused.code, refused.stdout) == (1, "")
        assert "http://reel.example would send the key unencrypted" in refused.stderr
        assert "hint:  use https://; where the network itself is trusted, REEL_INSECURE_HTTP=allow" in refused.stderr
    assert ServerAddress(url, WRONG_KEY, insecure=True).url == url
    with pytest.raises(InvalidRequest, match="is not the URL of a server"):
        ServerAddress("ftp://reel.example", WRONG_KEY)


def test_an_error_names_the_server_that_a_profile_implied(reel: Reel, module_server: ModuleServer, server: str) -> None:
    reel("login", module_server.url, REEL_KEY=server)
    assert reel("job", 7).stderr.splitlines() == [
        "error: there is no job 7",
        "hint:  `reel jobs` lists jobs",
        f"at:    {module_server.url} (profile default)",
    ]
    assert "at:" not in reel("job", 7, "--server", "default").stderr


@pytest.mark.parametrize("command", sorted(LOCAL))
def test_what_needs_the_database_refuses_a_server(reel: Reel, command: str) -> None:
    missing = {"archive drop": ["2026-01"], "ingest": ["."], "purge": ["--user", "ada", "--yes"]}
    result = reel(*command.split(), *missing.get(command, []), "--server", "https://reel.example")
    assert (result.code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "error: this command needs the database or this machine, and does not work over https://reel.example",
        "hint:  run it on a machine of the deployment, without --server or with --database",
    ]
    assert "--server" not in reel(*command.split(), "--help").stdout


@pytest.mark.parametrize("command", [["doctor"], ["migrate"], ["purge", "--user", "ada", "--yes"], ["keys", "path"]])
def test_nor_does_it_use_another_database_silently(reel: Reel, command: list[str]) -> None:
    result = reel(*command, REEL_SERVER="https://reel.example", REEL_KEY=WRONG_KEY)
    assert result.code == 1
    assert "does not work over https://reel.example (REEL_SERVER)" in result.stderr


def test_a_file_that_others_read_or_that_is_damaged_is_refused(
    reel: Reel, module_server: ModuleServer, server: str
) -> None:
    reel("login", module_server.url, REEL_KEY=server)
    path = profile_path()
    path.chmod(0o640)
    assert f"other users may read {path} hint: chmod 600 {path}" in reel("jobs").text
    path.chmod(0o600)
    for damaged in ("{oops", "[]", json.dumps({"profiles": {"x": {"server": 7}}}), "[" * 100_000):
        path.write_text(damaged)
        result = reel("jobs")
        assert (result.code, f"{path} can't be parsed" in result.text) == (1, True)
        assert "Traceback" not in result.stderr


def test_every_command_that_takes_a_database_takes_a_server(reel: Reel) -> None:
    for command in ("jobs", "workers drain", "schedules backfill", "archive read", "submit", "videos play"):
        shown = reel(*command.split(), "--help", COLUMNS="200").stdout
        assert "--server" in shown
        assert "--database" in shown


def test_a_key_is_asked_for_without_showing_it(reel: Reel, module_server: ModuleServer, server: str) -> None:
    terminal, inner = pty.openpty()
    command = [sys.executable, "-m", "reelstate", "login", module_server.url]
    with subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, start_new_session=True) as process:
        os.close(inner)
        shown = b""
        while b"key for" not in shown:
            shown += os.read(terminal, 1000)
        until_true(lambda: not termios.tcgetattr(terminal)[3] & termios.ECHO, "input is hidden")
        assert server not in " ".join(Path(f"/proc/{process.pid}/cmdline").read_text().split("\0"))
        os.write(terminal, f"{server}\n".encode())
        while b"logged in" not in shown:
            shown += os.read(terminal, 1000)
        process.wait(300)
    os.close(terminal)
    assert server.encode() not in shown
