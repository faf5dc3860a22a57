"""`reel serve` and `reel up` as processes: their first key, their address, how they stop."""

import asyncio
import os
import pty
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import httpx
import pytest

from reelstate.api.server import listen
from reelstate.app import open_engine
from reelstate.cli.state_files import address_file, key_file
from reelstate.config import PREFIX, Settings
from reelstate.core.errors import InvalidRequest
from tests.api.api_server import PLAIN, SETTINGS
from tests.cli.conftest import Reel, reel

__all__ = ["reel"]  # a fixture of the command line's tests
TIMEOUT = 300
CERTIFICATE = Path(__file__).parents[1] / "media" / "sources" / "certificates" / "media.test.pem"


class Process:
    """A running command and its output so far."""

    def __init__(self, folder: Path, *arguments: str, **settings: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        self._process = Popen(
            [sys.executable, "-m", "reelstate", *arguments],
            cwd=folder,
            env={**environment, **settings},
            stderr=PIPE,
            text=True,
        )
        self.output = ""

    def until(self, pattern: str) -> re.Match[str]:
        """Read the output until it matches, and return the match."""
        assert self._process.stderr is not None
        while not (match := re.search(pattern, self.output)):
            line = self._process.stderr.readline()
            assert line, f"the command ended after this output:\n{self.output}"
            self.output += line
        return match

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """Kill the process, as a power failure would."""
        self._process.kill()
        self._process.wait(TIMEOUT)

    def stop(self) -> int:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        self.output += self._process.communicate(timeout=TIMEOUT)[1]
        return self._process.returncode


@contextmanager
def running(folder: Path, *arguments: str, **settings: str) -> Iterator[Process]:
    process = Process(folder, *arguments, **settings)
    try:
        yield process
    finally:
        process.stop()


def client(url: str, key: str = "") -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(base_url=url, headers=headers, verify=PLAIN, trust_env=False, timeout=TIMEOUT)


def test_the_first_start_creates_a_key_and_a_sign_in_address(tmp_path: Path, state_home: Path) -> None:
    with running(tmp_path, "serve", "--port", "0") as server:
        base = server.until(r"serving (http://127\.0\.0\.1:\d+)")[1]
        path = Path(server.until(r"it is in (\S+)")[1])
        offered = Path(server.until(r"sign in once\S* .* in (\S+)")[1])
        key, address = path.read_text().strip(), offered.read_text().strip()
        assert path.with_suffix(".url").read_text().strip() == base
        assert modes(path, offered, path.with_suffix(".url"), tmp_path / "reelstate.db") == [0o600] * 4
        assert modes(path.parent) == [0o700]
        with client(base, key) as admin:
            video = {"pipeline": "transcode", "spec": {"source": "https://example.com/a.mp4"}}
            assert admin.post("/api/v1/jobs", json=video).status_code == 201
        with client(base) as browser:
            assert browser.get(address).status_code == 303
            assert browser.get("/api/v1/workers").status_code == 200
        assert server.stop() == 0
    assert key not in server.output
    assert not offered.exists()
    with running(tmp_path, "serve", "--port", "0") as again:
        again.until("sign in once")
        assert "created an admin key" not in again.output
    assert path.read_text().strip() == key
    assert path.parent == state_home / "reelstate"


def modes(*paths: Path) -> list[int]:
    return [stat.S_IMODE(path.stat().st_mode) for path in paths]


def test_keys_and_codes_are_kept_out_of_the_working_folder_and_of_git(reel: Reel, state_home: Path) -> None:
    with running(reel.folder, "serve", "--port", "0") as server:
        server.until("sign in once")
        named = Path(reel("keys", "path").stdout.strip())
        assert named == Path(server.until(r"it is in (\S+)")[1])
        assert {path.name.partition("-")[0] for path in reel.folder.iterdir()} == {"reelstate.db"}
    status = ["git", "-C", str(state_home / "reelstate"), "status", "--porcelain", "--untracked-files=all"]
    subprocess.run(["git", "init", "-q", str(state_home / "reelstate")], check=True)
    try:
        assert subprocess.run(status, check=True, capture_output=True).stdout == b""
    finally:
        shutil.rmtree(state_home / "reelstate" / ".git")


def test_deployments_of_one_user_have_separate_keys(tmp_path: Path) -> None:
    urls = [
        f"sqlite:///{tmp_path}/a/reelstate.db",
        f"sqlite:///{tmp_path}/b/reelstate.db",
        "postgresql://reel:secret@db.example/jobs",
        "postgresql://reel:secret@db.example:5433/jobs",
        "postgresql://reel:secret@db.example/videos",
    ]
    assert len({key_file(Settings(database_url=url)) for url in urls}) == len(urls)
    assert key_file(Settings(database_url=urls[2])) == key_file(Settings(database_url=urls[2].replace("secret", "new")))
    assert "secret" not in str(key_file(Settings(database_url=urls[2])))


def test_a_sign_in_code_is_printed_to_a_terminal_and_into_no_log(tmp_path: Path) -> None:
    with running(tmp_path, "serve", "--port", "0") as logged:
        logged.until("sign in once")
    assert "code=" not in logged.output
    assert "code=" in output_on_a_terminal(tmp_path, "serve", "--port", "0")


def output_on_a_terminal(folder: Path, *arguments: str) -> str:
    """Return the output of a command on a terminal until it prints a sign-in address."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "reelstate", *arguments]
    with closing_terminal(ours), Popen(command, cwd=folder, stderr=theirs, env={**os.environ, "TERM": "dumb"}) as made:
        os.close(theirs)
        output = b""
        while b"sign in once" not in output or not output.endswith(b"\n"):
            output += os.read(ours, 4096)
        made.terminate()
        return output.decode()


@contextmanager
def closing_terminal(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])  # noqa: S104 - they are refused
def test_other_machines_are_not_served_without_tls(reel: Reel, host: str) -> None:
    result = reel("serve", "--host", host, "--port", "0")
    assert result.code == 1
    assert "without TLS keys can be read in transit" in result.text
    assert list(reel.folder.iterdir()) == []


def test_a_response_does_not_wait_for_the_acknowledgement_of_its_first_half() -> None:
    with closing(listen(SETTINGS)) as made, closing(socket.create_connection(made.getsockname())):
        accepted, _ = made.accept()
        with closing(accepted):
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_in_use_is_reported_and_another_may_be_chosen(reel: Reel) -> None:
    with closing(listen(SETTINGS)) as taken:
        port = taken.getsockname()[1]
        result = reel("serve", "--port", port)
        assert result.code == 1
        assert f"127.0.0.1:{port} is taken by another program" in result.text
        chosen = reel("up", "--port", port)
        assert chosen.code == 1
        assert f"127.0.0.1:{port} is taken by another program" in chosen.text
        configured = reel("up", REEL_SERVE_PORT=str(port))
        assert configured.code == 1
        assert "reel is up" not in chosen.text + configured.text
        assert list(reel.folder.iterdir()) == [], "nothing was created before the port was checked"
    with closing(_at_the_usual_port()), closing(listen(Settings(), elsewhere=True)) as other:
        assert other.getsockname()[1] != Settings().serve_port


def _at_the_usual_port() -> socket.socket:
    """Occupy the default port, unless another program has it."""
    try:
        return listen(Settings())
    except InvalidRequest:
        return socket.socket()


def test_an_address_of_another_machine_is_reported(reel: Reel) -> None:
    result = reel("serve", "--host", "192.0.2.1", "--port", "0", "--insecure")
    assert result.code == 1
    assert "192.0.2.1 is not an address of this machine" in result.text


@pytest.mark.parametrize(
    "options, words",
    [
        (["--tls-cert", "none.crt", "--tls-key", "none.key"], "tls_cert: none.crt can't be read: No such file"),
        (["--tls-cert", str(CERTIFICATE), "--tls-key", "none.key"], "tls_key: none.key can't be read: No such file"),
        (["--tls-cert", "words.pem", "--tls-key", "words.pem"], "words.pem are not a certificate and its key"),
        (["--tls-cert", "words.pem"], "words.pem and the key in it are not a certificate and its key"),
        (["--tls-key", str(CERTIFICATE)], "invalid value '' for REEL_TLS_CERT"),
    ],
)
def test_an_unusable_certificate_is_reported_before_anything_is_changed(
    reel: Reel, options: list[str], words: str
) -> None:
    (reel.folder / "words.pem").write_text("not a certificate\n")
    result = reel("serve", "--port", "0", *options)
    assert result.code == 1
    assert words in result.text
    assert "hint:" in result.text
    assert [path.name for path in reel.folder.iterdir()] == ["words.pem"]


def test_a_first_key_that_can_not_be_stored_is_not_created(reel: Reel) -> None:
    result = reel("serve", "--port", "0", REEL_KEY_FILE=str(reel.folder / "none" / "admin.key"))
    assert result.code == 1
    assert "admin.key can't be written: No such file or directory" in result.text
    assert "REEL_KEY_FILE" in result.text
    assert reel("keys", "--json").json == []


def test_up_serves_and_works_and_stops_as_one_process(tmp_path: Path) -> None:
    (tmp_path / "video.py").write_text(
        "import reelstate as rs\n"
        "cut = rs.Pipeline('cut')\n"
        "@cut.stage()\n"
        "async def main(task):\n"
        "    return {'done': task.input}\n"
    )
    with running(tmp_path, "up", "--port", "0", "--app", "video:cut") as up:
        base = up.until(r"serving (http://127\.0\.0\.1:\d+)")[1]
        key = Path(up.until(r"it is in (\S+)")[1]).read_text().strip()
        with client(base, key) as admin:
            made = admin.post("/api/v1/jobs", json={"pipeline": "cut"}).json()
            asyncio.run(_wait_until_inactive(tmp_path, made["id"]))
            assert admin.get(f"/api/v1/jobs/{made['id']}").json()["status"] == "completed"
            assert admin.get("/health").json()["deployment"]["workers"]["offline"] == 0
        address = address_file(Settings(database_url=f"sqlite:///{tmp_path / 'reelstate.db'}"))
        assert address.read_text().strip() == base
        assert up.stop() == 0
    assert "reel stopped" in up.output
    assert not address.exists()


def test_https_is_served_with_a_certificate(tmp_path: Path) -> None:
    options = ("--tls-cert", str(CERTIFICATE), "--tls-key", str(CERTIFICATE), "--host", "0.0.0.0")  # noqa: S104
    with running(tmp_path, "serve", "--port", "0", *options) as server:
        port = server.until(r"serving https://0\.0\.0\.0:(\d+)")[1]
        server.until("no key exists")
        trusting = ssl.create_default_context(cafile=CERTIFICATE)
        with httpx.Client(verify=trusting, trust_env=False, timeout=60) as browser:
            named = {"sni_hostname": "media.test"}
            answer = browser.get(f"https://127.0.0.1:{port}/livez", extensions=named)
            assert (answer.status_code, answer.headers["strict-transport-security"]) == (200, "max-age=31536000")
            assert browser.get(f"https://127.0.0.1:{port}/api/v1/jobs", extensions=named).status_code == 401
    assert not list(tmp_path.glob("*.key"))


async def _wait_until_inactive(folder: Path, job_id: int) -> None:
    async with open_engine(f"sqlite:///{folder / 'reelstate.db'}") as engine:
        await engine.wait(job_id, TIMEOUT)
