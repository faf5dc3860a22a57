"""Runs one command under limits: its own session, killed as a whole, heard while it runs, judged when it ends.

Nothing that was started here outlives the run: not when it is cancelled, not when a limit is met, and not when this
process is killed, because the kernel then ends the child with it.
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
from reelstate.media.sandbox.limits import ProcessLimits, bounds, starter
from reelstate.media.sandbox.sandbox import Sandbox, confinement, take_back, without_cpu_time

OUTPUT = 64 * 1024
"""Bytes of stderr that are kept: its end."""
TICK = 0.25
"""How often limits are looked at, and progress is told at most."""
NEARLY = 0.7
"""The kernel counts a little more CPU time against the limit than it tells afterwards."""
LAST_MOMENT = 1.0
"""How long after the end of a command its pipes are read, if something else still holds them."""
CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent", "MALLOC_ARENA_MAX": "4"}
"""The environment of a tool. Each arena of malloc would reserve 64 MiB of address space, which is limited."""

_COMPLAINT = re.compile(rb"\[(?:error|fatal|panic)\]|corrupt")

OnProgress = Callable[[Advance], Awaitable[None]]


async def run_tool(
    argv: Sequence[str],
    *,
    folder: Path,
    limits: ProcessLimits | None = None,
    on_progress: OnProgress | None = None,
    sandbox: Sandbox | None = None,
) -> Finished:
    """Run a command in a folder of its own; raises `ToolFailed`, which says why, unless it did what it was told."""
    limits, program = limits or ProcessLimits(), _program(argv[0])
    confined = await confinement(sandbox or Sandbox(), program, folder)
    memory = _kernel_kills()
    tool = Tool([*starter(bounds(limits)), *confined, str(program), *argv[1:]], folder, limits.niceness)
    stopped: ExitKind | None = None
    try:
        await tool.listen()
        stopped = await _watch(tool, Watch(limits, folder, time.monotonic()), on_progress)
    finally:
        await tool.end()
        take_back(folder)
    finished = tool.finished(argv)
    spent = limits.cpu_seconds is not None and finished.cpu_seconds >= NEARLY * limits.cpu_seconds
    short = _kernel_kills() > memory
    kind = stopped or cause(finished.exit_code, finished.output, cpu_spent=spent, kernel_short=short)
    if kind:
        raise failure(kind, finished)
    return finished


async def _watch(tool: Tool, watch: Watch, on_progress: OnProgress | None) -> ExitKind | None:
    """Until the tool ends, or has to be ended: then why."""
    told: Advance | None = None
    while True:
        ended = await tool.wait(TICK)
        if tool.advance is not told and on_progress and tool.advance:
            told = tool.advance
            await on_progress(told)
        if ended:
            return None
        if kind := watch.look(tool.advance, time.monotonic()):
            return kind


class Watch:
    """The limits that the kernel does not know of."""

    def __init__(self, limits: ProcessLimits, folder: Path, now: float) -> None:
        self._limits = limits
        self._folder = folder
        self._began = self._advanced = now
        self._place: object = None
        self._size = _size(folder) if limits.output_size is not None else 0

    def look(self, advance: Advance | None, now: float) -> ExitKind | None:
        limits = self._limits
        if advance and advance.place != self._place:
            self._place, self._advanced = advance.place, now
        if limits.timeout is not None and now > self._began + limits.timeout:
            return ExitKind.TIMEOUT
        if limits.stall is not None and now > self._advanced + limits.stall:
            return ExitKind.STALLED
        if limits.output_size is not None and _size(self._folder) > self._size + limits.output_size:
            return ExitKind.FILE_TOO_LARGE
        return None


class Tool:
    """A command that runs: what is heard of it, and its end."""

    def __init__(self, command: list[str], folder: Path, niceness: int) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._reaped = False
        self._exited: asyncio.Future[tuple[int, float]] = asyncio.get_running_loop().create_future()
        self._reader = AdvanceReader()
        self._said = bytearray()
        self._errors = ErrorCounter()
        self._ears: list[tuple[asyncio.BaseTransport, _Ear]] = []
        self._process = subprocess.Popen(  # noqa: S603 - a list, made by us
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=folder, env={**CLEAN, **ENVIRONMENT, "TMPDIR": str(folder)}, start_new_session=True,
        )  # fmt: skip
        if niceness:
            with contextlib.suppress(OSError):  # it has ended already
                os.setpriority(os.PRIO_PGRP, self._process.pid, niceness)
        threading.Thread(target=self._reap, args=[asyncio.get_running_loop()], daemon=True).start()

    @property
    def advance(self) -> Advance | None:
        return self._reader.newest

    async def listen(self) -> None:
        await self._hear(self._process.stdout, self._reader.hear)
        await self._hear(self._process.stderr, self._keep)

    async def wait(self, seconds: float) -> bool:
        """Whether it has ended and all it said is heard, after so long at most."""
        ended, _ = await asyncio.wait([self._exited], timeout=seconds)
        if ended:
            await asyncio.wait([ear.closed for _, ear in self._ears], timeout=LAST_MOMENT)
        return bool(ended)

    async def end(self) -> None:
        """Kill what still runs of it, and wait until it is gone."""
        self.kill()
        await asyncio.wait([self._exited])
        if self._ears:
            await asyncio.wait([ear.closed for _, ear in self._ears], timeout=LAST_MOMENT)
        for transport, _ in self._ears:
            transport.close()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def finished(self, argv: Sequence[str]) -> Finished:
        code, cpu_seconds = self._exited.result()
        output, counted = without_cpu_time(self._said.decode(errors="replace"))
        seconds = time.monotonic() - self._began
        return Finished(
            tuple(argv), code, seconds, mask_passwords(output), max(cpu_seconds, counted or 0.0), self._errors.count
        )

    def kill(self) -> None:
        """End it and all that it has started. Its number is not another's before it is reaped."""
        with self._lock, contextlib.suppress(ProcessLookupError, PermissionError):
            if not self._reaped:
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _hear(self, pipe: IO[bytes] | None, hear: Callable[[bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        self._ears.append(await loop.connect_read_pipe(lambda: _Ear(loop, hear), pipe))

    def _keep(self, words: bytes) -> None:
        self._errors.feed(words)
        self._said += words
        del self._said[:-OUTPUT]

    def _reap(self, loop: asyncio.AbstractEventLoop) -> None:
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self.kill()
        with self._lock:
            _, status, usage = os.wait4(self._process.pid, 0)
            self._reaped = True
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        ending = (code if code >= 0 else 128 - code, usage.ru_utime + usage.ru_stime)
        with contextlib.suppress(RuntimeError):  # the loop has ended before the tool
            loop.call_soon_threadsafe(self._exited.set_result, ending)


class ErrorCounter:
    """Counts the lines of a tool's stderr that report an error or corrupt data, however long the output is."""

    def __init__(self) -> None:
        self.count = 0
        self._rest = b""

    def feed(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:OUTPUT]
        self.count += sum(1 for line in lines if _COMPLAINT.search(line))


class _Ear(asyncio.Protocol):
    def __init__(self, loop: asyncio.AbstractEventLoop, hear: Callable[[bytes], None]) -> None:
        self.closed: asyncio.Future[None] = loop.create_future()
        self._hear = hear

    def data_received(self, data: bytes) -> None:
        self._hear(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the pipe is over, whatever ended it
        if not self.closed.done():
            self.closed.set_result(None)


def _program(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise NotFound("program", name, hint="install it, or name the one to use by its whole path")
    return Path(found).absolute()


def _kernel_kills() -> int:
    """How often the kernel of this machine has ended a process for want of memory."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _size(folder: Path) -> int:
    """Bytes of all files in a folder; some may go while they are counted."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.lstat().st_size
    return total
