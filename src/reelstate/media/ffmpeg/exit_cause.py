"""Classifies how a tool exited: the cause, whether another attempt may help, and the message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from reelstate.core.document import shorten
from reelstate.core.outcome import Fail, Retry, mask_passwords

MAX_MESSAGE = 400
_ADDRESS = re.compile(r"\[[^\]\[]* @ 0x[0-9a-f]+\] ?")
_LEVEL = re.compile(r"^\[(?:warning|error|fatal|panic)\] ?")
_ERROR = re.compile(r"\[(?:error|fatal|panic)\]")


class ExitKind(StrEnum):
    """Why a tool failed. Only a bad input is final: after the others, another attempt may succeed."""

    BAD_INPUT = "bad_input"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"
    DISK_FULL = "disk_full"
    FILE_TOO_LARGE = "file_too_large"
    CPU_LIMIT = "cpu_limit"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    STALLED = "stalled"
    FAILED = "failed"


MESSAGES = {
    ExitKind.BAD_INPUT: "can't use its input",
    ExitKind.OUT_OF_MEMORY: "ran out of memory",
    ExitKind.KILLED: "was killed",
    ExitKind.DISK_FULL: "found the disk full",
    ExitKind.FILE_TOO_LARGE: "wrote more than its limit",
    ExitKind.CPU_LIMIT: "used more CPU time than its limit",
    ExitKind.CRASHED: "crashed",
    ExitKind.TIMEOUT: "took longer than its timeout",
    ExitKind.STALLED: "stopped advancing",
    ExitKind.FAILED: "failed",
}

RESOURCES = {
    ExitKind.OUT_OF_MEMORY: re.compile(
        r"Cannot allocate memory|malloc of size \d+ failed|std::bad_alloc|Out of memory|failed to map segment"
    ),
    ExitKind.DISK_FULL: re.compile(r"No space left on device|Disk quota exceeded"),
    ExitKind.FILE_TOO_LARGE: re.compile(r"File too large"),
    ExitKind.CPU_LIMIT: re.compile(r"received signal 24\b"),
    ExitKind.KILLED: re.compile(r"received signal (?:1|2|3|15)\b"),
}
"""Output of a tool that has exceeded a limit, whatever its exit code."""

PASSING = frozenset({ExitKind.OUT_OF_MEMORY, ExitKind.KILLED, ExitKind.DISK_FULL})
"""Causes that have nothing to do with the source, and may be gone at the next attempt."""

SIGNALS = {
    **dict.fromkeys((132, 134, 135, 136, 139), ExitKind.CRASHED),
    **dict.fromkeys((123, 129, 130, 131, 137, 143, 255), ExitKind.KILLED),
    152: ExitKind.CPU_LIMIT,
    153: ExitKind.FILE_TOO_LARGE,
}
"""Exit codes after a signal: 128 plus its number, or those of ffmpeg after one signal (255) or many (123)."""

ERROR_MESSAGES = {
    ExitKind.FAILED: re.compile(
        r"Input/output error|Stale file handle|No such file or directory|Permission denied|pthread_create"
    ),
    ExitKind.BAD_INPUT: re.compile(
        r"Invalid data found when processing input|moov atom not found|not on whitelist|matches no streams"
        r"|exceeds specified max pixel count|Picture size \S+ is invalid|does not contain any stream"
        r"|[Cc]ould not find codec parameters|Error while opening decoder|EBML header parsing failed"
        r"|Decoder \(codec .*\) not found"
    ),
}
"""Output of a tool that exited by itself. Read errors come first: they make good files look damaged."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has exited."""

    argv: tuple[str, ...]
    exit_code: int
    """After a signal, 128 plus its number."""
    seconds: float
    output: str
    """The end of what it wrote to stderr, without passwords."""
    cpu_seconds: float
    errors: int = 0
    """How many lines of its whole stderr report an error or corrupt data."""

    @property
    def program(self) -> str:
        """The name of the program."""
        return Path(self.argv[0]).name


class ToolFailed(Retry):
    """A tool failed; raised by a handler, the task is retried."""

    def __init__(self, kind: ExitKind, finished: Finished) -> None:
        super().__init__(describe(kind, finished))
        self.kind = kind
        self.finished = finished


class BadInput(ToolFailed, Fail):
    """A tool can't use its input; raised by a handler, the task fails for good."""


def failure(kind: ExitKind, finished: Finished) -> ToolFailed:
    """Return the error of a failed command."""
    return BadInput(kind, finished) if kind is ExitKind.BAD_INPUT else ToolFailed(kind, finished)


def cause(exit_code: int, output: str, *, cpu_exceeded: bool = False, oom_killed: bool = False) -> ExitKind | None:
    """Return why a tool failed, or None: by its exit code, its output, and the kernel's accounting."""
    if exit_code == 0:
        return next(_limits_in_output(output), None)
    for kind, pattern in RESOURCES.items():
        if pattern.search(output):
            return kind
    if exit_code in SIGNALS:
        return _by_signal(SIGNALS[exit_code], cpu_exceeded=cpu_exceeded, oom_killed=oom_killed)
    return next((kind for kind, pattern in ERROR_MESSAGES.items() if pattern.search(output)), ExitKind.FAILED)


def _limits_in_output(output: str) -> Iterator[ExitKind]:
    """Yield limits that a tool exceeded though it exited with 0, as ffmpeg 5 does when the disk is full."""
    errors = [line for line in output.splitlines() if _ERROR.search(line)]
    return (kind for kind, pattern in RESOURCES.items() if any(pattern.search(line) for line in errors))


def _by_signal(kind: ExitKind, *, cpu_exceeded: bool, oom_killed: bool) -> ExitKind:
    if kind is not ExitKind.KILLED:
        return kind
    if cpu_exceeded:
        return ExitKind.CPU_LIMIT
    return ExitKind.OUT_OF_MEMORY if oom_killed else kind


def describe(kind: ExitKind, finished: Finished) -> str:
    """Return what happened, in one line."""
    code = f" with exit code {finished.exit_code}" if kind in {ExitKind.FAILED, ExitKind.CRASHED} else ""
    line = relevant_line(kind, finished.output)
    return f"{finished.program} {MESSAGES[kind]}{code} after {finished.seconds:.1f} s" + (f": {line}" if line else "")


def relevant_line(kind: ExitKind, output: str) -> str:
    """Return the most relevant line: the first that matches the kind, else the last error, else the last line."""
    lines = [line for line in output.splitlines() if line.strip()]
    pattern = RESOURCES.get(kind) or ERROR_MESSAGES.get(kind)
    matching = [line for line in lines if pattern and pattern.search(line)]
    errors = [line for line in lines if _ERROR.search(line)]
    chosen = matching[:1] or errors[-1:] or lines[-1:]
    return "".join(_plain(chosen))


def _plain(lines: list[str]) -> Iterator[str]:
    for line in lines:
        text = _LEVEL.sub("", _ADDRESS.sub("", line).strip())
        yield shorten(mask_passwords(text), MAX_MESSAGE)
