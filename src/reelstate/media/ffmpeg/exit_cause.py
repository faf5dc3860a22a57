"""How a tool ended, as one of a few causes: which are worth another attempt, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from reelstate.core.document import shorten
from reelstate.core.outcome import Fail, Retry, mask_passwords

LONGEST_WORDS = 400
_ADDRESS = re.compile(r"\[[^\]\[]* @ 0x[0-9a-f]+\] ?")
_LEVEL = re.compile(r"^\[(?:warning|error|fatal|panic)\] ?")
_ERROR = re.compile(r"\[(?:error|fatal|panic)\]")


class ExitKind(StrEnum):
    """What went wrong. Only a bad input is final: the others may go well at another time or place."""

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


WORDS = {
    ExitKind.BAD_INPUT: "can't use its input",
    ExitKind.OUT_OF_MEMORY: "ran out of memory",
    ExitKind.KILLED: "was killed",
    ExitKind.DISK_FULL: "found the disk full",
    ExitKind.FILE_TOO_LARGE: "wrote more than it may",
    ExitKind.CPU_LIMIT: "used more CPU time than it may",
    ExitKind.CRASHED: "crashed",
    ExitKind.TIMEOUT: "took longer than it may",
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
"""Words of a tool that has met a limit, whatever its exit code."""

PASSING = frozenset({ExitKind.OUT_OF_MEMORY, ExitKind.KILLED, ExitKind.DISK_FULL})
"""What says nothing of the source, and may be over at the next attempt."""

SIGNALS = {
    **dict.fromkeys((132, 134, 135, 136, 139), ExitKind.CRASHED),
    **dict.fromkeys((123, 129, 130, 131, 137, 143, 255), ExitKind.KILLED),
    152: ExitKind.CPU_LIMIT,
    153: ExitKind.FILE_TOO_LARGE,
}
"""Exit codes of tools that a signal has ended: 128 and its number, or what ffmpeg makes of one (255) or many (123)."""

COMPLAINTS = {
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
"""Words of a tool that gave up by itself. Trouble in reading comes first: it makes good files look damaged."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that came to its end."""

    argv: tuple[str, ...]
    exit_code: int
    """128 and the number of the signal for one that was ended by a signal."""
    seconds: float
    output: str
    """The end of what it wrote to stderr, without passwords."""
    cpu_seconds: float
    errors: int = 0
    """How many lines of its whole stderr report an error or corrupt data."""

    @property
    def program(self) -> str:
        return Path(self.argv[0]).name


class ToolFailed(Retry):
    """A tool did not do what it was told; raised out of a handler, the task is tried again."""

    def __init__(self, kind: ExitKind, finished: Finished) -> None:
        super().__init__(told(kind, finished))
        self.kind = kind
        self.finished = finished


class BadInput(ToolFailed, Fail):
    """A tool can't use what it was given; raised out of a handler, the task has failed for good."""


def failure(kind: ExitKind, finished: Finished) -> ToolFailed:
    return BadInput(kind, finished) if kind is ExitKind.BAD_INPUT else ToolFailed(kind, finished)


def cause(exit_code: int, output: str, *, cpu_spent: bool = False, kernel_short: bool = False) -> ExitKind | None:
    """Why a tool failed, or None: told by its exit code, its words, and what the kernel knows of CPU and memory."""
    if exit_code == 0:
        return next(_said_though_well(output), None)
    for kind, words in RESOURCES.items():
        if words.search(output):
            return kind
    if exit_code in SIGNALS:
        return _by_signal(SIGNALS[exit_code], cpu_spent=cpu_spent, kernel_short=kernel_short)
    return next((kind for kind, words in COMPLAINTS.items() if words.search(output)), ExitKind.FAILED)


def _said_though_well(output: str) -> Iterator[ExitKind]:
    """Limits that were met by a tool that ends with 0, as ffmpeg 5 does when a disk is full or memory is short."""
    errors = [line for line in output.splitlines() if _ERROR.search(line)]
    return (kind for kind, words in RESOURCES.items() if any(words.search(line) for line in errors))


def _by_signal(kind: ExitKind, *, cpu_spent: bool, kernel_short: bool) -> ExitKind:
    if kind is not ExitKind.KILLED:
        return kind
    if cpu_spent:
        return ExitKind.CPU_LIMIT
    return ExitKind.OUT_OF_MEMORY if kernel_short else kind


def told(kind: ExitKind, finished: Finished) -> str:
    """What happened, in one line."""
    code = f" with exit code {finished.exit_code}" if kind in {ExitKind.FAILED, ExitKind.CRASHED} else ""
    line = telling_line(kind, finished.output)
    return f"{finished.program} {WORDS[kind]}{code} after {finished.seconds:.1f} s" + (f": {line}" if line else "")


def telling_line(kind: ExitKind, output: str) -> str:
    """The line that says most: the first that gave the kind away, else the last error, else the last line."""
    lines = [line for line in output.splitlines() if line.strip()]
    pattern = RESOURCES.get(kind) or COMPLAINTS.get(kind)
    given_away = [line for line in lines if pattern and pattern.search(line)]
    errors = [line for line in lines if _ERROR.search(line)]
    chosen = given_away[:1] or errors[-1:] or lines[-1:]
    return "".join(_plain(chosen))


def _plain(lines: list[str]) -> Iterator[str]:
    for line in lines:
        words = _LEVEL.sub("", _ADDRESS.sub("", line).strip())
        yield shorten(mask_passwords(words), LONGEST_WORDS)
