"""Runs one command under limits, in its own session, reads its progress, and classifies its exit.

No process that is started here outlives the run: not if it is cancelled, not if a limit is exceeded, and not if this
process is killed, because the kernel then kills the child.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import IO

from reelstate.core.errors import NotFound
from reelstate.core.outcome import mask_passwords
from reelstate.media.ffmpeg.commands import ENVIRONMENT
from reelstate.media.ffmpeg.exit_cause import ExitKind, Finished, cause, failure
from reelstate.media.ffmpeg.progress import Advance, AdvanceReader
from reelstate.media.sandbox.limits import ProcessLimits, limits_prefix, resource_limits
from reelstate.media.sandbox.sandbox import Sandbox, restore_ownership, sandbox_prefix, split_cpu_time

MAX_OUTPUT = 64 * 1024
"""Bytes of stderr that are kept, from its end."""
POLL_INTERVAL = 0.25
"""Seconds between checks of the limits, and between progress reports."""
CPU_LIMIT_SHARE = 0.7
"""The kernel counts a little more CPU time against the limit than it reports afterwards."""
PIPE_TIMEOUT = 1.0
"""Seconds for which pipes are read after the exit of a command, if another process still holds them."""
TOOL_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/nonexistent",
    "MALLOC_ARENA_MAX": "4",
}
"""The environment of a tool. Each arena of malloc reserves 64 MiB of address space, which is limited."""

_ERROR_LINE = re.compile(rb"\[(?:error|fatal|panic)\]|corrupt")

OnProgress = Callable[[Advance], Awaitable[None]]


async def run_tool(
    argv: Sequence[str],
    *,
    folder: Path,
    limits: ProcessLimits | None = None,
    on_progress: OnProgress | None = None,
    sandbox: Sandbox | None = None,
) -> Finished:
    """Run a command in a folder; raise `ToolFailed`, with its kind, unless it succeeds."""
    limits, program = limits or ProcessLimits(), _program(argv[0])
    confined = await sandbox_prefix(sandbox or Sandbox(), program, folder)
    oom_kills = _oom_kills()
    tool = Tool([*limits_prefix(resource_limits(limits)), *confined, str(program), *argv[1:]], folder, limits.niceness)
    stopped: ExitKind | None = None
    try:
        await tool.listen()
        stopped = await _watch(tool, Watch(limits, folder, time.monotonic()), on_progress)
    finally:
        await tool.end()
        restore_ownership(folder)
    finished = tool.finished(argv)
    cpu_exceeded = limits.cpu_seconds is not None and finished.cpu_seconds >= CPU_LIMIT_SHARE * limits.cpu_seconds
    oom_killed = _oom_kills() > oom_kills
    kind = stopped or cause(finished.exit_code, finished.output, cpu_exceeded=cpu_exceeded, oom_killed=oom_killed)
    if kind:
        raise failure(kind, finished)
    return finished


async def _watch(tool: Tool, watch: Watch, on_progress: OnProgress | None) -> ExitKind | None:
    """Wait until the tool exits, or return the limit that it exceeds."""
    reported: Advance | None = None
    while True:
        ended = await tool.wait(POLL_INTERVAL)
        if tool.advance is not reported and on_progress and tool.advance:
            reported = tool.advance
            await on_progress(reported)
        if ended:
            return None
        if kind := watch.check(tool.advance, time.monotonic()):
            return kind


class Watch:
    """Checks the limits that the kernel does not enforce."""

    def __init__(self, limits: ProcessLimits, folder: Path, now: float) -> None:
        self._limits = limits
        self._folder = folder
        self._began = self._advanced = now
        self._position: object = None
        self._size = _size(folder) if limits.output_size is not None else 0

    def check(self, advance: Advance | None, now: float) -> ExitKind | None:
        """Return the limit that is exceeded, if any."""
        limits = self._limits
        if advance and advance.position != self._position:
            self._position, self._advanced = advance.position, now
        if limits.timeout is not None and now > self._began + limits.timeout:
            return ExitKind.TIMEOUT
        if limits.stall is not None and now > self._advanced + limits.stall:
            return ExitKind.STALLED
        if limits.output_size is not None and _size(self._folder) > self._size + limits.output_size:
            return ExitKind.FILE_TOO_LARGE
        return None


class Tool:
    """A running command: its progress, its output and its exit."""

    def __init__(self, command: list[str], folder: Path, niceness: int) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._reaped = False
        self._exited: asyncio.Future[tuple[int, float]] = asyncio.get_running_loop().create_future()
        self._reader = AdvanceReader()
        self._output = bytearray()
        self._errors = ErrorCounter()
        self._pipes: list[tuple[asyncio.BaseTransport, _PipeReader]] = []
        self._process = subprocess.Popen(  # noqa: S603 - a list, made by us
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=folder, env={**TOOL_ENVIRONMENT, **ENVIRONMENT, "TMPDIR": str(folder)}, start_new_session=True,
        )  # fmt: skip
        if niceness:
            with contextlib.suppress(OSError):  # it has exited already
                os.setpriority(os.PRIO_PGRP, self._process.pid, niceness)
        threading.Thread(target=self._reap, args=[asyncio.get_running_loop()], daemon=True).start()

    @property
    def advance(self) -> Advance | None:
        """The newest progress report."""
        return self._reader.newest

    async def listen(self) -> None:
        """Start to read stdout and stderr."""
        await self._read_pipe(self._process.stdout, self._reader.feed)
        await self._read_pipe(self._process.stderr, self._keep)

    async def wait(self, seconds: float) -> bool:
        """Wait up to some seconds for the exit; return whether it has exited and its output is read."""
        ended, _ = await asyncio.wait([self._exited], timeout=seconds)
        if ended:
            await asyncio.wait([reader.closed for _, reader in self._pipes], timeout=PIPE_TIMEOUT)
        return bool(ended)

    async def end(self) -> None:
        """Kill what still runs, and wait for the exit."""
        self.kill()
        await asyncio.wait([self._exited])
        if self._pipes:
            await asyncio.wait([reader.closed for _, reader in self._pipes], timeout=PIPE_TIMEOUT)
        for transport, _ in self._pipes:
            transport.close()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def finished(self, argv: Sequence[str]) -> Finished:
        """Return the record of the exited command."""
        code, cpu_seconds = self._exited.result()
        output, counted = split_cpu_time(self._output.decode(errors="replace"))
        seconds = time.monotonic() - self._began
        return Finished(
            tuple(argv), code, seconds, mask_passwords(output), max(cpu_seconds, counted or 0.0), self._errors.count
        )

    def kill(self) -> None:
        """Kill the command and all its children; its pid is not reused before it is reaped."""
        with self._lock, contextlib.suppress(ProcessLookupError, PermissionError):
            if not self._reaped:
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _read_pipe(self, pipe: IO[bytes] | None, on_data: Callable[[bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        self._pipes.append(await loop.connect_read_pipe(lambda: _PipeReader(loop, on_data), pipe))

    def _keep(self, data: bytes) -> None:
        self._errors.feed(data)
        self._output += data
        del self._output[:-MAX_OUTPUT]

    def _reap(self, loop: asyncio.AbstractEventLoop) -> None:
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self.kill()
        with self._lock:
            _, status, usage = os.wait4(self._process.pid, 0)
            self._reaped = True
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        exit_status = (code if code >= 0 else 128 - code, usage.ru_utime + usage.ru_stime)
        with contextlib.suppress(RuntimeError):  # the loop was closed before the exit
            loop.call_soon_threadsafe(self._exited.set_result, exit_status)


class ErrorCounter:
    """Counts the lines of a tool's stderr that report an error or corrupt data, however long the output is."""

    def __init__(self) -> None:
        self.count = 0
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Count the lines that are complete with these bytes."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:MAX_OUTPUT]
        self.count += sum(1 for line in lines if _ERROR_LINE.search(line))


class _PipeReader(asyncio.Protocol):
    def __init__(self, loop: asyncio.AbstractEventLoop, on_data: Callable[[bytes], None]) -> None:
        self.closed: asyncio.Future[None] = loop.create_future()
        self._on_data = on_data

    def data_received(self, data: bytes) -> None:
        self._on_data(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - closed in either case
        if not self.closed.done():
            self.closed.set_result(None)


def _program(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise NotFound("program", name, hint="install it, or name the one to use by its whole path")
    return Path(found).absolute()


def _oom_kills() -> int:
    """Return how often the kernel of this machine has killed a process because memory ran out."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _size(folder: Path) -> int:
    """Return the size of all files in a folder; some may be deleted meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.lstat().st_size
    return total
