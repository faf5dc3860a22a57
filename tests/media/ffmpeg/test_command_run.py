"""A command under limits: what becomes of it, and that nothing of it is left."""

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reelstate.core.errors import NotFound, ReelstateError
from reelstate.media.ffmpeg.command_run import MAX_OUTPUT, Watch, run_tool
from reelstate.media.ffmpeg.exit_cause import BadInput, ExitKind, Finished, ToolFailed
from reelstate.media.ffmpeg.progress import Advance
from reelstate.media.sandbox import confine
from reelstate.media.sandbox import limits as limits_module
from reelstate.media.sandbox import sandbox as sandbox_module
from reelstate.media.sandbox.limits import ProcessLimits, resource_limits
from reelstate.media.sandbox.sandbox import LANDLOCK, OFF, REQUIRE, Sandbox, find_isolation
from tests.media.processes import BUILDS, Handles, encoding, names_in, running, shell

SH = Path("/bin/sh")
READING = 1 << 2
"""The one power that root keeps in the sandbox: CAP_DAC_READ_SEARCH."""
WORKS = not sandbox_module._try_bubblewrap(SH)
LANDLOCK_WORKS = not sandbox_module._try_landlock(SH)
CONFINED = pytest.param(REQUIRE, marks=pytest.mark.skipif(not WORKS, reason="bubblewrap does not work here"))
MODES = [OFF, CONFINED]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "task"
    made.mkdir()
    return made


async def failing(argv: list[str], folder: Path, limits: ProcessLimits | None = None, mode: str = OFF) -> ToolFailed:
    with pytest.raises(ToolFailed) as raised:
        await run_tool(argv, folder=folder, limits=limits, sandbox=Sandbox(mode))
    return raised.value


async def stderr_of(script: str, folder: Path, sandbox: Sandbox) -> str:
    """Run a script and return what it writes to stderr."""
    return (await run_tool(shell(script), folder=folder, sandbox=sandbox)).output


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ffmpeg", BUILDS)
async def test_a_command_runs_to_its_end_and_reports_its_progress(ffmpeg: str, mode: str, folder: Path) -> None:
    seen: list[Advance] = []

    async def see(advance: Advance) -> None:
        seen.append(advance)

    argv = encoding(ffmpeg, folder / "out.mp4")
    finished = await run_tool(argv, folder=folder, on_progress=see, sandbox=Sandbox(mode))
    assert (finished.argv, finished.exit_code, finished.output) == (tuple(argv), 0, "")
    assert finished.seconds > 0
    assert 0.01 < finished.cpu_seconds < 60
    assert (seen[-1].frame, seen[-1].ended) == (50, True)
    assert (folder / "out.mp4").stat().st_size > 1000


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ffmpeg", BUILDS)
async def test_a_file_that_is_no_video_is_a_bad_input(ffmpeg: str, mode: str, folder: Path) -> None:
    (folder / "in.mp4").write_text("hello")
    command = [ffmpeg, "-nostdin", "-loglevel", "level+warning", "-i", str(folder / "in.mp4"), str(folder / "out.mp4")]
    failed = await failing(command, folder, mode=mode)
    assert isinstance(failed, BadInput)
    assert (failed.kind, failed.finished.exit_code > 0) == (ExitKind.BAD_INPUT, True)
    assert "Invalid data found when processing input" in failed.finished.output


LIMITED = {
    "file size": (ProcessLimits(file_size=20_000), {ExitKind.FILE_TOO_LARGE}),
    "output": (ProcessLimits(output_size=20_000), {ExitKind.FILE_TOO_LARGE}),
    "time": (ProcessLimits(timeout=0.4), {ExitKind.TIMEOUT}),
    "cpu": (ProcessLimits(cpu_seconds=1), {ExitKind.CPU_LIMIT}),
    "memory": (ProcessLimits(memory=300_000_000), {ExitKind.OUT_OF_MEMORY, ExitKind.FAILED}),
}
"""Without enough memory, the encoder of one build can't be opened and prints no reason."""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ffmpeg", BUILDS)
@pytest.mark.parametrize("limit", LIMITED)
async def test_a_limit_ends_a_command(ffmpeg: str, limit: str, mode: str, folder: Path) -> None:
    limits, kinds = LIMITED[limit]
    argv = encoding(ffmpeg, folder / "out.mp4", size="1920x1080", seconds=600)
    failed = await failing(argv, folder, limits, mode)
    assert failed.kind in kinds, failed.finished


async def test_memory_is_what_the_kernel_refuses(folder: Path) -> None:
    script = "import sys; bytearray(2**29); sys.exit(3)"
    python = [sys.executable, "-I", "-S", "-c", script]
    assert (await failing(python, folder, ProcessLimits(memory=2**31))).finished.exit_code == 3
    assert "MemoryError" in (await failing(python, folder, ProcessLimits(memory=2**29))).finished.output


async def test_a_command_that_does_not_advance_is_ended(folder: Path) -> None:
    script = "echo frame=1; echo progress=continue; exec sleep 3600"
    failed = await failing(shell(script), folder, ProcessLimits(stall=0.5))
    assert failed.kind is ExitKind.STALLED
    assert 0.5 < failed.finished.seconds < 3600


def test_a_stall_is_counted_from_the_last_new_frame(tmp_path: Path) -> None:
    watch = Watch(ProcessLimits(stall=10, timeout=None), tmp_path, 0.0)
    assert watch.check(None, 9.0) is None
    assert watch.check(Advance(frame=1), 10.0) is None
    assert watch.check(Advance(frame=1, speed=2.0), 20.0) is None
    assert watch.check(Advance(frame=1, total_size=5), 20.0) is None
    assert watch.check(Advance(frame=1, total_size=5), 30.1) is ExitKind.STALLED


async def test_a_command_ends_by_a_signal_as_in_a_shell(folder: Path) -> None:
    for number, kind in ((signal.SIGSEGV, ExitKind.CRASHED), (signal.SIGKILL, ExitKind.KILLED)):
        failed = await failing(shell(f"kill -{int(number)} $$"), folder)
        assert (failed.kind, failed.finished.exit_code) == (kind, 128 + number)


async def test_stderr_is_drained_and_its_end_is_kept_without_passwords(folder: Path) -> None:
    script = "yes https://u:hunter2@host | head -c 3000000 >&2; printf 'the\\377end' >&2"
    finished = await run_tool(shell(script), folder=folder, sandbox=Sandbox(OFF))
    assert finished.output.endswith("the\ufffdend")
    assert MAX_OUTPUT // 2 < len(finished.output) <= MAX_OUTPUT
    assert "hunter2" not in finished.output.partition("\n")[2]
    assert "https://u:***@host" in finished.output


async def test_progress_is_reported_a_few_times_a_second(folder: Path) -> None:
    seen: list[Advance] = []

    async def see(advance: Advance) -> None:
        seen.append(advance)

    script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo frame=$i; echo progress=continue; done"
    finished = await run_tool(shell(script), folder=folder, on_progress=see, sandbox=Sandbox(OFF))
    assert seen[-1].frame == 20_000
    assert len(seen) <= finished.seconds / 0.25 + 2


async def test_an_error_in_the_callback_ends_the_command(folder: Path) -> None:
    async def see(_: Advance) -> None:
        raise RuntimeError("enough")

    script = f"echo progress=continue; exec sleep 1000 # {folder}"
    with pytest.raises(RuntimeError, match="enough"):
        await run_tool(shell(script), folder=folder, on_progress=see, sandbox=Sandbox(OFF))
    assert running(str(folder)) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ffmpeg", BUILDS)
async def test_a_cancelled_command_is_gone_at_once(ffmpeg: str, mode: str, folder: Path) -> None:
    advanced = asyncio.Event()

    async def see(_: Advance) -> None:
        advanced.set()

    argv = encoding(ffmpeg, folder / "out.mp4", seconds=600, speed="-re")
    run = asyncio.create_task(run_tool(argv, folder=folder, on_progress=see, sandbox=Sandbox(mode)))
    await asyncio.wait_for(advanced.wait(), 300)
    with closing(Handles(running(str(folder)))) as handles:
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert handles.gone(300.0)
    assert running(str(folder)) == []


@pytest.mark.parametrize("mode", MODES)
async def test_what_a_command_leaves_running_ends_with_it(mode: str, folder: Path) -> None:
    script = """sh -c 'echo here > begun; sleep 1000; :' left "$1" & while ! [ -s begun ]; do :; done"""
    finished = await run_tool(shell(script, str(folder)), folder=folder, sandbox=Sandbox(mode))
    assert finished.exit_code == 0
    with closing(Handles(running(str(folder)))) as left:
        assert left.gone(1.0)


WORKER = """
import asyncio, sys
from pathlib import Path
from reelstate.media.sandbox import limits
from reelstate.media.sandbox.sandbox import Sandbox
from reelstate.media.ffmpeg.command_run import run_tool

mode, bare, folder, *argv = sys.argv[1:]
if bare == "bare":
    limits._util_linux = lambda: (None, None)

async def see(advance):
    print(advance.frame, flush=True)

asyncio.run(run_tool(argv, folder=Path(folder), on_progress=see, sandbox=Sandbox(mode)))
"""


@pytest.mark.parametrize(
    "mode, tools",
    [(OFF, "util-linux"), (OFF, "bare"), pytest.param(REQUIRE, "util-linux", marks=CONFINED.marks)],
)
def test_a_worker_that_is_killed_leaves_no_ffmpeg(mode: str, tools: str, folder: Path) -> None:
    argv = encoding(BUILDS[0], folder / "out.mp4", seconds=600, speed="-re")
    command = [sys.executable, "-c", WORKER, mode, tools, str(folder), *argv]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline(), "it has begun"
        children = [pid for pid in running(str(folder)) if pid != worker.pid]
        assert children
        with closing(Handles(children)) as handles:
            worker.send_signal(signal.SIGKILL)
            assert handles.gone(5.0)


async def test_without_util_linux_a_small_program_sets_the_limits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits_module, "_util_linux", lambda: (None, None))
    script = "ulimit -c >&2; ulimit -n >&2; ulimit -v >&2; exec head -c 5000 /dev/zero > big"
    failed = await failing(shell(script), folder, ProcessLimits(file_size=4096, open_files=99, memory=2**30))
    assert (failed.finished.exit_code, failed.finished.output.split()) == (153, ["0", "99", str(2**20)])
    assert (folder / "big").stat().st_size == 4096


async def test_limits_reach_the_command(folder: Path) -> None:
    script = "for o in c n v f; do ulimit -$o >&2; done; ulimit -St >&2; ulimit -Ht >&2; nice >&2"
    limits = ProcessLimits(file_size=51_200, open_files=99, memory=2**30, cpu_seconds=7, niceness=3)
    finished = await run_tool(shell(script), folder=folder, limits=limits, sandbox=Sandbox(OFF))
    assert finished.output.split()[:6] == ["0", "99", str(2**20), "100", "7", "12"]


def test_no_limit_is_above_that_of_this_process() -> None:
    assert resource_limits(ProcessLimits(open_files=2**62))["RLIMIT_NOFILE"][1] < 2**62
    assert "RLIMIT_CPU" not in resource_limits(ProcessLimits())


async def test_a_program_that_is_not_there_is_an_error_with_a_hint(folder: Path) -> None:
    with pytest.raises(NotFound, match="no program nothing-like-it") as raised:
        await run_tool(["nothing-like-it"], folder=folder)
    assert raised.value.hint


async def test_arguments_of_a_command_are_never_read_by_a_shell(folder: Path) -> None:
    words = ["$(touch hacked)", "; touch hacked", "a b", "-i", "--", "\n"]
    for mode in (OFF, REQUIRE) if WORKS else (OFF,):
        script = 'for word in "$@"; do printf "%s|" "$word" >&2; done'
        finished = await run_tool(shell(script, *words), folder=folder, sandbox=Sandbox(mode))
        assert finished.output == "".join(f"{word}|" for word in words)
    assert names_in(folder) == []


@pytest.mark.parametrize("mode", MODES)
async def test_the_environment_of_the_worker_is_not_that_of_the_command(
    mode: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REEL_SECRET", "hunter2")
    words = await stderr_of("env >&2", folder, Sandbox(mode))
    assert "PATH=" in words
    assert "hunter2" not in words


@pytest.mark.skipif(not WORKS, reason="bubblewrap does not work here")
async def test_the_sandbox_has_no_network_no_neighbours_and_few_files(folder: Path) -> None:
    box = Sandbox(REQUIRE)
    interfaces = (await stderr_of("cat /proc/net/dev >&2", folder, box)).splitlines()[2:]
    assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
    assert (await stderr_of("cat /etc/passwd /etc/shadow 2>/dev/null || echo none >&2", folder, box)).strip() == "none"
    assert int((await stderr_of("ls -d /proc/[0-9]* | wc -l >&2", folder, box)).strip()) < 10
    assert str(os.getpid()) not in (await stderr_of("ls /proc >&2", folder, box)).split()
    assert "wrote" not in await stderr_of("echo x > /usr/x && echo wrote >&2; exit 0", folder, box)
    assert int((await stderr_of("grep CapEff /proc/self/status >&2", folder, box)).split()[1], 16) in {0, READING}


@pytest.mark.skipif(not WORKS, reason="bubblewrap does not work here")
async def test_the_sandbox_reads_what_it_is_given_and_writes_only_its_folder(tmp_path: Path, folder: Path) -> None:
    given, secret = tmp_path / "source.mp4", tmp_path / "other.mp4"
    given.write_text("video")
    secret.write_text("secret")
    box = Sandbox(REQUIRE).reading(given)
    assert await stderr_of(f"cat {given} >&2", folder, box) == "video"
    assert "secret" not in await stderr_of(f"cat {secret} >&2; exit 0", folder, box)
    assert "wrote" not in await stderr_of(f"echo x > {given} && echo wrote >&2; exit 0", folder, box)
    mark = f"x-{uuid.uuid4().hex}"
    assert mark in (await stderr_of(f"echo made > result; echo x > /tmp/{mark}; ls /tmp >&2", folder, box)).split()
    assert (folder / "result").read_text() == "made\n"
    assert given.read_text() == "video"
    assert mark not in names_in(Path("/tmp"))  # noqa: S108 - that of the sandbox is another


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without bubblewrap."""
    monkeypatch.setattr(sandbox_module, "_bubblewrap", lambda: None)
    sandbox_module._isolation.cache_clear()
    yield
    sandbox_module._isolation.cache_clear()


@pytest.fixture
def no_sandbox(no_bubblewrap: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Landlock either."""
    monkeypatch.setattr(confine, "landlock_version", lambda: 0)


@pytest.mark.skipif(not LANDLOCK_WORKS, reason="Landlock does not work here")
async def test_without_bubblewrap_landlock_leaves_a_tool_its_files_and_nothing_else(
    tmp_path: Path, folder: Path, no_bubblewrap: None
) -> None:
    assert (await find_isolation(SH)).kind == LANDLOCK
    given, secret = tmp_path / "source.mp4", tmp_path / "other.mp4"
    given.write_text("video")
    given.chmod(0o600)
    secret.write_text("secret")
    box = Sandbox(REQUIRE).reading(given)
    assert await stderr_of(f"cat {given} >&2", folder, box) == "video"
    assert "secret" not in await stderr_of(f"cat {secret} >&2; exit 0", folder, box)
    assert "wrote" not in await stderr_of(f"echo x > {given} && echo wrote >&2; exit 0", folder, box)
    assert "wrote" not in await stderr_of("echo x > /tmp/x-outside && echo wrote >&2; exit 0", folder, box)
    assert "root" not in await stderr_of("cat /etc/passwd >&2; exit 0", folder, box)
    assert "killed" not in await stderr_of(f"kill -0 {os.getpid()} && echo killed >&2; exit 0", folder, box)
    raising = "ulimit -n 64; ulimit -n 65 2>/dev/null && echo raised >&2; exit 0"
    assert "raised" not in await stderr_of(raising, folder, box)
    status = await stderr_of("cat /proc/$$/status >&2; echo made > result", folder, box)
    found = dict(line.split(":\t", 1) for line in status.splitlines())
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")
    assert int(found["CapEff"], 16) in {0, READING}
    assert "0" not in found["Uid"].split()
    assert (folder / "result").read_text() == "made\n"
    assert {path.stat().st_uid for path in (folder, folder / "result")} == {os.geteuid()}


@pytest.mark.skipif(not LANDLOCK_WORKS, reason="Landlock does not work here")
async def test_without_bubblewrap_landlock_takes_the_network(folder: Path, no_bubblewrap: None) -> None:
    box = Sandbox(REQUIRE, needed=(Path(sys.prefix), Path(sys.base_prefix)))
    script = f"{sys.executable} -I -S -c 'import socket; socket.socket(); print(1)' >&2; exit 0"
    assert "PermissionError" in await stderr_of(script, folder, box)


async def test_without_a_sandbox_auto_warns_once_and_continues(
    folder: Path, no_sandbox: None, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        assert isinstance(await run_tool(shell("exit 0"), folder=folder), Finished)
    assert [record.getMessage() for record in caplog.records] == [
        "sandbox missing program=sh reason=bubblewrap (bwrap) is not installed; the kernel has no Landlock"
    ]


async def test_without_a_sandbox_require_refuses_with_a_hint(folder: Path, no_sandbox: None) -> None:
    with pytest.raises(ReelstateError, match="can't be run in a sandbox: bubblewrap") as raised:
        await run_tool(shell("exit 0"), folder=folder, sandbox=Sandbox(REQUIRE))
    assert "REEL_SANDBOX" in raised.value.hint


async def test_a_bubblewrap_that_may_not_create_namespaces_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bwrap"
    path.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    path.chmod(0o755)
    monkeypatch.setattr(sandbox_module, "_bubblewrap", lambda: str(path))
    assert sandbox_module._try_bubblewrap(SH) == "bwrap: No permissions to create new namespace"


@pytest.mark.parametrize("parent, printed", [(os.getpid(), "started\n"), (1, "")], ids=["alive", "gone"])
def test_a_command_whose_parent_died_before_its_start_is_not_run(
    parent: int, printed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parent may die before the kernel is asked to kill the command with it."""
    monkeypatch.setattr(os, "getpid", lambda: parent)
    prefix = limits_module.limits_prefix(resource_limits(ProcessLimits()))
    monkeypatch.undo()
    done = subprocess.run([*prefix, "/bin/echo", "started"], capture_output=True, text=True, check=False)
    assert done.stdout == printed
