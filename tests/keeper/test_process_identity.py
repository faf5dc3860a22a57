"""`is_alive` reports the death of a local process only when it is certain."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reelstate.runtime import process_identity
from reelstate.runtime.process_identity import is_alive, own_machine, own_process

pytestmark = pytest.mark.skipif(own_machine() is None, reason="there is no /proc here")

PRINT_IDENTITY = (
    "import json, reelstate.runtime.process_identity as p; print(json.dumps(p.own_process()), flush=True); input()"
)


@pytest.fixture
def local_process() -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start another process; yield it with its identity."""
    command = [sys.executable, "-c", PRINT_IDENTITY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())
        process.kill()


def test_this_process_is_alive() -> None:
    assert is_alive(own_process()) is True


def test_another_process_is_alive_until_it_ends(local_process: tuple[subprocess.Popen[str], dict[str, Any]]) -> None:
    process, identity = local_process
    assert identity["pid"] == process.pid
    assert is_alive(identity) is True
    process.kill()
    process.wait()
    assert is_alive(identity) is False


def test_a_zombie_is_dead(local_process: tuple[subprocess.Popen[str], dict[str, Any]]) -> None:
    process, identity = local_process
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{process.pid}").exists()
    assert is_alive(identity) is False


def test_a_stopped_process_is_alive(local_process: tuple[subprocess.Popen[str], dict[str, Any]]) -> None:
    process, identity = local_process
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    assert is_alive(identity) is True


def test_a_process_whose_pid_was_reused_is_dead() -> None:
    own: Any = own_process()
    assert is_alive({**own, "started": own["started"] - 1}) is False


def test_the_state_of_a_process_of_another_machine_is_unknown() -> None:
    own: Any = own_process()
    assert is_alive({**own, "machine": own["machine"] + "x", "pid": 4_000_000}) is None


def test_the_state_of_a_process_that_proc_hides_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    own: Any = own_process()
    monkeypatch.setattr(process_identity, "_state_and_start", lambda pid: None)
    assert is_alive(own) is None


@pytest.mark.parametrize("identity", [None, {}, [], "x", {"machine": 1}, {"pid": 1, "started": 1}])
def test_the_state_of_an_invalid_identity_is_unknown(identity: Any) -> None:
    assert is_alive(identity) is None


@pytest.mark.parametrize("pid", [0, -1, 10**30, "1", None])
def test_the_state_of_an_invalid_pid_is_unknown(pid: Any) -> None:
    own: Any = own_process()
    assert is_alive({**own, "pid": pid}) is None


def test_without_proc_there_is_no_identity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = own_process()
    monkeypatch.setattr(process_identity, "PROC", tmp_path)
    assert own_machine() is None
    assert own_process() is None
    assert is_alive(own) is None
